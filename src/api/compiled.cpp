#include "quantc/compiled.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <optional>

#include "api/state.h"
#include "driver/build.h"
#include "driver/index_checks.h"
#include "driver/tool.h"
#include "interp/interpreter.h"
#include "support/file.h"
#include "support/interrupt.h"

namespace quantc {
namespace {

using qc::Result;

/// Bytes at an alignment that every generated model asks for.
class Block {
 public:
  explicit Block(int64_t bytes) : memory_(static_cast<size_t>(bytes) + kAlign) {
    const auto address = reinterpret_cast<uintptr_t>(memory_.data());
    data_ = reinterpret_cast<std::byte*>((address + kAlign - 1) & ~uintptr_t{kAlign - 1});
  }
  Block(Block&&) noexcept = default;  // the bytes stay where they are
  Block& operator=(Block&&) noexcept = default;
  std::byte* data() { return data_; }

 private:
  static constexpr size_t kAlign = 64;
  std::vector<std::byte> memory_;
  std::byte* data_;
};

}  // namespace

struct CompiledModel::State {
  Report report;
  std::string folder;
  std::shared_ptr<const qc::Graph> graph;  // for the types of inputs and outputs
  std::vector<std::string> symbols;        // whose sizes a run is given, in order
  std::vector<qc::IndexCheck> checks;      // of inputs
  std::shared_ptr<qc::Library> library;
  int (*invoke)(const qc::NativeArgs*) = nullptr;
  void (*reset)(void*) = nullptr;
  const char* (*bad_index)(const void*, int64_t*) = nullptr;  // of models that check indices
  std::shared_ptr<Block> weights;      // of models that read them from a file
  std::unique_ptr<Block> state_block;  // state
  std::optional<int> thread_count;     // of models compiled with threads
  std::unique_ptr<qc::Threads> threads;
  std::mutex running;  // held by runs of models that have state or threads
  std::mutex mutex;
  std::vector<std::unique_ptr<Block>> arenas;  // that no run uses

  /// What no two models share.
  void make_own() {
    if (report.state_bytes > 0) state_block = std::make_unique<Block>(report.state_bytes);
    if (thread_count) threads = std::make_unique<qc::Threads>(*thread_count);
  }

  /// A call that is ready to be made any number of times.
  struct Call {
    std::vector<qc::Tensor> inputs;
    ArrayViews outputs;
    std::vector<const void*> in;
    std::vector<void*> out;
    std::vector<int64_t> dims;
  };

  /// The generated code trusts its caller: an array of another size would be read past its end.
  Result<qc::Ok> check(size_t i, const qc::Tensor& given, const qc::Bindings& sizes) const {
    const qc::Value& input = *graph->inputs()[i];
    qc::Dims wanted;
    for (const qc::Dim& d : input.shape()) wanted.push_back(d.substitute(sizes));
    if (given.dtype() == input.dtype() && qc::to_dims(given.shape()) == wanted) return qc::Ok{};
    return qc::error(qc::Code::input, "input '{}' is {}, got {}{}", input.name(),
                     qc::str(input.type()), qc::name(given.dtype()),
                     qc::str(qc::to_dims(given.shape())));
  }

  Result<Call> prepare(const ArrayViews& views, const Allocate& allocate) const {
    Call call;
    QC_ASSIGN(call.inputs, inputs_of(*graph, views));
    QC_ASSIGN(const qc::Bindings sizes, qc::bindings_for(*graph, call.inputs));
    for (const std::string& symbol : symbols) call.dims.push_back(sizes.at(symbol));
    for (size_t i = 0; i < call.inputs.size(); ++i) QC_TRY(check(i, call.inputs[i], sizes));
    QC_TRY(qc::check_indices(checks, *graph, call.inputs, sizes));
    for (qc::Tensor& t : call.inputs) {
      const size_t align = qc::bytes(t.dtype());
      if (reinterpret_cast<uintptr_t>(t.bytes().data()) % align != 0) t.mutable_bytes();
      call.in.push_back(t.bytes().data());
    }
    for (const qc::Output& o : graph->outputs()) {
      const qc::Type& type = o.value->type();
      std::vector<int64_t> shape;
      for (const qc::Dim& d : type.shape) shape.push_back(d.substitute(sizes).value());
      size_t bytes = qc::bytes(type.dtype);
      for (const int64_t size : shape) bytes *= static_cast<size_t>(size);
      void* const data = allocate(bytes);
      if (!data && bytes > 0)
        return qc::error(qc::Code::limit, "not enough memory for the results");
      call.outputs.emplace_back(o.name, std::string(qc::name(type.dtype)), std::move(shape), data,
                                bytes);
      call.out.push_back(data);
    }
    return call;
  }

  std::unique_ptr<Block> take_arena() {
    const std::lock_guard lock(mutex);
    if (arenas.empty()) return std::make_unique<Block>(report.arena_bytes);
    std::unique_ptr<Block> out = std::move(arenas.back());
    arenas.pop_back();
    return out;
  }
  void give_back(std::unique_ptr<Block> arena) {
    const std::lock_guard lock(mutex);
    arenas.push_back(std::move(arena));
  }

  /// Calls `f` as often as it wants to be, with what the generated code needs at hand.
  template <class F>
  Result<qc::Ok> with_arguments(Call& call, F&& f) {
    std::unique_lock<std::mutex> lock(running, std::defer_lock);
    if (state_block || threads) lock.lock();
    std::unique_ptr<Block> arena = take_arena();
    const qc::NativeArgs args{call.in.data(),
                              call.out.data(),
                              arena->data(),
                              state_block ? state_block->data() : nullptr,
                              weights ? weights->data() : nullptr,
                              call.dims.data(),
                              threads ? qc::native_parallel_for : nullptr,
                              threads.get()};
    const int code = f(args);
    int64_t index = 0;
    const char* const layer = code == 8 && bad_index ? bad_index(arena->data(), &index) : nullptr;
    give_back(std::move(arena));
    if (code == 0) return qc::Ok{};
    if (layer) return qc::error(qc::Code::input, "'{}': {}: it is {}", report.name, layer, index);
    return qc::error(code == 3 ? qc::Code::dim : qc::Code::unsupported,
                     "the compiled model '{}' returned {}: {}", report.name, code,
                     code == 3   ? "a size that it does not take"
                     : code == 4 ? "this processor lacks instructions it was compiled for"
                                 : "see its header");
  }
};

CompiledModel::CompiledModel(std::unique_ptr<State> state) : state_(std::move(state)) {}
CompiledModel::CompiledModel(CompiledModel&&) noexcept = default;
CompiledModel& CompiledModel::operator=(CompiledModel&&) noexcept = default;
CompiledModel::~CompiledModel() = default;

const Report& CompiledModel::report() const { return state_->report; }
const std::string& CompiledModel::folder() const { return state_->folder; }
std::vector<Port> CompiledModel::inputs() const { return input_ports(*state_->graph); }
std::vector<Port> CompiledModel::outputs() const { return output_ports(*state_->graph); }

Expected<ArrayViews> CompiledModel::run(const ArrayViews& inputs, const Allocate& allocate) const {
  return converted(qc::within(nullptr, [&]() -> Result<ArrayViews> {
    QC_ASSIGN(State::Call call, state_->prepare(inputs, allocate));
    QC_TRY(state_->with_arguments(call, [&](const auto& args) { return state_->invoke(&args); }));
    return std::move(call.outputs);
  }));
}

Expected<std::vector<Array>> CompiledModel::run(const ArrayViews& inputs) const {
  return owned([&](const Allocate& allocate) { return run(inputs, allocate); });
}

Expected<Timing> CompiledModel::benchmark(const ArrayViews& inputs, int64_t runs) const {
  return converted(qc::within(nullptr, [&]() -> Result<Timing> {
    using Clock = std::chrono::steady_clock;
    std::vector<std::vector<std::byte>> memory;
    QC_ASSIGN(State::Call call, state_->prepare(inputs, [&](size_t bytes) -> void* {
      return memory.emplace_back(bytes).data();
    }));
    std::vector<double> seconds;
    QC_TRY(state_->with_arguments(call, [&](const auto& args) {
      double total = 0;
      const int first = state_->invoke(&args);  // caches fill
      if (first != 0) return first;
      constexpr int64_t kMost = 1'000'000;
      for (int64_t i = 0; runs > 0 ? i < runs : i == 0 || (total < 1 && i < kMost); ++i) {
        qc::end_if_interrupted();
        const auto begin = Clock::now();
        const int code = state_->invoke(&args);
        seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
        if (code != 0) return code;
        total += seconds.back();
      }
      return 0;
    }));
    std::sort(seconds.begin(), seconds.end());
    const auto count = static_cast<double>(seconds.size());
    return Timing{static_cast<int64_t>(seconds.size()), seconds.front(),
                  seconds[seconds.size() / 2],
                  std::accumulate(seconds.begin(), seconds.end(), 0.0) / count};
  }));
}

void CompiledModel::reset() const {
  if (!state_->state_block) return;
  const std::lock_guard lock(state_->running);
  std::memset(state_->state_block->data(), 0, static_cast<size_t>(state_->report.state_bytes));
  if (state_->reset) state_->reset(state_->state_block->data());
}

CompiledModel CompiledModel::copy() const {
  auto out = std::make_unique<State>();
  out->report = state_->report;
  out->folder = state_->folder;
  out->graph = state_->graph;
  out->symbols = state_->symbols;
  out->library = state_->library;
  out->invoke = state_->invoke;
  out->reset = state_->reset;
  out->weights = state_->weights;
  out->thread_count = state_->thread_count;
  out->make_own();
  if (state_->state_block) {
    const std::lock_guard lock(state_->running);
    std::memcpy(out->state_block->data(), state_->state_block->data(),
                static_cast<size_t>(state_->report.state_bytes));
  }
  return CompiledModel(std::move(out));
}

Expected<CompiledModel> Model::build(const std::string& folder, const BuildOptions& how) const {
  auto report = compile(folder);
  if (!report) return report.diagnostic();
  auto out = std::make_unique<CompiledModel::State>();
  out->report = *report;
  out->folder = folder;
  auto built = state_->alone([&]() -> Result<qc::Ok> {
    QC_ASSIGN(const auto contract, state_->program_cache.contract());
    QC_ASSIGN(auto graph, qc::copy(*contract->graph));
    out->checks = qc::index_checks(*graph);
    out->graph = std::move(graph);
    for (const auto& [symbol, range] : state_->options.ranges) out->symbols.push_back(symbol);
    const std::string& name = out->report.name;
    if (!std::filesystem::exists(std::filesystem::path(folder) / (name + ".c"))) {
      return qc::error(qc::Code::unsupported,
                       "code for target {} is not built and run by quantc: compile writes it",
                       qc::implied(state_->options).target);
    }
    const std::string library = "lib" + name + ".so";
    // Of what was in the folder before nothing counts: no other makefile, rule or object.
    std::vector<std::string> command = {"make", "-s", "-r", "-B", "-f", "Makefile", library};
    if (!how.compiler.empty()) command.push_back("CC=" + how.compiler);
    if (!how.flags.empty()) command.push_back("CFLAGS=" + how.flags);
    QC_TRY(qc::run_tool({command, qc::kCompilerLimits, folder}));
    QC_ASSIGN(out->library, qc::Library::open(folder + "/" + library));
    out->invoke = reinterpret_cast<int (*)(const qc::NativeArgs*)>(
        out->library->symbol(name + "_invoke_args"));
    out->reset = reinterpret_cast<void (*)(void*)>(out->library->symbol(name + "_reset"));
    out->bad_index = reinterpret_cast<const char* (*)(const void*, int64_t*)>(
        out->library->symbol(name + "_bad_index"));
    if (!out->invoke) return qc::error(qc::Code::bug, "the library has no model '{}'", name);
    if (state_->options.weights == "file") {
      QC_ASSIGN(const std::string bytes, qc::read_text(folder + "/" + name + "_weights.bin"));
      out->weights = std::make_shared<Block>(static_cast<int64_t>(bytes.size()));
      std::memcpy(out->weights->data(), bytes.data(), bytes.size());
    }
    if (state_->options.threads) out->thread_count = how.threads;
    return qc::Ok{};
  });
  if (!built) return built.diagnostic();
  out->make_own();
  CompiledModel model(std::move(out));
  model.reset();
  return model;
}

}  // namespace quantc
