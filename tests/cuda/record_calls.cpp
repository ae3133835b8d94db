// Records calls of the kernels for CUDA: record_calls OUT [--random N] FILE... runs the cases of
// the files, and N random quantized graphs, as device programs in process, and writes each distinct
// call with its operands and the bytes that it makes. Graphs run as they are and as a compilation
// lowers them, with the variants that are chosen and with those that would cost more, each forced
// one after another. tools/gpu_check replays the calls on a GPU.
//
// A record, numbers little-endian: u32 length and the symbol; i64 units; u32 bytes and the
// parameters; u32 count and the operands, each i64 bytes (-1: absent) and the bytes; the results
// alike, each followed by as many bytes that are 255 where the call writes, else 0, and the name of
// its element type.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <string>

#include "driver/compile.h"
#include "interp/interpreter.h"
#include "kernels/qtile/qtile.h"
#include "ops/common/registration.h"
#include "program/params.h"
#include "program/run.h"
#include "program/split.h"
#include "support/file.h"
#include "tests/cuda/device_graphs.h"
#include "tests/ops/cases.h"
#include "tests/random/quantized.h"
#include "tests/random/transformers.h"
#include "tests/support/device.h"

namespace qc {
namespace {

using Bytes = std::vector<std::byte>;

class Recorder {
 public:
  explicit Recorder(const char* path) : out_(path, std::ios::binary) {}

  /// Runs a graph's programs for all devices and records their calls. An error where one gives
  /// other bits than the interpreter.
  Result<Ok> record(const Graph& graph, const std::vector<Tensor>& inputs) {
    QC_ASSIGN(RunResult answer, interpret(graph, inputs));
    expected_ = std::move(answer.outputs);
    for (const char* device : kDevices) {
      for (const bool lowered : {false, true}) {
        std::vector<KernelChoice> choices;
        QC_ASSIGN(auto program, unplanned_device_program(graph, device, lowered, &choices));
        if (!program) return error(Code::unsupported, "{} lacks a kernel", device);
        QC_TRY(run(*program, inputs));
        for (size_t other = 0;; ++other) {
          const std::vector<ForcedKernel> forced = others(choices, other);
          if (forced.empty()) break;
          QC_TRY(force(graph, device, lowered, forced, inputs));
        }
      }
    }
    return Ok{};
  }

  size_t count() const { return count_; }
  bool written() { return out_.flush().good(); }

 private:
  using At = std::function<const std::byte*(const View&)>;

  Result<Ok> run(const Program& program, const std::vector<Tensor>& inputs) {
    ProgramOptions options;
    options.observe = [this](const Step& step, const auto& at) {
      if (step.call()) call(step, at);
    };
    QC_ASSIGN(const ProgramResult got, run_program(program, inputs, options));
    for (size_t i = 0; i < expected_.size(); ++i) {
      if (!got.outputs[i].identical(expected_[i]))
        return error(Code::bug, "output {} has other bits than the interpreter's:\n{}", i,
                     str(program));
    }
    return Ok{};
  }

  /// For each layer the variant that is number `other` of those that would cost more.
  static std::vector<ForcedKernel> others(const std::vector<KernelChoice>& choices, size_t other) {
    std::vector<ForcedKernel> out;
    for (const KernelChoice& choice : choices) {
      size_t left = other;
      for (const KernelChoice::Other& one : choice.others) {
        if (!one.fits || choice.loc.names.empty() || left-- != 0) continue;
        out.push_back({choice.loc.names.front(), one.variant});
        break;
      }
    }
    return out;
  }

  /// Runs the program in which these variants are forced. A kernel of a layer may refuse what
  /// another one of it takes: then each is forced alone, and those that cannot be are left out.
  Result<Ok> force(const Graph& graph, const char* device, bool lowered,
                   std::span<const ForcedKernel> forced, const std::vector<Tensor>& inputs) {
    auto program = unplanned_device_program(graph, device, lowered, nullptr, forced);
    if (program.ok() && *program) return run(**program, inputs);
    if (!program.ok() && program.diag().code != Code::usage) return program.diag();
    for (size_t i = 0; i < forced.size() && forced.size() > 1; ++i)
      QC_TRY(force(graph, device, lowered, forced.subspan(i, 1), inputs));
    return Ok{};
  }

  /// No memory is shared before programs are planned, so operands are still what they were.
  void call(const Step& step, const At& at) {
    const Call& c = *step.call();
    const Bytes params = write_params(*c.kernel, c.params);
    std::string key =
        c.body->symbol + std::string(reinterpret_cast<const char*>(params.data()), params.size());
    for (const View& v : c.in) key += v.present() ? extent(v).str() + "," : "-,";
    if (!seen_.insert(key).second) return;
    const std::vector<Bytes> in = copies(c.in, [&](const View& v, size_t n) {
      const std::byte* from = at(v);
      return Bytes(from, from + n);
    });
    const auto made = [&](std::byte fill) {
      std::vector<Bytes> out = copies(c.out, [&](const View&, size_t n) { return Bytes(n, fill); });
      run(step, params, c.in, in, c.out, out);
      return out;
    };
    const std::vector<Bytes> zeros = made(std::byte{0}), ones = made(std::byte{255});
    write(step, params, in, zeros, ones, c.body->symbol);
    if (c.body->symbol == "qk_qtile_mma") in_other_shapes(step, params, in, zeros, ones);
  }

  void write(const Step& step, const Bytes& params, const std::vector<Bytes>& in,
             const std::vector<Bytes>& zeros, const std::vector<Bytes>& ones,
             const std::string& symbol) {
    const Call& c = *step.call();
    text(symbol);
    const int64_t units = std::holds_alternative<ParallelStep>(step.op) ? units_of(c) : -1;
    number(units);
    number(static_cast<uint32_t>(params.size()));
    bytes(params);
    number(static_cast<uint32_t>(in.size()));
    for (size_t i = 0; i < in.size(); ++i) operand(c.in[i], in[i]);
    number(static_cast<uint32_t>(zeros.size()));
    for (size_t i = 0; i < zeros.size(); ++i) {
      operand(c.out[i], zeros[i]);
      Bytes written(zeros[i].size());
      for (size_t k = 0; k < written.size(); ++k)
        written[k] = zeros[i][k] == ones[i][k] ? std::byte{255} : std::byte{0};
      bytes(written);
      text(std::string(name(c.out[i].dtype)));
    }
    ++count_;
  }

  /// The same product by tiles of every other shape that may be chosen, its weights packed for
  /// them.
  void in_other_shapes(const Step& step, const Bytes& params, const std::vector<Bytes>& in,
                       const std::vector<Bytes>& zeros, const std::vector<Bytes>& ones) {
    qk_qtile_params own;
    std::memcpy(&own, params.data(), sizeof own);
    const auto w = static_cast<size_t>(step.call()->kernel->operand("w"));
    const auto depth = static_cast<size_t>(qk_mma_depth(&own)),
               sums = static_cast<size_t>(qk_mma_outputs(&own)) * depth;
    const int32_t shapes = QK_WGMMA_FIRST + (own.ic % 16 == 0 ? QK_WGMMA_SHAPES : 0);
    for (int32_t shape = own.lines ? QK_MMA_LINES : 0; shape < shapes; ++shape) {
      if (shape == own.shape || shape == QK_MMA_SHAPES) continue;
      qk_qtile_params other = own;
      other.shape = shape;
      const auto other_depth = static_cast<size_t>(qk_mma_depth(&other)),
                 other_sums = static_cast<size_t>(qk_mma_outputs(&other)) * other_depth;
      Bytes packed(other_sums + 4 * static_cast<size_t>(own.oc));
      for (int32_t n = 0; n < own.oc; ++n) {
        const auto row_in = [&](int32_t of) {
          return static_cast<size_t>(qk_mma_row_of(qk_mma_shape_of(of), n));
        };
        std::memcpy(packed.data() + row_in(shape) * other_depth,
                    in[w].data() + row_in(own.shape) * depth, std::min(depth, other_depth));
      }
      std::memcpy(packed.data() + other_sums, in[w].data() + sums, 4 * static_cast<size_t>(own.oc));
      Bytes changed(params.size());
      std::memcpy(changed.data(), &other, sizeof other);
      std::vector<Bytes> operands = in;
      operands[w] = std::move(packed);
      write(step, changed, operands, zeros, ones,
            shape < QK_WGMMA_FIRST ? "qk_qtile_mma" : "qk_qtile_wgmma");
    }
  }

  template <class Make>
  static std::vector<Bytes> copies(const std::vector<View>& views, const Make& make) {
    std::vector<Bytes> out;
    for (const View& v : views) {
      const size_t n = v.present() ? static_cast<size_t>(extent(v).value()) : 0;
      out.push_back(n > 0 ? make(v, n) : Bytes());
    }
    return out;
  }

  static void run(const Step& step, const Bytes& params, const std::vector<View>& in_views,
                  const std::vector<Bytes>& in, const std::vector<View>& out_views,
                  std::vector<Bytes>& out) {
    static std::byte nothing[64];
    const Body& body = *step.call()->body;
    std::vector<const void*> from;
    std::vector<void*> to;
    for (size_t i = 0; i < in.size(); ++i)
      from.push_back(!in_views[i].present() ? nullptr : in[i].empty() ? nothing : in[i].data());
    for (size_t i = 0; i < out.size(); ++i)
      to.push_back(!out_views[i].present() ? nullptr : out[i].empty() ? nothing : out[i].data());
    if (!std::holds_alternative<ParallelStep>(step.op) || !body.subrange) {
      body.run(params.data(), from.data(), to.data());
      return;
    }
    for (int32_t unit = 0; unit < units_of(*step.call()); ++unit) {
      Bytes own = params;
      std::vector<const void*> own_from = from;
      std::vector<void*> own_to = to;
      int32_t units[4] = {unit, unit + 1, 0, 0};
      body.subrange(own.data(), own_from.data(), own_to.data(), units);
      body.run(own.data(), own_from.data(), own_to.data());
    }
  }

  template <class T>
  void number(T value) {
    out_.write(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void bytes(const Bytes& b) {
    out_.write(reinterpret_cast<const char*>(b.data()), static_cast<std::streamsize>(b.size()));
  }
  void text(const std::string& s) {
    number(static_cast<uint32_t>(s.size()));
    out_ << s;
  }
  void operand(const View& view, const Bytes& b) {
    number(view.present() ? static_cast<int64_t>(b.size()) : int64_t{-1});
    bytes(b);
  }

  std::ofstream out_;
  std::vector<Tensor> expected_;
  std::set<std::string> seen_;
  size_t count_ = 0;
};

Result<Ok> record_cases(Recorder& recorder, const char* path) {
  QC_ASSIGN(const std::string text, read_text(path));
  QC_ASSIGN(const auto cases, testing::read_cases(text, path));
  if (cases.empty()) return error(Code::usage, "{} has no cases", path);
  for (const testing::Case& c : cases) {
    if (c.failure || !c.error_code.empty()) continue;
    QC_TRY(recorder.record(*c.graph, c.inputs));
  }
  return Ok{};
}

Result<Ok> record_random(Recorder& recorder, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const auto seed = static_cast<uint64_t>(900000 + i);
    const auto graph = i % 3 == 2 ? random_transformer(seed) : random_quantized_graph(seed, 12);
    const std::vector<Tensor> inputs = random_tensors(*graph, seed);
    Options options;
    options.target = "cuda";
    QC_TRY(make_contract(*graph, options));
    QC_TRY(recorder.record(*graph, inputs));
  }
  return Ok{};
}

/// Layers for the bodies that are written for GPUs.
Result<Ok> record_device_graphs(Recorder& recorder) {
  return for_each_device_graph(
      [&](const Graph& graph) { return recorder.record(graph, random_tensors(graph, 1)); });
}

}  // namespace
}  // namespace qc

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: record_calls OUT [--random N] FILE...\n"), 2;
  qc::register_all_ops();
  qc::Recorder recorder(argv[1]);
  if (const auto done = qc::record_device_graphs(recorder); !done.ok())
    return std::fprintf(stderr, "%s\n", qc::render(done.diag()).c_str()), 1;
  for (int i = 2; i < argc; ++i) {
    const bool random = std::strcmp(argv[i], "--random") == 0 && i + 1 < argc;
    const auto done = random ? qc::record_random(recorder, std::atoll(argv[++i]))
                             : qc::record_cases(recorder, argv[i]);
    if (done.ok()) continue;
    std::fprintf(stderr, "%s: %s\n", argv[i], qc::render(done.diag()).c_str());
    return 1;
  }
  if (!recorder.written()) return std::fprintf(stderr, "%s cannot be written\n", argv[1]), 1;
  std::printf("%zu calls\n", recorder.count());
  return 0;
}
