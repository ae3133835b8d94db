#include <algorithm>

#include "ops/common/importing.h"
#include "ops/common/indexing.h"
#include "ops/rnn/rnn.h"

namespace qc {
namespace {

/// Adds the attributes of the activations. Alphas and betas are listed for those functions only
/// that take one.
Result<Ok> read_activations(const Import& m, AttrMap& attrs) {
  const Arg* arg = m.find("activations");
  if (!arg) return Ok{};
  const Strings* names = std::get_if<Strings>(arg);
  if (!names) return m.fail(Code::attribute, "activations is not a list of names");
  if (names->empty()) return Ok{};
  QC_ASSIGN(Floats alpha, m.floats("activation_alpha", {}));
  QC_ASSIGN(Floats beta, m.floats("activation_beta", {}));
  auto same = [](std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
      return std::tolower(x) == std::tolower(y);
    });
  };
  std::vector<std::string_view> found;
  Floats alphas, betas;
  size_t next_alpha = 0, next_beta = 0;
  for (const std::string& name : *names) {
    const auto all = cell_activations();
    const auto a =
        std::find_if(all.begin(), all.end(), [&](const auto& row) { return same(row.onnx, name); });
    if (a == all.end()) return m.fail(Code::unsupported, "activation '{}'", name);
    found.push_back(a->name);
    alphas.push_back(a->has_alpha && next_alpha < alpha.size() ? alpha[next_alpha++] : a->alpha);
    betas.push_back(a->has_beta && next_beta < beta.size() ? beta[next_beta++] : a->beta);
  }
  attrs["activations"] = join_activations(found);
  attrs["alphas"] = alphas;
  attrs["betas"] = betas;
  return Ok{};
}

/// The lengths as i32; null when every sequence has all steps.
Result<Value*> lengths(const Import& m, Value* given, const Dim& steps) {
  if (!given) return given;
  if (const auto known = known_ints(given)) {
    if (std::all_of(known->begin(), known->end(), [&](const Dim& d) { return d == steps; }))
      return nullptr;
  }
  return m.cast(given, DType::i32);
}

template <OpName op>
Result<Values> onnx_recurrent(Import& m) {
  const bool lstm = std::string_view(op.text) == "lstm";
  QC_ASSIGN(Value * x, operand(m, 0));
  QC_ASSIGN(Value * w, operand(m, 1));
  QC_ASSIGN(Value * r, operand(m, 2));
  if (x->rank() != 3)
    return m.fail(Code::shape, "the input has shape {}, expected 3 axes", str(x->shape()));
  QC_ASSIGN(std::string direction, m.s("direction", "forward"));
  QC_ASSIGN(double clip, m.f("clip", 0));
  QC_ASSIGN(int64_t layout, m.i("layout", 0));
  if (layout != 0 && layout != 1)
    return m.fail(Code::attribute, "layout is {}, expected 0 or 1", layout);
  AttrMap attrs{{"direction", direction}};
  if (clip > 0) attrs["clip"] = clip;
  QC_TRY(read_activations(m, attrs));
  if (std::string_view(op.text) == "gru") {
    QC_ASSIGN(bool linear, m.b("linear_before_reset", false));
    attrs["linear_before_reset"] = linear;
  }
  if (lstm) {
    QC_ASSIGN(bool coupled, m.b("input_forget", false));
    attrs["input_forget"] = coupled;
  }
  const Ints swapped{1, 0, 2};
  auto state = [&](size_t i) -> Result<Value*> {
    return m.has(i) && layout == 1 ? transposed(m, m.in(i), swapped) : Result<Value*>(m.in(i));
  };
  if (layout == 1) {
    QC_ASSIGN(x, transposed(m, x, swapped));
  }
  QC_ASSIGN(Value * lens, lengths(m, m.in(4), x->shape()[0]));
  QC_ASSIGN(Value * h0, state(5));
  Values inputs{x, w, r, m.in(3), lens, h0};
  if (lstm) {
    QC_ASSIGN(Value * c0, state(6));
    inputs.insert(inputs.end(), {c0, m.in(7)});
  }
  QC_ASSIGN(Values out, m.emit_all(op.text, std::move(inputs), attrs));
  if (layout == 1) {
    QC_ASSIGN(out[0], transposed(m, out[0], {2, 0, 1, 3}));
    for (size_t i = 1; i < out.size(); ++i) {
      QC_ASSIGN(out[i], transposed(m, out[i], swapped));
    }
  }
  return out;
}

constexpr ImportRow kOnnxRows[] = {
    {"", "RNN", onnx_recurrent<"rnn">},
    {"", "GRU", onnx_recurrent<"gru">},
    {"", "LSTM", onnx_recurrent<"lstm">},
};

}  // namespace

std::span<const ImportRow> rnn_onnx_rows() { return kOnnxRows; }

}  // namespace qc
