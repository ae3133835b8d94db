#include "driver/validate.h"

#include <fmt/format.h>

#include "cli/cli.h"
#include "driver/arrays.h"
#include "interp/interpreter.h"

namespace qc::cli {

void add_validate(CLI::App& app, Session& session) {
  struct Flags : CompileFlags {
    std::string model;
    InputFlags input;
    std::vector<std::string> expected;
    ValidateOptions validation;
    double atol = -1;
    std::string cflags;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command =
      app.add_subcommand("validate", "compare interpreter, generated code and expected outputs");
  command->add_option("MODEL", flags->model, "an .onnx or .pt2 file")->required();
  flags->input.add(*command);
  command->add_option("-e,--expected", flags->expected,
                      "arrays by output name or as out_0, out_1, ...");
  command->add_option(
      "--atol", flags->atol,
      "allowed difference from the expected outputs (default: 1e-4 of their largest magnitude)");
  command->add_option("--rtol", flags->validation.rtol,
                      "allowed relative difference, added to --atol");
  command->add_option("--target", flags->validation.targets,
                      "targets to build and run (default: native)");
  command->add_option("--cc", flags->validation.build.compiler,
                      "C compiler (default: $CC, else cc)");
  command->add_option("--cflags", flags->cflags,
                      "flags for it (default: -O2, for portable code with -march=native)");
  command->add_flag("--per-layer", flags->validation.per_layer,
                    "show the first layer where generated code and interpreter part");
  flags->add(*command, "-O", &Options::level, "optimisation level 0 to 2");
  flags->add(*command, "--specialise", &Options::specialise, "kernels for speed or size");
  flags->add(*command, "--weights", &Options::weights, "how weights are stored: literal or incbin");
  flags->add(*command, "--threads", &Options::threads,
             "split large steps, and run generated code with several threads");
  flags->add(*command, "--disable-pass", &Options::disabled_passes,
             "leave out a pass after the contract graph");
  flags->add_dims(*command);
  flags->add_quantization(*command);
  command->footer(
      "Examples:\n  quantc validate model.onnx -i io.npz -e io.npz\n"
      "  quantc validate model.pt2 --random 7 --per-layer --cc clang");
  command->callback([flags, &session] {
    session.action = [flags]() -> Result<int> {
      QC_ASSIGN(Options options, flags->resolve());
      for (const std::string& target : flags->validation.targets) {
        Options one = options;
        one.target = target;
        QC_TRY(check(one));
      }
      QC_ASSIGN(auto graph, load(flags->model, options));
      QC_ASSIGN(std::vector<Tensor> inputs, flags->input.read(*graph));
      std::optional<std::vector<Tensor>> expected;
      if (!flags->expected.empty()) {
        QC_ASSIGN(auto arrays, read_arrays(flags->expected));
        QC_ASSIGN(expected, match_outputs(*graph, arrays));
      }
      QC_TRY(add_dims_of(*graph, inputs, options));
      ValidateOptions validation = flags->validation;
      if (flags->atol >= 0) validation.atol = flags->atol;
      if (!flags->cflags.empty()) {
        validation.build.flags.clear();
        for (size_t at = 0; at < flags->cflags.size();) {
          size_t end = flags->cflags.find(' ', at);
          if (end == std::string::npos) end = flags->cflags.size();
          if (end > at) validation.build.flags.push_back(flags->cflags.substr(at, end - at));
          at = end + 1;
        }
      }
      Progress progress("validating " + flags->model);
      PassContext context;
      QC_TRY(contract(*graph, options, context));
      QC_ASSIGN(Validation result,
                validate(*graph, options, inputs, expected ? &*expected : nullptr, validation));
      fmt::print("{}", str(result));
      if (!result.ok) {
        return error(Code::mismatch, Loc{flags->model, {}, {}},
                     "results differ by more than allowed; see the table");
      }
      return 0;
    };
  });
}

}  // namespace qc::cli
