#include "driver/calibrate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "cli/cli.h"
#include "driver/arrays.h"
#include "support/escape.h"
#include "support/output.h"

namespace qc::cli {
namespace {

/// A bar on terminals; nothing elsewhere.
void draw_bar(int64_t done, int64_t total) {
  if (!::isatty(STDERR_FILENO)) return;
  constexpr int64_t kWidth = 40;
  const int64_t filled = done * kWidth / total;
  fmt::print(stderr, "\rcalibrating [{:#<{}}{:.<{}}] {}/{}{}", "", filled, "", kWidth - filled,
             done, total, done == total ? "\n" : "");
  std::fflush(stderr);
}

}  // namespace

void add_calibrate(CLI::App& app, Session& session) {
  struct Flags : CompileFlags {
    std::string model, out, method = "minmax", results = "narrow";
    std::vector<std::string> data;
    CalibrateOptions calibration;
  };
  auto flags = std::make_shared<Flags>();
  CalibrateOptions& c = flags->calibration;
  CLI::App* command =
      app.add_subcommand("calibrate", "run a model on samples and write a rule file");
  command->add_option("MODEL", flags->model, "an .onnx or .pt2 file")->required();
  command
      ->add_option("--data", flags->data,
                   "samples by input name or as in_0, in_1, ..., along axis 0 (.npz, .npy)")
      ->required();
  command->add_option("-o,--output", flags->out, "the rule file to write (.toml)")->required();
  command->add_option("--method", flags->method,
                      "how ranges are chosen: minmax, percentile, entropy or mse (default minmax)");
  command->add_option("--percentile", c.percentile,
                      "share of elements that method keeps (default 99.99)");
  command->add_option("--activations", c.activations, "int8, uint8 or int16 (default int8)");
  command->add_option(
      "--results", flags->results,
      "narrow: like the activations; sums: sums of two values in 16 bits; wide: all "
      "results in 16 bits; float32: f32, only products on codes (default narrow)");
  command->add_option("--headroom", c.headroom,
                      "codes cover the range that was seen times this (default 1, int16: 2)");
  command->add_option("--ops", c.ops, "only these ops get rules, as in conv,linear")
      ->delimiter(',');
  command->add_flag("--per-channel", c.per_channel, "weights with a scale for each channel");
  command->add_flag("--reference", c.reference, "run the interpreter instead of compiled kernels");
  command->add_flag("--equalise", c.equalise,
                    "even out the channels of weights that follow each other");
  command->add_flag("--bias-correction,!--no-bias-correction", c.bias_correction,
                    "take out the mean error of rounded weights (default)");
  flags->add_dims(*command);
  flags->add_force(*command);
  command->footer(
      "Examples:\n  quantc calibrate model.onnx --data samples.npz -o rules.toml --per-channel\n"
      "  quantc compile model.onnx --rules rules.toml -o out");
  command->callback([flags, &session] {
    session.action = [flags]() -> Result<int> {
      CalibrateOptions calibration = flags->calibration;
      const auto method = parse_range_method(flags->method);
      if (!method) {
        return error(Code::usage, "--method is '{}': use one of minmax, percentile, entropy, mse",
                     flags->method);
      }
      if (const std::string& a = calibration.activations;
          a != "int8" && a != "uint8" && a != "int16") {
        return error(Code::usage, "--activations is '{}': use one of int8, uint8, int16", a);
      }
      if (!(calibration.percentile > 0 && calibration.percentile <= 100)) {
        return error(Code::usage, "--percentile is {}: it must be above 0 and at most 100",
                     calibration.percentile);
      }
      const auto results = parse_result_form(flags->results);
      if (!results) {
        return error(Code::usage, "--results is '{}': use one of narrow, sums, wide, float32",
                     flags->results);
      }
      if (!(calibration.headroom == 0 ||
            (calibration.headroom >= 1 && calibration.headroom <= 1000))) {
        return error(Code::usage, "--headroom is {}: it must be 1 to 1000", calibration.headroom);
      }
      calibration.results = *results;
      calibration.method = *method;
      calibration.progress = draw_bar;
      QC_ASSIGN(Options options, flags->resolve());
      QC_ASSIGN(auto graph, load(flags->model, options));
      QC_ASSIGN(auto data, open_arrays(flags->data));
      QC_ASSIGN(Samples samples, Samples::open(*graph, std::move(data)));
      const std::filesystem::path rules = flags->out;
      const std::string folder = rules.has_parent_path() ? rules.parent_path().string() : ".";
      const std::string archive = rules.stem().string() + ".npz";
      const Overwrite overwrite = options.force ? Overwrite::any : Overwrite::own;
      QC_TRY(check_output(flags->out, overwrite));
      if (calibration.equalise || calibration.bias_correction) {
        QC_TRY(check_output(folder + "/" + archive, overwrite));
      }
      QC_ASSIGN(const Calibration result,
                calibrate(*graph, options, std::move(samples), calibration, archive));
      std::string text = fmt::format("# Written by quantc calibrate: {}, {} runs, {}.\n\n{}# ",
                                     shown(std::filesystem::path(flags->model).filename().string()),
                                     result.runs, flags->method, result.rules);
      text += checksum_mark(text) + "\n";
      QC_ASSIGN(FileSet files, FileSet::create(folder, overwrite));
      QC_TRY(files.write(rules.filename().string(), text));
      if (!result.arrays.empty()) {
        QC_ASSIGN(const std::string arrays, npz_bytes(result.arrays));
        QC_TRY(files.write(archive, arrays));
      }
      QC_TRY(files.commit());
      warn(flags->model, result.warnings);
      fmt::print("{}: {} runs\n", shown(flags->out), result.runs);
      if (!result.passed_over.empty()) {
        fmt::print("  not calibrated, for they are in bodies of branches or loops: {}\n",
                   shown(fmt::format("{}", fmt::join(result.passed_over, ", "))));
      }
      return 0;
    };
  });
}

}  // namespace qc::cli
