#include "driver/validate.h"

#include <fmt/format.h>

#include "cli/cli.h"
#include "driver/analyze.h"
#include "driver/arrays.h"
#include "driver/choices.h"

namespace qc::cli {

namespace {

struct ValidateFlags : CompileFlags {
  std::string model;
  InputFlags input;
  std::vector<std::string> expected;
  std::string float_model;
  ValidateOptions validation;
  double atol = -1, rtol = -1, min_sqnr = 0, min_top1 = 0, max_perplexity = 0;
  const CLI::Option *sqnr_flag = nullptr, *top1_flag = nullptr, *perplexity_flag = nullptr;
  bool as_json = false;
  std::string cflags;

  void add_to(CLI::App& command);
  /// The options of the validation as the flags say.
  ValidateOptions bars() const;
};

void ValidateFlags::add_to(CLI::App& command) {
  add_model(command, model);
  input.add(command);
  add_value(
      command, "-e,--expected", expected, "FILE",
      "arrays by output name or as out_0, out_1, ...; for --data those of all samples (default: "
      "with --rules, what the model answers in float)");
  add_value(command, "--float-model", float_model, "FILE",
            "the float model that a quantized file was made of (default: with --rules, the model "
            "without them)");
  add_value(command, "--atol", atol, "X",
            "allowed difference from the expected outputs (default: 1e-4 of their largest "
            "magnitude; with --rules and no bar the difference is shown, not judged)");
  add_value(command, "--rtol", rtol, "X",
            "allowed relative difference, added to --atol (default 0)");
  sqnr_flag = add_value(command, "--min-sqnr", min_sqnr, "DB",
                        "least signal-to-noise ratio, instead of the differences above");
  top1_flag = add_value(command, "--min-top1", min_top1, "PERCENT",
                        "least share of rows, along the last axis, whose largest element is at "
                        "the same place");
  add_value(command, "--perplexity", validation.tokens, "NAME",
            "show the perplexity of logits: how well they predict the tokens of this input");
  perplexity_flag = add_value(command, "--max-perplexity", max_perplexity, "X",
                              "greatest perplexity, instead of the differences above");
  command.add_flag("--json", as_json, "as JSON (docs/schema/validate.json)");
  add_value(command, "--target", validation.targets, "TARGET",
            fmt::format("what to build for and run: {} (default native, with --no-float portable)",
                        fmt::join(choices("target"), ", ")));
  add_value(command, "--cc", validation.build.compiler, "PROGRAM",
            "C compiler (default $CC, else cc)");
  add_value(command, "--cflags", cflags, "FLAGS",
            "flags for it (default -O2, for portable code with -march=native)");
  command.add_flag("--host", validation.build.host,
                   "build CUDA targets without CUDA: their threads run here, one after another");
  command.add_flag("--per-layer", validation.per_layer,
                   "compare every layer with the float model and with arrays of -e that have its "
                   "name; show the first where generated code and interpreter part");
  add_code(command);
  add(command, "--threads", &Options::threads, "",
      "split large steps, and run generated code with several threads");
  add_dims(command);
  add_quantization(command);
}

ValidateOptions ValidateFlags::bars() const {
  ValidateOptions out = validation;
  if (sqnr_flag->count() > 0) out.min_sqnr = min_sqnr;
  if (top1_flag->count() > 0) out.min_top1 = min_top1;
  if (perplexity_flag->count() > 0) out.max_perplexity = max_perplexity;
  if (atol >= 0) out.atol = atol;
  if (rtol >= 0) out.rtol = rtol;
  for (const std::string& flag : CLI::detail::split(cflags, ' ')) {
    if (!flag.empty()) out.build.flags.push_back(flag);
  }
  return out;
}

/// What the answers should be, and what has to live for it.
struct Wanted {
  std::vector<std::vector<Tensor>> outputs;
  std::vector<std::vector<NamedArray>> arrays;
  std::unique_ptr<Graph> floats, layers;

  References references() const { return {outputs, floats.get(), layers.get(), arrays}; }
};

/// `model` as it was loaded.
Result<Wanted> wanted(const ValidateFlags& flags, const Graph& model, const Samples& samples,
                      const Options& options) {
  Wanted out;
  if (!flags.expected.empty()) {
    QC_ASSIGN(out.arrays, read_array_sets(flags.expected, Role::outputs, model.outputs().size()));
    if (out.arrays.size() != samples.sets().size()) {
      return error(Code::input, Loc{flags.model, {}, {}},
                   "expected outputs are {} sets, the samples are {}: give a file of -e for each "
                   "file of --data",
                   out.arrays.size(), samples.sets().size());
    }
    for (const auto& arrays : out.arrays) {
      QC_ASSIGN(auto set, match_outputs(model, arrays));
      out.outputs.push_back(std::move(set));
    }
  }
  if (!flags.float_model.empty()) {
    Options plain = without_rules(options);
    plain.dims.clear();  // its dimensions may have other names; the samples say their sizes
    plain.ranges.clear();
    QC_ASSIGN(const auto other, load(flags.float_model, plain));
    QC_TRY(add_dims_of(*other, samples, plain));
    QC_ASSIGN(out.floats, float_contract(*other, plain));
  } else if ((out.outputs.empty() || flags.validation.per_layer) && !options.rules_file.empty() &&
             options.io_dtype == "keep") {
    QC_ASSIGN(out.floats, float_contract(model, options));  // it does not read codes
  }
  if (flags.validation.per_layer) {
    QC_ASSIGN(out.layers, copy(model));
    out.layers->file = model.file;
    QC_TRY(make_contract(*out.layers, layer_by_layer(options)));
  }
  return out;
}

Result<int> run_validation(const ValidateFlags& flags) {
  QC_ASSIGN(Options options, flags.resolve());
  for (const std::string& target : flags.validation.targets) {
    Options one = options;
    one.target = target;
    QC_TRY(check(one));
  }
  QC_ASSIGN(auto graph, load(flags.model, options));
  QC_ASSIGN(Samples samples, flags.input.open(*graph, options));
  QC_TRY(add_dims_of(*graph, samples, options));
  Progress progress("validating " + flags.model);
  QC_ASSIGN(const Wanted answers, wanted(flags, *graph, samples, options));
  PassContext context;
  QC_TRY(contract(*graph, options, context));
  QC_TRY(flags.input.renew(*graph, samples));
  watch_time_of(samples);
  ValidateOptions bars = flags.bars();
  bars.quantized = !options.rules_file.empty();
  QC_ASSIGN(Validation result,
            validate(*graph, options, std::move(samples), answers.references(), bars));
  fmt::print("{}", flags.as_json ? json(result, flags.model) : str(result));
  if (flags.validation.per_layer && result.layers.empty()) {
    const std::string why =
        "--per-layer has no layers to compare with: give --rules, --float-model with the float "
        "model "
        "that this file was made of, or -e with arrays that have names of layers";
    warn(flags.model, {&why, 1});
  }
  if (!result.ok) {
    const std::vector<std::string> all = failures(result);
    return error(Code::mismatch, Loc{flags.model, {}, {}},
                 "results differ by more than allowed: {}{}", all[0],
                 all.size() > 1 ? fmt::format("; {} more in the table", all.size() - 1) : "");
  }
  return 0;
}

}  // namespace

void add_validate(CLI::App& app, Session& session) {
  auto flags = std::make_shared<ValidateFlags>();
  CLI::App* command =
      app.add_subcommand("validate", "compare interpreter, generated code and expected outputs");
  flags->add_to(*command);
  command->footer(
      "Examples:\n  quantc validate model.onnx -i io.npz -e io.npz\n"
      "  quantc validate model.onnx --rules rules.toml --data samples.npz --min-sqnr 25\n"
      "  quantc validate llama.pt2 --rules rules.toml --data text.npz --perplexity input_ids\n"
      "  quantc validate model.pt2 --random 7 --per-layer --cc clang");
  command->callback(
      [flags, &session] { session.action = [flags] { return run_validation(*flags); }; });
}

}  // namespace qc::cli
