#include "driver/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "backends/c/text.h"
#include "driver/arrays.h"
#include "driver/explain.h"
#include "driver/rules.h"
#include "interp/interpreter.h"
#include "ir/op_table.h"
#include "passes/expose_codes.h"
#include "passes/note_rules.h"
#include "program/fuse_epilogues.h"
#include "program/lowering.h"
#include "program/plan.h"
#include "support/located.h"

namespace qc {
namespace {

Result<Ok> one_of(const char* option, const std::string& value,
                  std::initializer_list<const char*> allowed) {
  std::string list;
  for (const char* a : allowed) {
    if (value == a) return Ok{};
    list += (list.empty() ? "" : ", ") + std::string(a);
  }
  return error(Code::usage, "{} is '{}': use one of {}", option, value, list);
}

/// What is done on the Program; each can be switched off like a pass.
constexpr std::string_view kProgramPasses[] = {"fuse_epilogues", "share_storage", "reorder_steps"};

PassOptions pass_options(const Options& options, PassStage first, PassStage last,
                         const PassObserver& observe) {
  PassOptions out;
  out.first = first;
  out.verify = options.verify;
  for (const std::string& name : options.disabled_passes) {
    if (std::find(std::begin(kProgramPasses), std::end(kProgramPasses), name) ==
        std::end(kProgramPasses)) {
      out.disabled.push_back(name);
    }
  }
  out.stop_after = options.stop_after;
  out.last = last;
  out.observe = observe;
  return out;
}

/// Whether `name` is of the lower stage: everything before it makes the contract graph.
bool is_lower_pass(const std::string& name) {
  for (const Pass& pass : pipeline()) {
    if (pass.name == name) return pass.stage == PassStage::lower;
  }
  return false;
}

}  // namespace

Result<Ok> check(const Options& options) {
  QC_TRY(one_of("target", options.target, {"portable"}));
  QC_TRY(one_of("weights", options.weights, {"literal", "incbin", "file"}));
  QC_TRY(one_of("specialise", options.specialise, {"speed", "size"}));
  if (options.level < 0 || options.level > 3) {
    return error(Code::usage, "optimisation level {} does not exist: use 0 to 3", options.level);
  }
  QC_TRY(one_of("io_dtype", options.io_dtype, {"keep", "quantized"}));
  if (auto parsed = parse_arithmetic(options.arithmetic); !parsed.ok()) {
    return error(Code::usage, "arithmetic: {}", parsed.diag().text);
  }
  if (!options.name.empty() && !is_c_identifier(options.name)) {
    return error(Code::usage, "'{}' cannot prefix C names: use letters, digits and underscores",
                 options.name);
  }
  return Ok{};
}

Result<Ok> make_contract(Graph& graph, const Options& options, const PassObserver& observe) {
  PassContext context;
  return make_contract(graph, options, context, observe);
}

Result<Ok> make_contract(Graph& graph, const Options& options, PassContext& context,
                         const PassObserver& observe) {
  QC_TRY(check(options));
  const Loc file{graph.file, {}, {}};
  Bindings bindings(options.dims.begin(), options.dims.end());
  for (const auto& [symbol, size] : bindings) {
    auto range = graph.dim_ranges.find(symbol);
    if (size < 0 || (range != graph.dim_ranges.end() &&
                     (size < range->second.min || size > range->second.max))) {
      return error(
          Code::dim, file, "dimension '{}' cannot be {}{}", symbol, size,
          range == graph.dim_ranges.end()
              ? std::string()
              : fmt::format(": the model allows {} to {}", range->second.min, range->second.max));
    }
  }
  if (!bindings.empty()) QC_TRY(located(graph.bind(bindings), file));
  PassOptions passes = pass_options(options, PassStage::normalise, PassStage::quantize, observe);
  if (is_lower_pass(passes.stop_after)) passes.stop_after.clear();
  QC_ASSIGN(const RuleSet rules, rule_set(options));
  context.rules = rules.rules.empty() ? nullptr : &rules;
  auto run = located(run_passes(graph, passes, context), file);
  auto used = check_rule_uses(context);
  context.rules = nullptr;
  QC_TRY(run);
  QC_TRY(used);
  if (!passes.stop_after.empty()) return Ok{};
  if (options.io_dtype == "quantized") expose_codes(graph);
  return options.require_integer ? check_integer(graph, context) : Ok{};
}

Result<Program> make_program(Graph& graph, const Options& options, const PassObserver& observe) {
  const Loc file{graph.file, {}, {}};
  if (auto symbols = graph.symbols(); !symbols.empty()) {
    std::string list;
    for (const std::string& s : symbols) {
      auto range = graph.dim_ranges.find(s);
      list += fmt::format("{}{}", list.empty() ? "" : ", ", s);
      if (range != graph.dim_ranges.end() && range->second.hint)
        list += fmt::format(" (such as {})", *range->second.hint);
    }
    return error(Code::dim, file,
                 "the model's inputs have free dimensions: give --dim NAME=SIZE for {}", list);
  }
  PassContext context;
  PassOptions passes = pass_options(options, PassStage::lower, PassStage::lower, observe);
  if (options.level == 0) {
    for (const Pass& pass : pipeline()) {
      if (pass.stage == PassStage::lower) passes.disabled.push_back(pass.name);
    }
  }
  if (!options.stop_after.empty() && !is_lower_pass(options.stop_after)) passes.stop_after.clear();
  auto on = [&](std::string_view name, int level) {
    const auto& off = options.disabled_passes;
    return options.level >= level && std::find(off.begin(), off.end(), name) == off.end();
  };
  QC_TRY(located(run_passes(graph, passes, context), file));
  QC_ASSIGN(Program program, located(lower(graph), file));
  if (on("fuse_epilogues", 1)) fuse_epilogues(program);
  plan(program, {.reorder = on("reorder_steps", 2), .share = on("share_storage", 1)});
  return program;
}

Result<COptions> c_options(const Options& options, const std::string& model_file) {
  COptions out;
  out.name = options.name;
  if (out.name.empty()) {
    out.name = c_name(std::filesystem::path(model_file).stem().string());
    if (out.name.size() > 64) out.name.resize(64);
  }
  out.weights = options.weights == "incbin" ? WeightForm::incbin
                : options.weights == "file" ? WeightForm::file
                                            : WeightForm::literal;
  out.specialise = options.specialise == "size" ? Specialise::size : Specialise::speed;
  return out;
}

Result<CompileResult> compile_c(Graph& graph, const Options& options, const std::string& dir,
                                const std::vector<Tensor>* inputs, const PassObserver& observe) {
  QC_ASSIGN(COptions backend, c_options(options, graph.file));
  Vectors vectors;
  if (inputs) {
    QC_ASSIGN(RunResult expected, interpret(graph, *inputs));
    vectors = {*inputs, std::move(expected.outputs)};
  }
  QC_ASSIGN(Program program, make_program(graph, options, observe));
  QC_ASSIGN(FileSet files, FileSet::create(dir));
  QC_ASSIGN(CReport report, write_c(program, backend, inputs ? &vectors : nullptr, files));
  QC_TRY(files.commit());
  return CompileResult{report, backend.name};
}

}  // namespace qc
