#include "driver/samples.h"

#include "driver/arrays.h"

namespace qc {

Result<Samples> Samples::split(const Graph& graph, const std::vector<NamedArray>& arrays) {
  Samples out;
  QC_ASSIGN(const std::vector<Tensor> tensors, match_inputs(graph, arrays));
  if (tensors.empty()) {
    return error(Code::input, Loc{graph.file, {}, {}}, "a model without inputs has no samples");
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    const Value* input = graph.inputs()[i];
    const Loc loc{graph.file, {input->name()}, "input"};
    if (t.dtype() != input->dtype()) {
      return error(Code::input, loc, "samples are {}, the input is {}", name(t.dtype()),
                   name(input->dtype()));
    }
    if (t.rank() == 0 || (t.rank() != input->rank() && t.rank() != input->rank() + 1)) {
      return error(Code::input, loc, "samples of rank {} for {}", t.rank(), str(input->type()));
    }
    std::vector<int64_t> shape = t.shape();
    int64_t batch = 1;
    if (t.rank() > input->rank()) {
      shape.erase(shape.begin());
    } else {
      const Dim& size = input->shape()[0];
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
    out.sources_.push_back({t, std::move(shape)});
  }
  return out;
}

std::vector<Tensor> Samples::at(int64_t i) const {
  std::vector<Tensor> out;
  for (const Source& s : sources_) {
    const size_t bytes = s.all.bytes().size() / static_cast<size_t>(count_);
    out.push_back(Tensor::borrow(s.all.dtype(), s.shape,
                                 s.all.bytes().subspan(bytes * static_cast<size_t>(i), bytes),
                                 std::make_shared<Tensor>(s.all)));
  }
  return out;
}

}  // namespace qc
