#include "driver/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <numeric>
#include <thread>

#include "driver/in_process.h"
#include "interp/interpreter.h"
#include "ir/capability.h"
#include "passes/quantized_ops.h"
#include "quant/normalised.h"
#include "quant/scores.h"
#include "support/budget.h"

namespace qc {

void ChannelMeans::see(const Tensor& t) {
  const Ints& shape = t.shape();
  int64_t inner = 1;
  for (size_t i = static_cast<size_t>(axis) + 1; i < shape.size(); ++i) inner *= shape[i];
  const int64_t channels = shape[static_cast<size_t>(axis)];
  sums.resize(static_cast<size_t>(channels));
  counts.resize(static_cast<size_t>(channels));
  const float* x = t.data<float>();
  for (int64_t i = 0; i < t.size(); ++i) {
    if (Observer::is_mark(x[i])) continue;
    const auto channel = static_cast<size_t>(i / inner % channels);
    sums[channel] += static_cast<double>(x[i]);
    ++counts[channel];
  }
}

void ChannelMeans::merge(const ChannelMeans& other) {
  sums.resize(std::max(sums.size(), other.sums.size()));
  counts.resize(sums.size());
  for (size_t i = 0; i < other.sums.size(); ++i) {
    sums[i] += other.sums[i];
    counts[i] += other.counts[i];
  }
}

namespace {

// Statistics are taken in as many parts everywhere, each fed in order, so that sums of means are
// the same on every machine.
constexpr int64_t kParts = 4;

/// Whether the samples have the types of the inputs.
Result<Ok> check_shapes(const Graph& graph, const Samples& samples) {
  QC_ASSIGN(const std::vector<Bindings> sizes, sizes_of(graph, samples));
  for (size_t s = 0; s < sizes.size(); ++s) {
    for (size_t k = 0; k < graph.inputs().size(); ++k) {
      const Value* v = graph.inputs()[k];
      Dims wanted = v->shape();
      for (Dim& d : wanted) d = d.substitute(sizes[s]);
      const Dims got = to_dims(samples.sets()[s].shapes[k]);
      if (got == wanted) continue;
      return error(Code::input, Loc{graph.file, {v->name()}, "input"}, "samples of shape {} for {}",
                   str(got), str(v->type()));
    }
  }
  return Ok{};
}

Result<std::vector<Tensor>> initial_states(const Graph& graph) {
  std::vector<Tensor> out;
  for (const State& s : graph.states()) {
    QC_ASSIGN(Tensor t, graph.pool().get(s.initial));
    out.push_back(std::move(t));
  }
  return out;
}

}  // namespace

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

Watched::Watched(const Graph& graph, bool histogram, double levels,
                 const std::set<ChannelAxis>& means)
    : levels_(levels) {
  auto watch = [&](const Value* v) {
    if (v->dtype() == DType::f32 && origin(v) == v) observers_.emplace(v, Observer(histogram));
  };
  for (const Value* v : graph.inputs()) watch(v);
  for (const State& s : graph.states()) watch(s.in);
  for (Node* n = graph.first(); n; n = n->next()) {
    for (size_t i = 0; i < n->output_count(); ++i) watch(n->output(i));
    const auto* scores = capability<ReadsNearGreatest>(n);
    const std::optional<int64_t> axis = scores ? scores->row_axis() : std::nullopt;
    if (axis && !n->input(0)->is_constant()) rows_[n->input(0)].axis = *axis;
  }
  for (const auto& [value, axis] : means) means_[value].emplace_back().axis = axis;
  find_normalised(graph);
}

void Watched::find_normalised(const Graph& graph) {
  auto watch = [&](const Value* v, int64_t width) {
    if (v && !v->is_constant() && v->dtype() == DType::f32) peaks_[v].width = width;
  };
  for (Node* n = graph.last(); n; n = n->prev()) {
    if (const auto* norm = capability<NormalisesRows>(n); norm && norm->normalised_axis()) {
      int64_t width = 1;
      const Dims& shape = n->input(0)->shape();
      for (auto i = static_cast<size_t>(*norm->normalised_axis()); i < shape.size(); ++i) {
        width = shape[i].is_static() ? width * shape[i].value() : 0;  // 0: rows have no one length
      }
      if (width > 0) watch(n->input(0), width);
    }
    const auto* sum = capability<MaySum>(n);
    if (!(sum && sum->is_sum()) && !runs_on_codes(*n)) continue;
    const auto read = n->output_count() > 0 ? peaks_.find(n->output()) : peaks_.end();
    if (read == peaks_.end()) continue;
    const int64_t width = read->second.width;
    for (const Value* v : n->inputs()) {
      if (v && !v->shape().empty() && v->shape().back() == Dim(width)) watch(v, width);
    }
  }
}

void Watched::Peaks::see(const Tensor& tensor) {
  const float* x = tensor.data<float>();
  for (int64_t row = 0; width > 0 && row < tensor.size() / width; ++row, x += width) {
    float peak = 0;
    for (int64_t k = 0; k < width; ++k) peak = std::max(peak, std::abs(x[k]));
    if (!(peak > 0) || !std::isfinite(peak)) continue;
    least = std::min(least, peak);
    most = std::max(most, peak);
  }
}

/// What is added to even rows counts by the size of these: uneven is only what its readers see so.
void Watched::find_uneven(const Graph& graph) {
  for (Node* n = graph.last(); n; n = n->prev()) {
    const bool norm = capability<NormalisesRows>(n) != nullptr;
    if (!norm && (n->output_count() == 0 || !uneven(n->output()))) continue;
    for (const Value* v : n->inputs()) {
      const auto it = peaks_.find(v);
      if (it != peaks_.end() && it->second.most > 4 * it->second.least) uneven_.insert(v);
    }
  }
}

const ChannelMeans* Watched::means(const Value* value, int64_t axis) const {
  const auto it = means_.find(value);
  if (it == means_.end()) return nullptr;
  for (const ChannelMeans& m : it->second) {
    if (m.axis == axis && !m.sums.empty()) return &m;
  }
  return nullptr;
}

bool Watched::wanted(const Value* value) const {
  return observers_.count(value) > 0 || means_.count(value) > 0 || rows_.count(value) > 0 ||
         peaks_.count(value) > 0;
}

void Watched::see(const Value* value, const Tensor& tensor) {
  if (!wanted(value)) return;
  const auto rows = rows_.find(value);
  std::vector<float> raised_rows;
  std::span<const float> elements{tensor.data<float>(), static_cast<size_t>(tensor.size())};
  if (rows != rows_.end()) {
    raised_rows = raised(tensor, rows->second.axis);
    rows->second.seen.see(raised_rows);
    // Where a softmax alone reads the value, all that was said of rows holds for it.
    if (value->has_one_use()) elements = raised_rows;
  }
  if (auto it = observers_.find(value); it != observers_.end()) it->second.see(elements);
  if (auto it = means_.find(value); it != means_.end()) {
    for (ChannelMeans& means : it->second) means.see(tensor);
  }
  if (auto it = peaks_.find(value); it != peaks_.end()) it->second.see(tensor);
}

void Watched::merge(const Watched& other) {
  for (auto& [value, observer] : observers_) observer.merge(other.observers_.at(value));
  for (auto& [value, rows] : rows_) rows.seen.merge(other.rows_.at(value).seen);
  for (auto& [value, means] : means_) {
    const std::vector<ChannelMeans>& seen = other.means_.at(value);
    for (size_t i = 0; i < means.size(); ++i) means[i].merge(seen[i]);
  }
  for (auto& [value, peaks] : peaks_) {
    const Peaks& seen = other.peaks_.at(value);
    peaks.least = std::min(peaks.least, seen.least);
    peaks.most = std::max(peaks.most, seen.most);
  }
}

std::vector<float> Watched::raised(const Tensor& tensor, int64_t axis) const {
  // The greatest score of a row that is masked as a whole is below this.
  constexpr float kMasked = -5000.0f;
  const Ints& shape = tensor.shape();
  const int64_t n = shape[static_cast<size_t>(axis)];
  int64_t inner = 1;
  for (size_t i = static_cast<size_t>(axis) + 1; i < shape.size(); ++i) inner *= shape[i];
  // All masked scores of a row together weigh less than half a step of a probability.
  const float depth = static_cast<float>(std::log(static_cast<double>(n) * levels_ * 4));
  const float* x = tensor.data<float>();
  std::vector<float> out;
  out.reserve(static_cast<size_t>(tensor.size()));
  for (int64_t row = 0; n > 0 && row < tensor.size() / n; ++row) {
    const float* first = x + row / inner * n * inner + row % inner;
    float most = -std::numeric_limits<float>::infinity();
    for (int64_t k = 0; k < n; ++k) most = std::max(most, first[k * inner]);
    if (!(most > kMasked) || !std::isfinite(most)) continue;
    for (int64_t k = 0; k < n; ++k) {
      const float v = first[k * inner];
      out.push_back(v < most - depth ? most - depth : v);
    }
  }
  return out;
}

double Watched::greatest(const Value* value) const {
  if (const auto it = constants_.find(value); it != constants_.end()) return it->second;
  const auto it = observers_.find(origin(value));
  return it == observers_.end() ? kInf : it->second.extremes().hi;
}

std::optional<double> Watched::floor(const Value* value) const {
  const auto it = floors_.find(value);
  if (it == floors_.end() || it->second.open || !it->second.found) return std::nullopt;
  return it->second.at;
}

std::optional<double> Watched::operand_floor(Node& node, size_t i) const {
  const Value* x = node.input(i);
  const auto rows = rows_.find(x);
  if (rows != rows_.end() && i == 0 && capability<ReadsNearGreatest>(&node)) {
    if (rows->second.seen.empty()) return std::nullopt;
    return rows->second.seen.extremes().lo;
  }
  const std::optional<double> below =
      node.output_count() == 1 ? floor(node.output()) : std::nullopt;
  if (!below || node.output()->dtype() != DType::f32) return std::nullopt;
  if (runs_on_codes(node)) return below;
  const auto* sum = capability<MaySum>(&node);
  if (!sum || !sum->is_sum() || i > 1) return std::nullopt;
  const double other = greatest(node.input(1 - i));
  return std::isfinite(other) ? std::optional<double>(*below - other) : std::nullopt;
}

void Watched::find_floors(const Graph& graph) {
  for (const Output& o : graph.outputs()) floors_[o.value].open = true;
  for (const State& s : graph.states()) floors_[s.out].open = true;
  for (Node* n = graph.last(); n; n = n->prev()) {
    for (size_t i = 0; i < n->input_count(); ++i) {
      if (!n->input(i) || n->input(i)->dtype() != DType::f32) continue;
      const std::optional<double> at = operand_floor(*n, i);
      Floor& f = floors_[n->input(i)];
      if (!at) {
        f.open = true;
        continue;
      }
      f.at = f.found ? std::min(f.at, *at) : *at;
      f.found = true;
    }
  }
}

Result<Ok> Watched::run(const Graph& graph, const Options& options, Samples& samples,
                        const CalibrateOptions& calibration) {
  for (Node* n = graph.first(); n; n = n->next()) {
    const auto* sum = capability<MaySum>(n);
    for (size_t i = 0; sum && sum->is_sum() && i < n->input_count(); ++i) {
      const Value* v = n->input(i);
      if (!v->is_constant() || v->dtype() != DType::f32 || constants_.count(v)) continue;
      QC_ASSIGN(const Tensor t, graph.pool().get(v->constant()));
      Observer all(false);
      all.see({t.data<float>(), static_cast<size_t>(t.size())});
      constants_[v] = all.extremes().hi;
    }
  }
  if (calibration.reference) {
    QC_TRY(run_interpreted(graph, samples, calibration));
  } else {
    QC_TRY(run_compiled(graph, options, samples, calibration));
  }
  find_floors(graph);
  find_uneven(graph);
  return Ok{};
}

Result<Ok> Watched::run_interpreted(const Graph& graph, Samples& samples,
                                    const CalibrateOptions& calibration) {
  std::vector<Watched> parts(kParts, *this);
  Watched* part = nullptr;
  RunOptions run;
  run.observe = [&](const Value& v, const Tensor& t) { part->see(&v, t); };
  QC_ASSIGN(run.states, initial_states(graph));
  for (int64_t i = 0; i < samples.count(); ++i) {
    QC_ASSIGN(const std::vector<Tensor> inputs, samples.next());
    part = &parts[static_cast<size_t>(i % kParts)];
    for (size_t k = 0; k < inputs.size(); ++k) part->see(graph.inputs()[k], inputs[k]);
    for (size_t k = 0; k < run.states.size(); ++k) part->see(graph.states()[k].in, run.states[k]);
    QC_ASSIGN(RunResult result, for_sample([&] { return interpret(graph, inputs, run); }));
    run.states = std::move(result.states);
    if (calibration.progress) calibration.progress(i + 1, samples.count());
  }
  for (const Watched& p : parts) merge(p);
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
  // It runs here, whatever code is generated for.
  Options here = options;
  here.target = "portable";
  QC_ASSIGN(const InProcess model, InProcess::create(*tapped, without_buckets(here), 0));
  QC_TRY(check_shapes(graph, samples));
  std::vector<Watched> parts(kParts, *this);
  std::vector<int64_t> expected(kParts);  // the run whose statistics a part takes next
  std::iota(expected.begin(), expected.end(), 0);
  std::mutex mutex;
  std::condition_variable changed;
  Result<Ok> outcome = Ok{};
  std::exception_ptr thrown;  // by a thread, for the caller
  const auto ended = [&] { return thrown || !outcome.ok(); };
  int64_t taken = 0, done = 0;
  ProgramOptions run;  // changes only where there is state, which one thread runs through
  QC_ASSIGN(run.states, initial_states(graph));
  auto work = [&] {
    std::unique_lock lock(mutex);
    while (taken < samples.count() && !ended()) {
      const int64_t i = taken++;
      const Result<std::vector<Tensor>> inputs = samples.next();
      if (!inputs.ok()) outcome = inputs.diag();
      if (ended()) break;
      lock.unlock();
      Result<ProgramResult> result = model.run_with_states(*inputs, run);
      lock.lock();
      const size_t part = static_cast<size_t>(i % kParts);
      changed.wait(lock, [&] { return expected[part] == i || ended(); });
      if (!result.ok()) outcome = result.diag();
      if (ended()) break;
      lock.unlock();
      Watched& mine = parts[part];
      for (size_t k = 0; k < inputs->size(); ++k) mine.see(graph.inputs()[k], (*inputs)[k]);
      for (size_t k = 0; k < run.states.size(); ++k) mine.see(graph.states()[k].in, run.states[k]);
      for (size_t k = 0; k < taps.size(); ++k) mine.see(taps[k], result->outputs[own + k]);
      if (!run.states.empty()) run.states = std::move(result->states);
      lock.lock();
      expected[part] = i + kParts;
      changed.notify_all();
      if (calibration.progress) calibration.progress(++done, samples.count());
    }
    changed.notify_all();
  };
  // The parts are for all threads there are; a system that gives none has this one.
  Budget* budget = Budget::current();
  auto counted = [&] {
    try {
      const Budget::Scope scope(budget);
      work();
      return;
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!thrown) thrown = std::current_exception();
    }
    changed.notify_all();
  };
  std::vector<std::thread> threads;
  const unsigned cores =
      run.states.empty() ? std::max(std::thread::hardware_concurrency(), 1u) : 1u;
  try {
    for (unsigned t = 1; t < std::min<unsigned>(kParts, cores); ++t) threads.emplace_back(counted);
  } catch (const std::exception&) {
    // Neither thread nor memory for one: fewer take longer and give the same numbers.
  }
  counted();
  for (std::thread& t : threads) t.join();
  if (thrown) std::rethrow_exception(thrown);
  QC_TRY(outcome);
  for (const Watched& part : parts) merge(part);
  return Ok{};
}

}  // namespace qc
