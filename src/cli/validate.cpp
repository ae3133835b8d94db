#include "driver/validate.h"

#include <fmt/format.h>

#include "cli/cli.h"
#include "driver/arrays.h"
#include "driver/choices.h"

namespace qc::cli {

void add_validate(CLI::App& app, Session& session) {
  struct Flags : CompileFlags {
    std::string model;
    InputFlags input;
    std::vector<std::string> expected;
    ValidateOptions validation;
    double atol = -1, rtol = -1, min_sqnr = 0, min_top1 = 0;
    bool as_json = false;
    std::string cflags;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command =
      app.add_subcommand("validate", "compare interpreter, generated code and expected outputs");
  add_model(*command, flags->model);
  flags->input.add(*command);
  add_value(
      *command, "-e,--expected", flags->expected, "FILE",
      "arrays by output name or as out_0, out_1, ...; for --data those of all samples (default: "
      "with --rules, what the model answers in float)");
  add_value(*command, "--atol", flags->atol, "X",
            "allowed difference from the expected outputs (default: 1e-4 of their largest "
            "magnitude)");
  add_value(*command, "--rtol", flags->rtol, "X",
            "allowed relative difference, added to --atol (default 0)");
  auto* min_sqnr = add_value(*command, "--min-sqnr", flags->min_sqnr, "DB",
                             "least signal-to-noise ratio, instead of the differences above");
  auto* min_top1 = add_value(*command, "--min-top1", flags->min_top1, "PERCENT",
                             "least share of samples whose largest output is the expected one");
  command->add_flag("--json", flags->as_json, "as JSON (docs/schema/validate.json)");
  add_value(*command, "--target", flags->validation.targets, "TARGET",
            fmt::format("what to build for and run: {} (default native)",
                        fmt::join(choices("target"), ", ")));
  add_value(*command, "--cc", flags->validation.build.compiler, "PROGRAM",
            "C compiler (default $CC, else cc)");
  add_value(*command, "--cflags", flags->cflags, "FLAGS",
            "flags for it (default -O2, for portable code with -march=native)");
  command->add_flag("--per-layer", flags->validation.per_layer,
                    "show the first layer where generated code and interpreter part");
  flags->add(*command, "-O", &Options::level, "level", "optimisation level");
  flags->add(*command, "--specialise", &Options::specialise, "specialise",
             "kernels for speed or size");
  flags->add(*command, "--weights", &Options::weights, "weights", "how weights are stored");
  flags->add(*command, "--threads", &Options::threads, "",
             "split large steps, and run generated code with several threads");
  flags->add(*command, "--disable-pass", &Options::disabled_passes, "PASS",
             "leave out a pass after the contract graph");
  flags->add_dims(*command);
  flags->add_quantization(*command);
  command->footer(
      "Examples:\n  quantc validate model.onnx -i io.npz -e io.npz\n"
      "  quantc validate model.onnx --rules rules.toml --data samples.npz --min-sqnr 25\n"
      "  quantc validate model.pt2 --random 7 --per-layer --cc clang");
  command->callback([flags, min_sqnr, min_top1, &session] {
    if (min_sqnr->count() > 0) flags->validation.min_sqnr = flags->min_sqnr;
    if (min_top1->count() > 0) flags->validation.min_top1 = flags->min_top1;
    session.action = [flags]() -> Result<int> {
      QC_ASSIGN(Options options, flags->resolve());
      for (const std::string& target : flags->validation.targets) {
        Options one = options;
        one.target = target;
        QC_TRY(check(one));
      }
      QC_ASSIGN(auto graph, load(flags->model, options));
      QC_ASSIGN(Samples samples, flags->input.open(*graph, options));
      std::optional<std::vector<Tensor>> expected;
      if (!flags->expected.empty()) {
        QC_ASSIGN(auto arrays, read_arrays(flags->expected, Role::outputs));
        QC_ASSIGN(expected, match_outputs(*graph, arrays));
      }
      QC_TRY(add_dims_of(*graph, samples.first(), options));
      ValidateOptions validation = flags->validation;
      if (flags->atol >= 0) validation.atol = flags->atol;
      if (flags->rtol >= 0) validation.rtol = flags->rtol;
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
      References references{expected ? &*expected : nullptr, nullptr};
      std::unique_ptr<Graph> floats;
      // The float model does not read codes.
      if (!expected && !options.rules_file.empty() && options.io_dtype == "keep") {
        QC_ASSIGN(floats, float_contract(*graph, options));
        references.floats = floats.get();
      }
      PassContext context;
      QC_TRY(contract(*graph, options, context));
      QC_ASSIGN(Validation result,
                validate(*graph, options, std::move(samples), references, validation));
      fmt::print("{}", flags->as_json ? json(result, flags->model) : str(result));
      if (!result.ok) {
        return error(Code::mismatch, Loc{flags->model, {}, {}},
                     "results differ by more than allowed; see the table");
      }
      return 0;
    };
  });
}

}  // namespace qc::cli
