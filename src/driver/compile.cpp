#include "driver/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "backends/c/names.h"
#include "driver/arrays.h"
#include "driver/explain.h"
#include "driver/rules.h"
#include "driver/widened.h"
#include "interp/interpreter.h"
#include "ir/op_table.h"
#include "passes/expose_codes.h"
#include "passes/note_rules.h"
#include "program/fuse_epilogues.h"
#include "program/lowering.h"
#include "program/plan.h"
#include "program/select_kernels.h"
#include "support/budget.h"
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

// Each size of a range is lowered once.
constexpr int64_t kMaxSizes = 4096, kMaxSize = 1 << 16;

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
  const Result<Target> target = find_target(options.target);
  out.unsigned_codes = target.ok() && target->has("unsigned_codes");
  return out;
}

/// Whether `name` is of the lower stage: everything before it makes the contract graph.
bool is_lower_pass(const std::string& name) {
  for (const Pass& pass : pipeline()) {
    if (pass.name == name) return pass.stage == PassStage::lower;
  }
  return false;
}

/// A size of a dimension must be one the model allows.
Result<Ok> check_size(const Graph& graph, const std::string& symbol, int64_t size) {
  auto range = graph.dim_ranges.find(symbol);
  const bool known = range != graph.dim_ranges.end();
  if (size >= 0 && (!known || (size >= range->second.min && size <= range->second.max)))
    return Ok{};
  return error(
      Code::dim, Loc{graph.file, {}, {}}, "dimension '{}' cannot be {}{}", symbol, size,
      !known ? std::string()
             : fmt::format(": the model allows {} to {}", range->second.min, range->second.max));
}

/// Input dimensions that have neither number nor range.
Result<Ok> check_bound(const Graph& graph, const Options& options) {
  std::string list;
  for (const std::string& s : graph.symbols()) {
    if (options.ranges.count(s)) continue;
    auto range = graph.dim_ranges.find(s);
    list += fmt::format("{}{}", list.empty() ? "" : ", ", s);
    if (range != graph.dim_ranges.end() && range->second.hint)
      list += fmt::format(" (such as {})", *range->second.hint);
  }
  if (list.empty()) return Ok{};
  return error(Code::dim, Loc{graph.file, {}, {}},
               "the model's inputs have free dimensions: give --dim NAME=SIZE for {}", list);
}

bool is_on(const Options& options, std::string_view name, int level) {
  const auto& off = options.disabled_passes;
  return options.level >= level && std::find(off.begin(), off.end(), name) == off.end();
}

PlanOptions plan_options(const Options& options) {
  return {.reorder = is_on(options, "reorder_steps", 2),
          .share = is_on(options, "share_storage", 1)};
}

/// Everything of make_program but the plan.
Result<Program> lowered(Graph& graph, const Options& options, DerivedConstants& constants,
                        PassContext& context, const PassObserver& observe,
                        std::vector<KernelChoice>* choices = nullptr) {
  const Loc file{graph.file, {}, {}};
  PassOptions passes = pass_options(options, PassStage::lower, PassStage::lower, observe);
  const bool stopped = !options.stop_after.empty() && !is_lower_pass(options.stop_after);
  if (options.level > 0 && !stopped) QC_TRY(located(run_passes(graph, passes, context), file));
  QC_ASSIGN(Program program, located(lower(graph, constants), file));
  if (is_on(options, "fuse_epilogues", 1)) fuse_epilogues(program);
  QC_ASSIGN(const Target target, find_target(options.target));
  QC_TRY(located(select_kernels(program, target, constants, choices), file));
  return program;
}

Result<Program> planned(Graph& graph, const Options& options, PassContext& context,
                        const PassObserver& observe) {
  QC_TRY(check_bound(graph, options));
  DerivedConstants constants;
  QC_ASSIGN(Program program, lowered(graph, options, constants, context, observe));
  plan(program, plan_options(options));
  if (options.verify) QC_TRY(located(verify(program), Loc{graph.file, {}, {}}));
  for (std::string& line : widened_weights(program, constants))
    context.warnings.push_back(std::move(line));
  return program;
}

}  // namespace

Result<Ok> check(const Options& options) {
  QC_TRY(find_target(options.target));
  QC_TRY(one_of("weights", options.weights, {"literal", "incbin", "file"}));
  QC_TRY(one_of("specialise", options.specialise, {"speed", "size"}));
  QC_TRY(one_of("state", options.state, {"kept", "io"}));
  if (options.level < 0 || options.level > 3) {
    return error(Code::usage, "optimisation level {} does not exist: use 0 to 3", options.level);
  }
  if (options.budget < 1) {
    return error(Code::usage, "a budget of {}: it must be 1 or more", options.budget);
  }
  if (options.ranges.size() > 1) {
    return error(Code::usage, "{} dimensions have ranges: give numbers for all but one",
                 options.ranges.size());
  }
  for (const auto& [symbol, range] : options.ranges) {
    if (options.dims.count(symbol))
      return error(Code::usage, "dimension '{}' has a number and a range", symbol);
    if (range.min < 0 || range.min > range.max || range.max > kMaxSize ||
        range.max - range.min >= kMaxSizes) {
      return error(Code::usage,
                   "dimension '{}' cannot be {}..{}: give at most {} sizes, none above {}", symbol,
                   range.min, range.max, kMaxSizes, kMaxSize);
    }
  }
  QC_TRY(one_of("io_dtype", options.io_dtype, {"keep", "quantized"}));
  if (auto parsed = parse_arithmetic(options.arithmetic); !parsed.ok()) {
    return error(Code::usage, "arithmetic: {}", parsed.diag().text);
  }
  if (options.name.empty()) return Ok{};
  if (const std::string problem = name_problem(options.name); !problem.empty()) {
    return error(Code::usage, "'{}' cannot name a project: {}", options.name, problem);
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
  for (const auto& [symbol, size] : bindings) QC_TRY(check_size(graph, symbol, size));
  for (const auto& [symbol, range] : options.ranges) {
    const auto symbols = graph.symbols();
    if (std::find(symbols.begin(), symbols.end(), symbol) == symbols.end()) {
      return error(Code::dim, file, "no dimension is named '{}'; the inputs have {}", symbol,
                   symbols.empty() ? "none" : fmt::format("{}", fmt::join(symbols, ", ")));
    }
    QC_TRY(check_size(graph, symbol, range.min));
    QC_TRY(check_size(graph, symbol, range.max));
    DimRange& known = graph.dim_ranges[symbol];
    known.min = range.min;
    known.max = range.max;
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

Result<Ok> add_dims_of(const Graph& graph, const std::vector<Tensor>& inputs, Options& options) {
  QC_ASSIGN(Bindings sizes, bindings_for(graph, inputs));
  for (const auto& [symbol, size] : sizes) {
    auto range = options.ranges.find(symbol);
    if (range == options.ranges.end()) {
      options.dims.emplace(symbol, size);
    } else if (size < range->second.min || size > range->second.max) {
      return error(Code::dim, Loc{graph.file, {}, {}},
                   "dimension '{}' of the inputs is {}, outside its range {} to {}", symbol, size,
                   range->second.min, range->second.max);
    }
  }
  return Ok{};
}

Result<Program> make_program(Graph& graph, const Options& options, const PassObserver& observe) {
  PassContext context;
  return planned(graph, options, context, observe);
}

Result<std::string> kernel_choices(Graph& graph, const Options& options) {
  QC_TRY(check_bound(graph, options));
  PassContext context;
  DerivedConstants constants;
  std::vector<KernelChoice> choices;
  QC_TRY(lowered(graph, options, constants, context, {}, &choices));
  return str(choices);
}

Result<Family> make_family(const Graph& graph, const Options& options, PassContext* noted) {
  QC_CHECK(options.ranges.size() == 1, "a family needs one range");
  const auto& [symbol, range] = *options.ranges.begin();
  const Loc file{graph.file, {}, {}};
  QC_TRY(check_bound(graph, options));
  Family family;
  family.symbol = symbol;
  family.min = range.min;
  family.max = range.max;
  for (const Value* v : graph.inputs()) family.inputs.push_back(v->shape());
  for (const Output& o : graph.outputs()) family.outputs.push_back(o.value->shape());
  DerivedConstants constants;
  for (int64_t size = range.min; size <= range.max; ++size) {
    const Bindings bindings{{symbol, size}};
    if (!graph.check_guards(bindings).ok()) continue;
    QC_ASSIGN(auto bound, copy(graph));
    PassContext context;
    auto program = [&]() -> Result<Program> {
      QC_TRY(located(bound->bind(bindings), file));
      return lowered(*bound, options, constants, context, {});
    }();
    if (!program.ok()) {
      Diag diag = std::move(program).diag();
      diag.notes.push_back(fmt::format("with {} = {}", symbol, size));
      return diag;
    }
    family.sizes.push_back(size);
    family.programs.push_back(std::move(*program));
  }
  if (family.sizes.empty()) {
    return error(Code::dim, file, "the model holds for no {} from {} to {}", symbol, range.min,
                 range.max);
  }
  QC_TRY(located(family.plan(plan_options(options)), file));
  for (const Program& program : family.programs) {
    if (options.verify) QC_TRY(located(verify(program), file));
  }
  if (noted) noted->warnings = widened_weights(family.programs.back(), constants);
  return family;
}

Result<COptions> c_options(const Options& options, const std::string& model_file) {
  COptions out;
  out.name = options.name;
  if (out.name.empty()) out.name = project_name(std::filesystem::path(model_file).stem().string());
  out.weights = options.weights == "incbin" ? WeightForm::incbin
                : options.weights == "file" ? WeightForm::file
                                            : WeightForm::literal;
  out.specialise = options.specialise == "size" ? Specialise::size : Specialise::speed;
  QC_ASSIGN(out.target, find_target(options.target));
  return out;
}

Result<CompileResult> compile_c(Graph& graph, const Options& options, const std::string& dir,
                                const std::vector<Tensor>* inputs, const PassObserver& observe) {
  QC_ASSIGN(COptions backend, c_options(options, graph.file));
  Vectors vectors;
  if (inputs) {
    QC_ASSIGN(RunResult expected, interpret(graph, *inputs));
    vectors = {*inputs, std::move(expected.outputs), 0};
  }
  auto write = [&](const Programs& programs) -> Result<CReport> {
    const Doing doing("writing C");
    QC_ASSIGN(FileSet files, FileSet::create(dir, options.force ? Overwrite::any : Overwrite::own));
    QC_ASSIGN(CReport report, write_c(programs, backend, inputs ? &vectors : nullptr, files));
    QC_TRY(files.commit());
    return report;
  };
  CompileResult result{{}, backend.name, {}, {}};
  PassContext context;
  if (options.ranges.empty()) {
    QC_ASSIGN(const Program program, planned(graph, options, context, observe));
    QC_ASSIGN(result.report, write(program));
    result.remarks = std::move(context.remarks);
  } else {
    QC_ASSIGN(const Family family, make_family(graph, options, &context));
    if (inputs) {
      QC_ASSIGN(const Bindings sizes, bindings_for(graph, *inputs));
      vectors.size = sizes.at(family.symbol);
    }
    QC_ASSIGN(result.report, write(family));
    result.remarks.push_back(fmt::format("{} sizes of {} in {} forms", family.sizes.size(),
                                         family.symbol, family.forms.size()));
  }
  result.warnings = std::move(context.warnings);
  for (const std::string& constant : result.report.not_finite) {
    result.warnings.push_back(
        fmt::format("constant '{}' holds NaN or infinity, and so will results", constant));
  }
  return result;
}

}  // namespace qc
