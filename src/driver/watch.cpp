#include "driver/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <system_error>
#include <thread>

#include "interp/interpreter.h"
#include "passes/form_quantized.h"
#include "program/run.h"
#include "support/budget.h"

namespace qc {

void ChannelMeans::see(const Tensor& t) {
  const Ints& shape = t.shape();
  int64_t inner = 1;
  for (size_t i = static_cast<size_t>(axis) + 1; i < shape.size(); ++i) inner *= shape[i];
  const int64_t channels = shape[static_cast<size_t>(axis)];
  sums.resize(static_cast<size_t>(channels));
  const float* x = t.data<float>();
  for (int64_t i = 0; i < t.size(); ++i) {
    sums[static_cast<size_t>(i / inner % channels)] += static_cast<double>(x[i]);
  }
  if (channels > 0) count += t.size() / channels;
}

void ChannelMeans::merge(const ChannelMeans& other) {
  sums.resize(std::max(sums.size(), other.sums.size()));
  for (size_t i = 0; i < other.sums.size(); ++i) sums[i] += other.sums[i];
  count += other.count;
}

const Value* Watched::origin(const Value* value) {
  while (value->def() && runs_on_codes(*value->def())) {
    const Value* only = nullptr;
    int floats = 0;
    for (const Value* v : value->def()->inputs()) {
      if (!v || v->dtype() != DType::f32) continue;
      only = v;
      ++floats;
    }
    if (floats != 1 || only->is_constant()) break;
    value = only;
  }
  return value;
}

Watched::Watched(const Graph& graph, bool histogram, std::map<const Value*, int64_t> means) {
  auto watch = [&](const Value* v) {
    if (v->dtype() == DType::f32 && origin(v) == v) observers_.emplace(v, Observer(histogram));
  };
  for (const Value* v : graph.inputs()) watch(v);
  for (const Node* n = graph.first(); n; n = n->next()) {
    for (size_t i = 0; i < n->output_count(); ++i) watch(n->output(i));
  }
  for (const auto& [value, axis] : means) means_[value].axis = axis;
}

const ChannelMeans* Watched::means(const Value* value) const {
  const auto it = means_.find(value);
  return it == means_.end() ? nullptr : &it->second;
}

bool Watched::wanted(const Value* value) const {
  return observers_.count(value) > 0 || means_.count(value) > 0;
}

void Watched::see(const Value* value, const Tensor& tensor) {
  if (auto it = observers_.find(value); it != observers_.end()) {
    it->second.see({tensor.data<float>(), static_cast<size_t>(tensor.size())});
  }
  if (auto it = means_.find(value); it != means_.end()) it->second.see(tensor);
}

void Watched::merge(const Watched& other) {
  for (auto& [value, observer] : observers_) observer.merge(other.observers_.at(value));
  for (auto& [value, means] : means_) means.merge(other.means_.at(value));
}

Result<Ok> Watched::run(const Graph& graph, const Options& options, Samples& samples,
                        const CalibrateOptions& calibration) {
  if (!calibration.reference) return run_compiled(graph, options, samples, calibration);
  RunOptions run;
  run.observe = [this](const Value& v, const Tensor& t) { see(&v, t); };
  for (int64_t i = 0; i < samples.count(); ++i) {
    QC_ASSIGN(const std::vector<Tensor> inputs, samples.next());
    for (size_t k = 0; k < inputs.size(); ++k) see(graph.inputs()[k], inputs[k]);
    QC_TRY(interpret(graph, inputs, run));
    if (calibration.progress) calibration.progress(i + 1, samples.count());
  }
  return Ok{};
}

Result<Ok> Watched::run_compiled(const Graph& graph, const Options& options, Samples& samples,
                                 const CalibrateOptions& calibration) {
  QC_ASSIGN(auto tapped, copy(graph));
  const size_t own = tapped->outputs().size();
  std::vector<const Value*> taps;
  const Node* twin = tapped->first();
  for (const Node* n = graph.first(); n; n = n->next(), twin = twin->next()) {
    for (size_t i = 0; i < n->output_count(); ++i) {
      if (!wanted(n->output(i))) continue;
      tapped->add_output(fmt::format("tap{}", taps.size()), twin->output(i));
      taps.push_back(n->output(i));
    }
  }
  QC_ASSIGN(const Program program, make_program(*tapped, options));
  QC_ASSIGN(const ProgramRunner runner, ProgramRunner::create(program, true));
  const std::vector<Tensor>& first = samples.first();
  for (size_t k = 0; k < first.size(); ++k) {
    const Value* v = graph.inputs()[k];
    if (!(Type(first[k].dtype(), to_dims(first[k].shape())) == v->type())) {
      return error(Code::input, Loc{graph.file, {v->name()}, "input"}, "samples of shape {} for {}",
                   str(to_dims(first[k].shape())), str(v->type()));
    }
  }
  // As many parts on every machine, each fed in order, so that sums of means are the same
  // everywhere.
  constexpr int64_t kParts = 4;
  std::vector<Watched> parts(kParts, *this);
  std::vector<int64_t> expected(kParts);  // the run whose statistics a part takes next
  std::iota(expected.begin(), expected.end(), 0);
  std::mutex mutex;
  std::condition_variable turn;
  Result<Ok> outcome = Ok{};
  int64_t taken = 0, done = 0;
  auto work = [&] {
    std::unique_lock lock(mutex);
    while (taken < samples.count() && outcome.ok()) {
      const int64_t i = taken++;
      const Result<std::vector<Tensor>> inputs = samples.next();
      if (!inputs.ok()) outcome = inputs.diag();
      if (!outcome.ok()) break;
      lock.unlock();
      const Result<ProgramResult> result = runner.run(*inputs);
      lock.lock();
      const size_t part = static_cast<size_t>(i % kParts);
      turn.wait(lock, [&] { return expected[part] == i || !outcome.ok(); });
      if (!result.ok()) outcome = result.diag();
      if (!outcome.ok()) break;
      lock.unlock();
      Watched& mine = parts[part];
      for (size_t k = 0; k < inputs->size(); ++k) mine.see(graph.inputs()[k], (*inputs)[k]);
      for (size_t k = 0; k < taps.size(); ++k) mine.see(taps[k], result->outputs[own + k]);
      lock.lock();
      expected[part] = i + kParts;
      turn.notify_all();
      if (calibration.progress) calibration.progress(++done, samples.count());
    }
    turn.notify_all();
  };
  // The parts are for all threads there are; a system that gives none has this one.
  Budget* budget = Budget::current();
  auto counted = [&] {
    const Result<Ok> done = within(budget, [&] {
      work();
      return Result<Ok>(Ok{});
    });
    if (done.ok()) return;
    const std::lock_guard lock(mutex);
    if (outcome.ok()) outcome = done.diag();
    turn.notify_all();
  };
  std::vector<std::thread> threads;
  const unsigned cores = std::max(std::thread::hardware_concurrency(), 1u);
  try {
    for (unsigned t = 1; t < std::min<unsigned>(kParts, cores); ++t) threads.emplace_back(counted);
  } catch (const std::system_error&) {
    // Fewer threads take longer and give the same numbers.
  }
  counted();
  for (std::thread& t : threads) t.join();
  QC_TRY(outcome);
  for (const Watched& part : parts) merge(part);
  return Ok{};
}

}  // namespace qc
