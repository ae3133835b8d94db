#include "driver/calibrate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "cli/cli.h"
#include "driver/arrays.h"
#include "driver/choices.h"
#include "support/counted.h"
#include "support/escape.h"
#include "support/output.h"

namespace qc::cli {
namespace {

/// A bar on terminals; nothing elsewhere.
void draw_bar(int64_t done, int64_t total) {
  stop_watching_time();  // what is left are as many samples as the user gave
  if (!::isatty(STDERR_FILENO)) return;
  constexpr int64_t kWidth = 40;
  const int64_t filled = done * kWidth / total;
  say("\rcalibrating [{:#<{}}{:.<{}}] {}/{}{}", "", filled, "", kWidth - filled, done, total,
      done == total ? "\n" : "");
}

}  // namespace

void add_calibrate(CLI::App& app, Session& session) {
  struct Flags : CompileFlags {
    std::string model, out, partial;
    std::vector<std::string> data;
    CalibrateOptions calibration;
  };
  auto flags = std::make_shared<Flags>();
  CalibrateOptions& c = flags->calibration;
  CLI::App* command =
      app.add_subcommand("calibrate", "run a model on samples and write a rule file");
  add_model(*command, flags->model);
  add_value(*command, "--data", flags->data, "FILE",
            "samples by input name or as in_0, in_1, ..., along axis 0 (.npz, .npy); further files "
            "may have other sizes")
      ->required();
  add_value(*command, "-o,--output", flags->out, "FILE", "the rule file to write (.toml)")
      ->required();
  add_value(*command, "--method", c.method, "method",
            "how ranges are chosen" + default_text(c.method));
  add_value(*command, "--percentile", c.percentile, "X",
            "percentage of elements that method percentile keeps (default 99.99)");
  add_value(*command, "--activations", c.activations, "activations",
            "codes of activations" + default_text(c.activations));
  add_value(
      *command, "--results", c.results, "results",
      "narrow: like the activations; auto: so too, but what norms read in rows of very different "
      "size in 16 bits; sums: so too, and sums of two values in 16 bits; wide: all results in 16 "
      "bits; "
      "float32: f32, only products on codes" +
          default_text(c.results));
  add_value(*command, "--headroom", c.headroom, "X",
            "codes cover the range that was seen times this (default 1, int16: 2)");
  add_value(*command, "--ops", c.ops, "OP,...",
            "only these ops get rules, as in conv,linear (default: all)")
      ->delimiter(',');
  command->add_flag("--per-channel", c.per_channel, "weights with a scale for each channel");
  command->add_flag("--reference", c.reference, "run the interpreter instead of compiled kernels");
  command->add_flag("--equalise", c.equalise,
                    "even out the channels of weights that follow each other");
  command->add_flag("--bias-correction,!--no-bias-correction", c.bias_correction,
                    "take out the mean error of rounded weights (default)");
  add_value(*command, "--rules", flags->partial, "FILE",
            "rules that say something about some nodes, such as dtype = 'int16': what they leave "
            "open is found, and both are written");
  flags->add(*command, "--allow-unused-rules", &Options::allow_unused_rules, "",
             "let rules pass that match nothing, and write a file without rules");
  flags->add_dims(*command);
  flags->add_force(*command);
  command->footer(
      "Examples:\n  quantc calibrate model.onnx --data samples.npz -o rules.toml --per-channel\n"
      "  quantc compile model.onnx --rules rules.toml -o out");
  command->callback([flags, &session] {
    session.action = [flags]() -> Result<int> {
      CalibrateOptions calibration = flags->calibration;
      QC_TRY(check_choice("method", calibration.method, "--method"));
      QC_TRY(check_choice("activations", calibration.activations, "--activations"));
      QC_TRY(check_choice("results", calibration.results, "--results"));
      QC_TRY(understand(calibration));
      calibration.progress = draw_bar;
      QC_ASSIGN(Options options, flags->resolve());
      calibration.allow_unused_rules = options.allow_unused_rules;
      if (!flags->partial.empty()) {
        QC_ASSIGN(calibration.partial, partial_rules(flags->partial, calibration.activations));
      }
      QC_ASSIGN(auto graph, load(flags->model, options));
      QC_ASSIGN(auto data, open_arrays(flags->data, graph->inputs().size()));
      QC_ASSIGN(Samples samples,
                Samples::open(*graph, std::move(data),
                              Bindings(options.dims.begin(), options.dims.end()), true));
      const std::filesystem::path rules = flags->out;
      const std::string archive = archive_name(flags->out);
      const Overwrite overwrite = options.force ? Overwrite::any : Overwrite::own;
      QC_TRY(check_output(flags->out, overwrite));
      if (calibration.equalise || calibration.bias_correction) {
        const std::string arrays = (rules.parent_path() / archive).string();
        if (auto written = check_output(arrays, overwrite); !written.ok()) {
          written.diag().notes.push_back(
              fmt::format("arrays of the rules in {} go into {}: with another name after -o both "
                          "have another",
                          shown(flags->out), shown(arrays)));
          return written.diag();
        }
      }
      QC_ASSIGN(const Calibration result,
                calibrate(*graph, options, std::move(samples), calibration, archive));
      QC_ASSIGN(FileSet files,
                write_rules(result, flags->out, flags->model, calibration.method, overwrite));
      warn(flags->model, result.warnings);
      std::string report = fmt::format("{}: {}\n", shown(flags->out), counted(result.runs, "run"));
      if (!result.passed_over.empty()) {
        report += fmt::format("  not calibrated, for they are in bodies of branches or loops: {}\n",
                              shown(fmt::format("{}", fmt::join(result.passed_over, ", "))));
      }
      return deliver(files, report);
    };
  });
}

}  // namespace qc::cli
