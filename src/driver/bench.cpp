#include "driver/bench.h"

#include <algorithm>
#include <chrono>
#include <functional>

#include "arrays/npz.h"
#include "driver/device_peak.h"
#include "driver/layers.h"
#include "driver/native.h"
#include "driver/peer.h"
#include "target/target.h"

namespace qc {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point from) {
  return std::chrono::duration<double>(Clock::now() - from).count();
}

/// Seconds of so many runs.
using Measure = std::function<Result<std::vector<double>>(int runs)>;

struct Contender {
  Runner* runner;
  Measure run;
};

/// Each one after another, a chunk of runs at a time, so that all meet the same machine.
Result<Ok> interleave_rounds(std::vector<Contender>& contenders, const BenchOptions& how) {
  constexpr double kChunk = 0.01;  // seconds
  std::vector<int> chunks;
  for (Contender& contender : contenders) {
    const Clock::time_point from = Clock::now();
    QC_TRY(contender.run(1));  // caches fill
    chunks.push_back(how.rounds > 0 ? 1
                                    : static_cast<int>(std::clamp(
                                          kChunk / std::max(since(from), 1e-9), 1.0, 1e4)));
  }
  if (how.ready) how.ready();
  double spent = 0;
  for (int round = 0;
       how.rounds > 0 ? round < how.rounds
                      : round < 3 || spent < how.seconds * static_cast<double>(contenders.size());
       ++round) {
    for (size_t i = 0; i < contenders.size(); ++i) {
      const Clock::time_point from = Clock::now();
      QC_ASSIGN(const std::vector<double> took, contenders[i].run(chunks[i]));
      spent += since(from);
      contenders[i].runner->seconds.insert(contenders[i].runner->seconds.end(), took.begin(),
                                           took.end());
    }
  }
  return Ok{};
}

/// Code of a GPU: runs with arrays of the device, each figure the mean of a few of them.
Result<Measure> own_device_code(const Graph& graph, const Options& options, const Target& target,
                                const std::vector<Tensor>& inputs, const BenchOptions& how,
                                Bench& out) {
  constexpr int kCopied = 3;
  QC_ASSIGN(const CudaModel model, CudaModel::build(graph, options, how.build.host));
  QC_ASSIGN(out.figures, model.figures(inputs));
  for (int i = 0; i < kCopied; ++i) {
    QC_ASSIGN(const NativeResult result, model.run(inputs));
    const double us = 1e6 * result.seconds;
    out.figures->copied_us = i == 0 ? us : std::min(out.figures->copied_us, us);
  }
  QC_ASSIGN(std::vector<StepTime> layers, model.layer_times(inputs));
  for (const StepTime& layer : layers) out.bytes += layer.bytes;
  if (how.per_layer) out.layers = std::move(layers);
  QC_ASSIGN(out.peak, device_peak(target, how.build.host));
  return Measure([model, inputs](int runs) -> Result<std::vector<double>> {
    std::vector<double> seconds;
    for (int i = 0; i < runs; ++i) {
      QC_ASSIGN(const CudaFigures figures, model.figures(inputs));
      seconds.push_back(1e-6 * figures.device_us);
    }
    return seconds;
  });
}

/// The build for the target as something to measure, with what is known of it alone.
Result<Measure> own_code(const Graph& graph, const Options& options,
                         const std::vector<Tensor>& inputs, const BenchOptions& how, Bench& out) {
  QC_ASSIGN(const Target target, target_of(options));
  out.target = target.name;
  if (target.language == Language::cuda) {
    return own_device_code(graph, options, target, inputs, how, out);
  }
  QC_ASSIGN(NativeModel made, NativeModel::build(graph, options, how.build));
  auto model = std::make_shared<const NativeModel>(std::move(made));
  out.peak = machine_peak();
  return Measure([model, inputs](int runs) -> Result<std::vector<double>> {
    QC_ASSIGN(NativeResult result, model->run(inputs, runs));
    return std::move(result.again);
  });
}

/// The higher rates of both: other programs may have slowed down either measurement.
void raise_to(const MachinePeak& again, MachinePeak& peak) {
  peak.int8_gmacs = std::max(peak.int8_gmacs, again.int8_gmacs);
  peak.float_gmacs = std::max(peak.float_gmacs, again.float_gmacs);
  peak.gbytes = std::max(peak.gbytes, again.gbytes);
}

/// What one run computes and moves; the times of its layers where they are wanted.
Result<Ok> count(const Graph& graph, Options options, const std::vector<Tensor>& inputs,
                 const BenchOptions& how, Bench& out) {
  constexpr double kSeconds = 0.5;
  for (const Layer& layer : layers_of(graph).all) {
    out.macs += layer.macs;
    if (layer.computes == Computes::integer) out.integer_macs += layer.macs;
  }
  if (out.figures) return Ok{};  // a GPU's kernels were measured there
  options.target = out.target;
  QC_ASSIGN(const InProcess model, InProcess::create(graph, without_buckets(options), 0));
  QC_ASSIGN(const auto program, model.program(inputs));
  for_each_step(program->steps, [&](const Step& s) {
    if (const Call* c = s.call()) out.bytes += bytes_of(*c);
  });
  if (how.per_layer) {
    QC_ASSIGN(const std::vector<StepTime> once, step_times(model, inputs, 1));
    double seconds = 0;
    for (const StepTime& step : once) seconds += step.seconds;
    const int runs = static_cast<int>(std::clamp(kSeconds / std::max(seconds, 1e-9), 1.0, 20.0));
    QC_ASSIGN(out.layers, step_times(model, inputs, how.rounds > 0 ? how.rounds : runs));
  }
  return Ok{};
}

}  // namespace

double Runner::least() const { return *std::min_element(seconds.begin(), seconds.end()); }

double Runner::median() const {
  std::vector<double> sorted = seconds;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<int64_t>(sorted.size() / 2),
                   sorted.end());
  return sorted[sorted.size() / 2];
}

std::optional<double> Bench::share(int64_t integers, int64_t floats, int64_t moved,
                                   double seconds) const {
  if (!peak || seconds <= 0 || (integers > 0 && peak->int8_gmacs == 0) ||
      (floats > 0 && peak->float_gmacs == 0)) {
    return std::nullopt;
  }
  double limit = 0;
  if (integers > 0) limit += static_cast<double>(integers) / peak->int8_gmacs;
  if (floats > 0) limit += static_cast<double>(floats) / peak->float_gmacs;
  // What moves faster than the memory does comes from caches, which are no limit here.
  const double memory = figures ? static_cast<double>(moved) / peak->gbytes : 0;
  if (memory * 1e-9 <= seconds) limit = std::max(limit, memory);
  if (limit == 0) return std::nullopt;
  return limit * 1e-9 / seconds;
}

std::optional<double> Bench::share_of_limit() const {
  return share(integer_macs, macs - integer_macs, bytes, own.least());
}

std::optional<double> Bench::share_of_limit(const StepTime& layer) const {
  return layer.on_codes ? share(layer.macs, 0, layer.bytes, layer.seconds)
                        : share(0, layer.macs, layer.bytes, layer.seconds);
}

Result<Bench> bench(const Graph& graph, const Options& options, const std::string& model,
                    const std::vector<Tensor>& inputs, const BenchOptions& how) {
  for (const std::string& name : how.against) QC_TRY(check_trust(name, model, how.trust_model));
  Bench out;
  out.own.name = out.own.what = "quantc";
  Options own = options;
  if (own.weights == "literal") own.weights = "incbin";  // large ones take a compiler long
  QC_ASSIGN(Measure measure, own_code(graph, own, inputs, how, out));
  QC_TRY(count(graph, own, inputs, how, out));
  QC_ASSIGN(const ScratchFolder folder, ScratchFolder::create());
  std::vector<NamedArray> arrays;
  for (const Tensor& t : inputs) arrays.push_back({fmt::format("in_{}", arrays.size()), t});
  const std::string file = folder.path() + "/inputs.npz";
  QC_TRY(write_npz(file, arrays));
  std::vector<std::unique_ptr<Peer>> peers;
  for (const std::string& name : how.against) {
    auto peer = Peer::start(name, model, file, out.figures ? "cuda" : "cpu", 1);
    if (peer.ok()) {
      out.peers.push_back({name, (*peer)->what(), {}});
      peers.push_back(std::move(*peer));
    } else {
      out.missing.emplace_back(name, peer.diag().text);
    }
  }
  std::vector<Contender> contenders = {{&out.own, std::move(measure)}};
  for (size_t i = 0; i < peers.size(); ++i)
    contenders.push_back({&out.peers[i], [&peer = *peers[i]](int runs) { return peer.run(runs); }});
  QC_TRY(interleave_rounds(contenders, how));
  if (!out.figures) raise_to(machine_peak(), *out.peak);
  return out;
}

}  // namespace qc
