#include "driver/bench.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/cli.h"
#include "cli/terminal.h"
#include "driver/choices.h"
#include "driver/peer.h"
#include "support/suggest.h"

namespace qc::cli {
namespace {

struct BenchFlags : CompileFlags {
  std::string model, against, cflags;
  InputFlags input;
  BenchOptions bench;
  bool as_json = false;
};

Result<int> run_bench(BenchFlags& flags) {
  QC_ASSIGN(Options options, flags.resolve());
  QC_TRY(check(options));
  for (const std::string& peer : CLI::detail::split(flags.against, ',')) {
    const auto& known = peer_names();
    if (peer.empty()) continue;
    if (std::find(known.begin(), known.end(), peer) == known.end()) {
      return error(Code::usage, "--against: there is no '{}': use one of {}{}", peer,
                   fmt::join(known, ", "), did_you_mean(peer, known));
    }
    flags.bench.against.push_back(peer);
  }
  for (const std::string& flag : CLI::detail::split(flags.cflags, ' ')) {
    if (!flag.empty()) flags.bench.build.flags.push_back(flag);
  }
  if (flags.input.files.empty() && flags.input.data.empty() && flags.input.seed < 0)
    flags.input.seed = 1;
  QC_ASSIGN(auto graph, load(flags.model, options));
  QC_ASSIGN(Samples samples, flags.input.open(*graph, options));
  QC_TRY(add_dims_of(*graph, samples.first(), options));
  Progress progress("measuring " + flags.model);
  PassContext context;
  QC_TRY(contract(*graph, options, context));
  QC_TRY(flags.input.renew(*graph, samples));
  flags.bench.ready = stop_watching_time;
  QC_ASSIGN(const Bench found, bench(*graph, options, flags.model, samples.first(), flags.bench));
  fmt::print(
      "{}", flags.as_json ? json(found, flags.model) : str(found, terminal_width(), is_terminal()));
  return 0;
}

}  // namespace

void add_bench(CLI::App& app, Session& session) {
  auto flags = std::make_shared<BenchFlags>();
  CLI::App* command =
      app.add_subcommand("bench", "build the generated code and measure it, beside others");
  add_model(*command, flags->model);
  flags->input.add(*command);
  add_value(*command, "--against", flags->against, "PEER,...",
            "who runs the model too, in turns, on one thread: " +
                fmt::format("{}", fmt::join(peer_names(), ", ")));
  command->add_flag("--trust-model", flags->bench.trust_model,
                    "let torch load a .pt2 file, which runs code that the file may hold");
  command->add_flag("--per-layer", flags->bench.per_layer,
                    "which variant computes each layer, and how long it takes");
  command->add_flag("--json", flags->as_json, "as JSON (docs/schema/bench.json)");
  add_value(*command, "--seconds", flags->bench.seconds, "X",
            "how long each is measured (default 1)");
  add_value(*command, "--rounds", flags->bench.rounds, "N", "measure so many runs of each instead");
  command->add_flag("--host", flags->bench.build.host,
                    "build CUDA targets without CUDA: their threads run here, one after another");
  add_value(*command, "--cc", flags->bench.build.compiler, "PROGRAM",
            "C compiler (default $CC, else cc)");
  add_value(*command, "--cflags", flags->cflags, "FLAGS",
            "flags for it (default -O2, for portable code with -march=native)");
  flags->add_target(
      *command, fmt::format("what to build for and run: {}", fmt::join(choices("target"), ", ")));
  flags->add_code(*command);
  flags->add_dims(*command);
  flags->add_quantization(*command);
  command->footer(
      "Examples:\n  quantc bench model.onnx --rules rules.toml --against onnxruntime\n"
      "  quantc bench model.pt2 --against torch --trust-model --per-layer\n"
      "  quantc bench model.onnx --rules rules.toml --target cuda:sm_90 --json");
  command->callback([flags, &session] { session.action = [flags] { return run_bench(*flags); }; });
}

}  // namespace qc::cli
