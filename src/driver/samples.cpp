#include "driver/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "driver/compile.h"
#include "interp/interpreter.h"

namespace qc {

Result<Samples> Samples::open(const Graph& graph, std::vector<ArraySet> sets, const Bindings& sizes,
                              bool refuse_nan) {
  Samples out;
  out.refuse_nan_ = refuse_nan;
  out.file_ = graph.file;
  for (ArraySet& set : sets) QC_TRY(out.add(graph, std::move(set), sizes));
  std::set<std::string> seen;  // a warning of several sets is kept once
  std::erase_if(out.warnings_, [&](const std::string& w) { return !seen.insert(w).second; });
  QC_ASSIGN(out.first_, out.read());
  return out;
}

Result<Ok> Samples::add(const Graph& graph, ArraySet arrays, const Bindings& sizes) {
  std::vector<std::string> names;
  for (const ArrayStream& a : arrays) names.push_back(a.name());
  QC_ASSIGN(const std::vector<size_t> at, match_inputs(graph, names));
  if (at.empty()) {
    return error(Code::input, Loc{graph.file, {}, {}}, "a model without inputs has no samples");
  }
  Set set;
  std::vector<Source>& sources = sources_.emplace_back();
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
    if (widens(t.dtype(), input->dtype())) warnings_.push_back(cast_note(*input, t.dtype()));
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
    if (i > 0 && count != set.count) {
      return error(Code::input, loc, "samples for {} runs, '{}' has {}", count,
                   graph.inputs()[0]->name(), set.count);
    }
    set.count = count;
    set.shapes.push_back(shape);
    sources.push_back({std::move(t), input->dtype(), std::move(shape)});
  }
  count_ += set.count;
  sets_.push_back(std::move(set));
  return Ok{};
}

Samples Samples::of(std::vector<Tensor> inputs) {
  Samples out;
  Set& set = out.sets_.emplace_back();
  for (const Tensor& t : inputs) set.shapes.push_back(t.shape());
  out.first_ = std::move(inputs);
  out.count_ = set.count = 1;
  return out;
}

Result<Ok> Samples::check(const Source& source, const Tensor& sample) {
  const float* x = sample.data<float>();
  for (int64_t i = 0; i < sample.size(); ++i) {
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
  if (set_read_ == sets_[set_].count) {
    ++set_;
    set_read_ = 0;
  }
  std::vector<Tensor> out;
  for (Source& s : sources_[set_]) {
    QC_ASSIGN(const Tensor sample, s.all.next(s.shape));
    out.push_back(adapted(sample, s.dtype));
    if (refuse_nan_ && s.dtype == DType::f32) QC_TRY(check(s, out.back()));
  }
  ++read_;
  ++set_read_;
  return out;
}

Result<std::vector<Tensor>> Samples::next() {
  QC_CHECK(taken_ < count_, "no samples are left");
  if (taken_++ == 0) return first_;
  return read();
}

Result<std::vector<Bindings>> sizes_of(const Graph& graph, const Samples& samples) {
  std::vector<Bindings> out;
  for (const Samples::Set& set : samples.sets()) {
    QC_ASSIGN(Bindings sizes, bindings_for(graph, set.shapes));
    out.push_back(std::move(sizes));
  }
  return out;
}

Result<Ok> add_dims_of(const Graph& graph, const Samples& samples, quantc::Options& options) {
  QC_ASSIGN(const std::vector<Bindings> sets, sizes_of(graph, samples));
  std::map<std::string, std::pair<int64_t, int64_t>> seen;
  for (const Bindings& sizes : sets) {
    for (const auto& [symbol, size] : sizes) {
      QC_TRY(check_range(graph, symbol, size, options));
      auto [it, fresh] = seen.emplace(symbol, std::pair{size, size});
      it->second = {std::min(it->second.first, size), std::max(it->second.second, size)};
    }
  }
  for (const auto& [symbol, sizes] : seen) {
    if (options.ranges.count(symbol)) continue;
    if (sizes.first == sizes.second) {
      options.dims.emplace(symbol, sizes.first);
    } else {
      quantc::SizeRange& range = options.ranges[symbol];
      range.min = sizes.first;
      range.max = sizes.second;
    }
  }
  return Ok{};
}

}  // namespace qc
