#include "kernels/numerics/nms.h"

#include <algorithm>
#include <cmath>

#include "interp/eval.h"
#include "ir/relations.h"
#include "ir/row_count.h"
#include "kernels/nms/calls.h"
#include "ops/common/registration.h"
#include "ops/common/strided.h"
#include "support/budget.h"

namespace qc {

/// Non-maximum suppression of boxes [N, B, 4] (operand 0) by scores [N, C, B] (operand 1): rows of
/// batch, class and box, at most `limit` of a class, -1 after the last; and how many there are.
class Nms final : public OpNode<Nms>, public CountsRows {
 public:
  static const OpInfo kInfo;
  int64_t limit = 0;
  double overlap = 0, threshold = 0;
  bool limited = true, center = false;

  const OpInfo& info() const override { return kInfo; }
  void attrs(AttrVisitor& v) override {
    v("limit", limit);
    v("overlap", overlap, 0.0);
    v("threshold", threshold, 0.0);
    v("limited", limited, true);
    v("center", center, false);
  }
  Result<std::vector<Type>> infer() const override {
    const Type &boxes = input_type(0), &scores = input_type(1);
    if (boxes.rank() != 3 || scores.rank() != 3 || !(boxes.shape[2] == Dim(4)) ||
        differ(boxes.shape[0], scores.shape[0]) || differ(boxes.shape[1], scores.shape[2])) {
      return error(Code::shape, loc(), "boxes {} with scores {}; expected [N, B, 4] and [N, C, B]",
                   str(boxes), str(scores));
    }
    if (boxes.dtype != DType::f32 || scores.dtype != DType::f32) {
      return error(Code::type, loc(), "boxes {} with scores {}; expected f32", str(boxes),
                   str(scores));
    }
    if (limit < 0) return error(Code::attribute, loc(), "a limit of {} boxes", limit);
    if (!(overlap >= 0 && overlap <= 1)) {
      return error(Code::attribute, loc(), "an overlap of {}; expected one between 0 and 1",
                   overlap);
    }
    if (std::isnan(threshold)) return error(Code::attribute, loc(), "the score threshold is NaN");
    const Dim rows = scores.shape[0] * scores.shape[1] * min(Dim(limit), boxes.shape[1]);
    return std::vector<Type>{Type(DType::i64, {rows, Dim(3)}), Type(DType::i64, {})};
  }
  Result<Ok> eval(EvalContext& c) const override {
    const Tensor &boxes = c.in(0), &scores = c.in(1);
    const int64_t classes = scores.shape()[1];
    QC_ASSIGN(const int32_t n, param(boxes.shape()[1], loc()));
    std::vector<int32_t> order(static_cast<size_t>(n));
    int64_t* const rows = c.out(0).mutable_data<int64_t>();
    int64_t used = 0;
    for (int64_t i = 0; i < scores.shape()[0] * classes; ++i) {
      qn_nms s{};
      s.boxes = boxes.data<float>() + i / classes * n * 4;
      s.scores = scores.data<float>() + i * n;
      s.order = order.data();
      s.center = center;
      s.overlap = static_cast<float>(overlap);
      spend(Cost::work, n);
      qn_nms_start(&s, n, limited, static_cast<float>(threshold));
      while (s.left > 0 && s.selected < limit) {
        spend(Cost::work, 64 + 8 * s.selected);
        if (!qn_nms_step(&s)) continue;
        const int64_t row[] = {i / classes, i % classes, s.order[s.candidates - s.selected]};
        std::copy_n(row, 3, rows + 3 * used++);
      }
    }
    std::fill(rows + 3 * used, rows + c.out(0).size(), -1);
    c.out(1).set_int(0, used);
    return Ok{};
  }
  Result<Ok> lower(Lowering& l) const override {
    const Dims scores = l.in_dims(1);
    for (const Dims& dims : {l.in_dims(0), scores, l.out_dims()}) QC_TRY(l.param(count(dims)));
    kernel::Nms c;
    c.batches = scores[0];
    c.classes = scores[1];
    c.boxes = scores[2];
    c.limit = min(Dim(limit), scores[2]);
    c.center = center;
    c.limited = limited;
    c.overlap = static_cast<float>(overlap);
    c.threshold = static_cast<float>(threshold);
    c.corners = l.in(0);
    c.scores = l.in(1);
    c.rows = l.out(0);
    c.found = l.out(1);
    l.emit(c);
    return Ok{};
  }
};

const OpInfo Nms::kInfo = {
    .name = "nms",
    .min_inputs = 2,
    .max_inputs = 2,
    .outputs = 2,
    .summary = "keeps the boxes of best score that overlap no better one, and counts them",
};

namespace {

/// The one element of a constant operand.
Result<Tensor> one(Import& m, size_t i, std::string_view what) {
  QC_ASSIGN(Tensor t, m.constant(m.in(i), what));
  if (t.size() != 1) return m.fail(Code::shape, "{} has {} elements, expected 1", what, t.size());
  return t;
}

Result<Values> onnx_nms(Import& m) {
  int64_t limit = 0;
  double overlap = 0, threshold = 0;
  if (m.has(2)) {
    QC_ASSIGN(const Tensor t, one(m, 2, "max_output_boxes_per_class"));
    limit = std::max<int64_t>(0, t.as_int(0));
  }
  if (m.has(3)) {
    QC_ASSIGN(const Tensor t, one(m, 3, "iou_threshold"));
    overlap = t.as_double(0);
  }
  if (m.has(4)) {
    QC_ASSIGN(const Tensor t, one(m, 4, "score_threshold"));
    threshold = t.as_double(0);
  }
  QC_ASSIGN(const int64_t center, m.i("center_point_box", 0));
  if (center != 0 && center != 1) {
    return m.fail(Code::attribute, "center_point_box is {}, expected 0 or 1", center);
  }
  return m.emit_all("nms", {m.in(0), m.in(1)},
                    {{"limit", limit},
                     {"overlap", overlap},
                     {"threshold", threshold},
                     {"limited", m.has(4)},
                     {"center", center == 1}});
}

constexpr ImportRow kRows[] = {{"", "NonMaxSuppression", onnx_nms, 10}};

}  // namespace

void register_nms(Registration& r) {
  r.op<Nms>();
  r.imports(kRows);
}

}  // namespace qc
