#include "driver/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "driver/arrays.h"

namespace qc {

Result<Samples> Samples::open(const Graph& graph, std::vector<ArrayStream> arrays,
                              const Bindings& sizes, bool refuse_nan) {
  Samples out;
  out.refuse_nan_ = refuse_nan;
  out.file_ = graph.file;
  std::vector<std::string> names;
  for (const ArrayStream& a : arrays) names.push_back(a.name());
  QC_ASSIGN(const std::vector<size_t> at, match_inputs(graph, names));
  if (at.empty()) {
    return error(Code::input, Loc{graph.file, {}, {}}, "a model without inputs has no samples");
  }
  for (size_t i = 0; i < at.size(); ++i) {
    if (std::count(at.begin(), at.end(), at[i]) > 1) {
      return error(Code::input, Loc{graph.file, {}, {}}, "array '{}' would serve two inputs",
                   names[at[i]]);
    }
    ArrayStream& t = arrays[at[i]];
    const int64_t rank = static_cast<int64_t>(t.shape().size());
    const Value* input = graph.inputs()[i];
    const Loc loc{graph.file, {input->name()}, "input"};
    if (adapted(Tensor(t.dtype(), {0}), input->dtype()).dtype() != input->dtype()) {
      return error(Code::input, loc, "samples are {}, the input is {}", name(t.dtype()),
                   name(input->dtype()));
    }
    if (rank == 0 || (rank != input->rank() && rank != input->rank() + 1)) {
      return error(Code::input, loc, "samples of rank {} for {}", rank, str(input->type()));
    }
    std::vector<int64_t> shape = t.shape();
    int64_t batch = 1;
    if (rank > input->rank()) {
      shape.erase(shape.begin());
    } else {
      const Dim size = input->shape()[0].substitute(sizes);
      batch = size.is_static() ? std::max<int64_t>(size.value(), 1) : 1;
      shape[0] = batch;
    }
    if (t.shape()[0] == 0 || t.shape()[0] % batch != 0) {
      return error(Code::input, loc, "{} samples cannot be split into runs of {}", t.shape()[0],
                   batch);
    }
    const int64_t count = t.shape()[0] / batch;
    if (i > 0 && count != out.count_) {
      return error(Code::input, loc, "samples for {} runs, '{}' has {}", count,
                   graph.inputs()[0]->name(), out.count_);
    }
    out.count_ = count;
    out.sources_.push_back({std::move(t), input->dtype(), std::move(shape)});
  }
  QC_ASSIGN(out.first_, out.read());
  return out;
}

Samples Samples::of(std::vector<Tensor> inputs) {
  Samples out;
  out.first_ = std::move(inputs);
  out.count_ = 1;
  return out;
}

Result<Ok> Samples::check(const Source& source, const Tensor& piece) {
  const float* x = piece.data<float>();
  for (int64_t i = 0; i < piece.size(); ++i) {
    if (std::isfinite(x[i])) continue;
    if (std::isnan(x[i])) {
      return error(Code::input, Loc{file_, {source.all.name()}, "input"},
                   "element {} of sample {} is NaN: nothing can be learned from it", i, read_);
    }
    if (warned_.insert(source.all.name()).second) {
      warnings_.push_back(fmt::format(
          "samples of '{}' are infinite, the first in sample {}: what is infinite is no "
          "part of a range",
          source.all.name(), read_));
    }
    return Ok{};
  }
  return Ok{};
}

Result<std::vector<Tensor>> Samples::read() {
  std::vector<Tensor> out;
  for (Source& s : sources_) {
    QC_ASSIGN(const Tensor piece, s.all.next(s.shape));
    out.push_back(adapted(piece, s.dtype));
    if (refuse_nan_ && s.dtype == DType::f32) QC_TRY(check(s, out.back()));
  }
  ++read_;
  return out;
}

Result<std::vector<Tensor>> Samples::next() {
  QC_CHECK(taken_ < count_, "no samples are left");
  if (taken_++ == 0) return first_;
  return read();
}

}  // namespace qc
