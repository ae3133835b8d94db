#include "driver/compile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "backends/common/names.h"
#include "backends/registry.h"
#include "driver/arrays.h"
#include "driver/buckets.h"
#include "driver/choices.h"
#include "driver/explain.h"
#include "driver/given_inputs.h"
#include "driver/index_checks.h"
#include "driver/pass_list.h"
#include "driver/rules.h"
#include "driver/slow_codes.h"
#include "driver/widened.h"
#include "frontends/common/unknown_dim.h"
#include "interp/interpreter.h"
#include "ir/guard_text.h"
#include "ir/op_table.h"
#include "passes/note_rules.h"
#include "passes/pad_to_buckets.h"
#include "program/device.h"
#include "program/floats.h"
#include "program/index_record.h"
#include "program/lowering.h"
#include "program/passes.h"
#include "program/plan.h"
#include "support/budget.h"
#include "support/located.h"

namespace qc {
namespace {

constexpr int64_t kMaxSize = 1 << 16;
/// That of code without floats, where no other is given.
constexpr const char* kIntegerArithmetic = "exact,rescale=q31";

bool is_program_pass(const std::string& name) {
  const Result<PassRow> found = find_any_pass(name);
  return found.ok() && found->stage == "program";
}

PassOptions pass_options(const Options& options, PassStage first, PassStage last,
                         const PassObserver& observe) {
  PassOptions out;
  out.first = first;
  out.verify = options.verify;
  for (const std::string& name : options.disabled_passes) {
    if (!is_program_pass(name)) out.disabled.push_back(name);
  }
  if (!is_program_pass(options.stop_after)) out.stop_after = options.stop_after;
  out.codes_at_ports = options.io_dtype == "quantized";
  out.last = last;
  out.observe = observe.graph;
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
  return error(Code::dim, Loc{graph.file, {}, {}}, "dimension '{}' cannot be {}{}", symbol, size,
               !known ? std::string() : fmt::format(": the model allows {}", words(range->second)));
}

/// Input dimensions that have neither number nor range.
Result<Ok> check_bound(const Graph& graph, const Options& options) {
  std::string list;
  for (const std::string& s : graph.symbols()) {
    if (options.ranges.count(s)) continue;
    list += fmt::format("{}{}", list.empty() ? "" : ", ", s);
    if (const std::string position = location_of(graph, s); !position.empty())
      list += " (" + position + ")";
  }
  if (list.empty()) return Ok{};
  return error(
      Code::dim, Loc{graph.file, {}, {}},
      "the model's inputs have free dimensions: give --dim NAME=SIZE for {}, or --shape of "
      "the input",
      list);
}

/// Whether a pass over Programs runs: its level is reached, it is not left out, and none before it
/// was to be the last.
bool is_on(const Options& options, std::string_view name, int level) {
  if (level == 0) return true;
  bool stopped = false;
  for (const PassRow& p : all_passes()) {
    if (p.name == name) break;
    stopped = stopped || (p.stage == "program" && options.stop_after == p.name);
  }
  const auto& off = options.disabled_passes;
  const bool left_out = stopped || std::find(off.begin(), off.end(), name) != off.end();
  return options.level >= level && !left_out;
}

bool is_on(const Options& options, std::string_view name) {
  const auto& all = program_passes();
  const auto found = std::ranges::find_if(all, [&](const auto& p) { return p.name == name; });
  return found != all.end() && is_on(options, name, found->level);
}

PlanOptions plan_options(const Options& options) {
  return {.reorder = is_on(options, "reorder_steps"),
          .share = {.states = is_on(options, "update_states_in_place"),
                    .copies = is_on(options, "elide_copies"),
                    .in_place = is_on(options, "share_in_place")},
          .smallest = options.plan == "smallest"};
}

/// Fails with the list of all steps that need floats, and what to do about them.
Result<Ok> check_no_float(const Program& program, const std::string& file) {
  std::vector<std::string> found = float_steps(program);
  if (found.empty()) return Ok{};
  Diag diag =
      error(Code::rule, Loc{file, {}, {}}, "{} step{} floats, which --no-float does not allow",
            found.size(), found.size() == 1 ? " needs" : "s need");
  diag.notes = std::move(found);
  diag.notes.push_back(
      rescales_in_float(program)
          ? fmt::format("--arithmetic {} rescales by integers; --no-float takes it where no other "
                        "arithmetic is given, and rules say none of their own",
                        kIntegerArithmetic)
          : "these have no form in integers: end the model before them, or compile without "
            "--no-float, and the C library does their floats in software");
  return diag;
}

/// Everything that happens to a contract graph for one target, and what its programs share.
class Lowerer {
 public:
  Lowerer(const Options& options, const Target& target, PackedConstants& constants,
          const PassObserver& observe = {})
      : options_(options), target_(target), constants_(constants), observe_(observe) {}

  /// The program after all passes over programs; `choices` as of select_kernels.
  Result<Program> lowered(Graph& graph, PassContext& context,
                          std::vector<KernelChoice>* choices = nullptr) const {
    const Loc file{graph.file, {}, {}};
    bool record = false;
    if (options_.check_indices) {
      QC_ASSIGN(record, located(add_index_checks(graph, target_.device), file));
    }
    PassOptions passes = pass_options(options_, PassStage::lower, PassStage::lower, observe_);
    passes.unsigned_codes = target_.has("unsigned_codes");
    QC_ASSIGN(context.buckets, buckets_of(graph, options_, context));
    passes.buckets = !context.buckets.empty();
    const bool stopped = !passes.stop_after.empty() && !is_lower_pass(passes.stop_after);
    context.derived = &constants_;
    if (options_.level > 0 && !stopped) {
      QC_TRY(located(run_passes(graph, passes, context), file));
    } else if (!stopped) {
      QC_TRY(located(pad_to_buckets(graph, context), file));
    }
    QC_ASSIGN(Program program, located(lower(graph, constants_), file));
    if (record) take_index_record(program);
    std::vector<ForcedKernel> forced;
    for (const std::string& text : options_.kernels) {
      QC_ASSIGN(ForcedKernel one, parse_forced_kernel(text));
      forced.push_back(std::move(one));
    }
    ProgramPassContext on_program{target_, constants_,          choices,
                                  forced,  options_.allow_host, plan_options(options_)};
    for (const ProgramPass& pass : program_passes()) {
      if (!is_on(options_, pass.name)) continue;
      const auto begin = std::chrono::steady_clock::now();
      QC_TRY(located(pass.run(program, on_program), file));
      if (options_.verify) QC_TRY(located(verify(program), file));
      note(pass.name, begin, program);
    }
    return program;
  }

  Result<Program> planned(Graph& graph, PassContext& context) const {
    QC_TRY(check_bound(graph, options_));
    QC_ASSIGN(Program program, lowered(graph, context));
    pin_index_record(program);
    QC_TRY(finish(program, graph, context));
    if (options_.verify) QC_TRY(located(verify(program), Loc{graph.file, {}, {}}));
    if (options_.no_float) QC_TRY(check_no_float(program, graph.file));
    for (const std::string& line : host_steps(program))
      context.warnings.push_back("runs on the host, with copies there and back: " + line);
    for (std::string& line : widened_weights(program, constants_))
      context.warnings.push_back(std::move(line));
    for (std::string& line : slow_codes(program, target_))
      context.warnings.push_back(std::move(line));
    return program;
  }

 private:
  void note(const char* pass, std::chrono::steady_clock::time_point begin,
            const Program& program) const {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    if (observe_.program) observe_.program(pass, spent.count(), program);
  }

  /// What the backend does with a program whose buffers are placed.
  Result<Ok> finish(Program& program, const Graph& graph, PassContext& noted) const {
    QC_ASSIGN(const ProjectOptions project, project_options(options_, graph.file));
    for (const BackendPass& pass : backend_of(target_).passes()) {
      if (!is_on(options_, pass.name, pass.level)) continue;
      const auto begin = std::chrono::steady_clock::now();
      pass.run(program, project, noted.remarks);
      note(pass.name, begin, program);
    }
    return Ok{};
  }

  const Options& options_;
  const Target& target_;
  PackedConstants& constants_;
  const PassObserver observe_;
};

bool has_parallel_steps(const Module& module) {
  bool found = false;
  for (const Module::TargetProgram& one : module.programs) {
    for_each_step(one.program.steps, [&](const Step& s) {
      found = found || std::holds_alternative<ParallelStep>(s.op);
    });
  }
  return found;
}

Result<Ok> check_range(const std::string& symbol, const quantc::SizeRange& range) {
  const auto refuse = [&](std::string_view why) {
    const std::string step = range.step == 1 ? "" : fmt::format(":{}", range.step);
    return error(Code::usage, "dimension '{}' cannot be {}..{}{}: {}", symbol, range.min, range.max,
                 step, why);
  };
  if (range.min < 0) return refuse("sizes are 0 or more");
  if (range.min > range.max) return refuse("it ends before it begins");
  if (range.max > kMaxSize) return refuse(fmt::format("give no size above {}", kMaxSize));
  if (range.step < 1) return refuse("a step is 1 or more");
  const int64_t past = (range.max - range.min) % range.step;
  if (past == 0) return Ok{};
  return refuse(fmt::format("steps reach {}, not {}", range.max - past, range.max));
}

}  // namespace

Result<Ok> check(const Options& options) {
  QC_ASSIGN(const Target target, target_of(options));
  QC_ASSIGN(const ProjectOptions project, project_options(options, ""));
  QC_TRY(backend_of(target).check(target, project));
  for (const std::string& name : options.disabled_passes) {
    QC_ASSIGN(const PassRow pass, find_any_pass(name));
    if (!pass.optional) {
      return error(Code::usage, "pass '{}' {} and cannot be switched off", name,
                   pass.stage == "program" ? "is needed" : "makes the contract graph");
    }
  }
  if (!options.stop_after.empty()) QC_TRY(find_any_pass(options.stop_after));
  for (const std::string& text : options.kernels) QC_TRY(parse_forced_kernel(text));
  QC_TRY(check_choice("weights", options.weights, "weights"));
  QC_TRY(check_choice("specialise", options.specialise, "specialise"));
  QC_TRY(check_choice("plan", options.plan, "plan"));
  QC_TRY(check_choice("state", options.state, "state"));
  if (options.level < 0 || options.level > 2) {
    return error(Code::usage, "optimisation level {} does not exist: use 0 to 2", options.level);
  }
  if (options.budget < 1) {
    return error(Code::usage, "a budget of {}: it must be 1 or more", options.budget);
  }
  for (const auto& [symbol, range] : options.ranges) {
    if (options.dims.count(symbol))
      return error(Code::usage, "dimension '{}' has a number and a range", symbol);
    QC_TRY(check_range(symbol, range));
    QC_TRY(check_buckets(symbol, range));
  }
  QC_TRY(check_choice("io_dtype", options.io_dtype, "io_dtype"));
  if (auto parsed = parse_model_arithmetic(options.arithmetic); !parsed.ok()) {
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

Options implied(Options options) {
  if (options.target.empty()) options.target = options.no_float ? "portable" : "native";
  if (!options.no_float) return options;
  options.require_integer = true;
  options.io_dtype = "quantized";
  const auto given = parse_model_arithmetic(options.arithmetic);
  if (given.ok() && given->quantized.empty()) options.arithmetic = kIntegerArithmetic;
  return options;
}

Result<Ok> check_dim(const Graph& graph, const std::string& name) {
  const std::vector<std::string> known = graph.symbols();
  if (std::find(known.begin(), known.end(), name) != known.end()) return Ok{};
  return unknown_dim(Loc{graph.file, {}, {}}, name, known, known);
}

Result<Target> target_of(const Options& options) { return find_target(implied(options).target); }

Result<Ok> make_contract(Graph& graph, const Options& given, PassContext& context,
                         const PassObserver& observe) {
  const Options options = implied(given);
  QC_TRY(check(options));
  if (options.arithmetic != given.arithmetic)  // a quantized model was loaded with its own
    QC_TRY(set_arithmetic(graph, options.arithmetic));
  const Loc file{graph.file, {}, {}};
  Bindings bindings(options.dims.begin(), options.dims.end());
  for (const auto& [symbol, size] : bindings) QC_TRY(check_size(graph, symbol, size));
  for (const auto& [symbol, range] : options.ranges) {
    QC_TRY(check_dim(graph, symbol));
    QC_TRY(check_size(graph, symbol, range.min));
    QC_TRY(check_size(graph, symbol, range.max));
    DimRange& known = graph.dim_ranges[symbol];
    known.min = range.min;
    known.max = range.max;
    known.step = range.step;
  }
  if (!bindings.empty()) QC_TRY(located(graph.bind(bindings), file));
  PassOptions passes = pass_options(options, PassStage::normalise, PassStage::quantize, observe);
  if (is_lower_pass(passes.stop_after)) passes.stop_after.clear();
  QC_ASSIGN(const RuleSet rules, rule_set(options));
  if (graph.dot == DotStep::mul_add) {
    context.remarks.emplace_back(
        "dot: each step of a float dot product is a rounded product, then a rounded sum (dot = "
        "mul_add)");
  }
  context.rules = rules.rules.empty() ? nullptr : &rules;
  auto run = located(run_passes(graph, passes, context), file);
  auto used = check_rule_uses(context);
  context.rules = nullptr;
  QC_TRY(run);
  QC_TRY(used);
  if (!passes.stop_after.empty()) return Ok{};
  if (!options.require_integer) return Ok{};
  return check_integer(graph, context, options.no_float ? "--no-float" : "--require-integer");
}

Result<std::unique_ptr<Graph>> float_contract(const Graph& model, const Options& options) {
  Options plain = options;
  plain.rules_file.clear();
  plain.rules.clear();
  plain.own_rules.clear();
  plain.io_dtype = "keep";
  plain.require_integer = plain.no_float = false;
  QC_ASSIGN(auto out, copy(model));
  out->file = model.file;
  QC_TRY(make_contract(*out, plain));
  return out;
}

Result<Ok> check_range(const Graph& graph, const std::string& symbol, int64_t size,
                       const Options& options) {
  const auto range = options.ranges.find(symbol);
  if (range == options.ranges.end()) return Ok{};
  if (size >= range->second.min && size <= range->second.max) return Ok{};
  return error(Code::dim, Loc{graph.file, {}, {}},
               "dimension '{}' of the inputs is {}, outside its range {} to {}", symbol, size,
               range->second.min, range->second.max);
}

Result<Ok> add_dims_of(const Graph& graph, const std::vector<Tensor>& inputs, Options& options) {
  QC_ASSIGN(Bindings sizes, bindings_for(graph, inputs));
  for (const auto& [symbol, size] : sizes) {
    QC_TRY(check_range(graph, symbol, size, options));
    if (!options.ranges.count(symbol)) options.dims.emplace(symbol, size);
  }
  return Ok{};
}

Result<Program> make_program(Graph& graph, const Options& options, const PassObserver& observe) {
  QC_ASSIGN(const Target target, target_of(options));
  PassContext context;
  PackedConstants constants;
  const Target here = target_here(target);
  return Lowerer(options, here, constants, observe).planned(graph, context);
}

Result<std::string> kernel_choices(const Graph& graph, const Options& options, size_t width) {
  QC_TRY(check_bound(graph, options));
  QC_ASSIGN(const Target target, target_of(options));
  std::string out;
  for (const Target& one : targets_of(target)) {
    PassContext context;
    PackedConstants constants;
    std::vector<KernelChoice> choices;
    QC_ASSIGN(auto copied, copy(graph));
    QC_TRY(Lowerer(options, one, constants).lowered(*copied, context, &choices));
    if (!target.targets.empty())
      out += fmt::format("{}for {}:\n", out.empty() ? "" : "\n", one.name);
    out += str(choices, width);
  }
  return out;
}

namespace {
/// What parts of a module say alike is said once.
void add_new(const std::vector<std::string>& lines, std::vector<std::string>& to) {
  for (const std::string& line : lines) {
    if (std::find(to.begin(), to.end(), line) == to.end()) to.push_back(line);
  }
}
}  // namespace

Result<Module> make_module(Graph& graph, const Options& options, PassContext& noted,
                           const PassObserver& observe) {
  QC_ASSIGN(const Target target, target_of(options));
  PackedConstants constants;
  Module module;
  const std::vector<Target> targets = targets_of(target);
  for (const Target& one : targets) {
    // Passes are shown once, for the best part.
    const Lowerer lowerer(options, one, constants,
                          module.programs.empty() ? observe : PassObserver{});
    PassContext context;
    // The last part takes the graph itself: a copy of a large one costs memory.
    std::unique_ptr<Graph> copied;
    if (&one != &targets.back()) {
      QC_ASSIGN(copied, copy(graph));
    }
    QC_ASSIGN(Program program, lowerer.planned(copied ? *copied : graph, context));
    module.programs.push_back({one, std::move(program)});
    noted.buckets = context.buckets;
    add_new(context.remarks, noted.remarks);
    add_new(context.warnings, noted.warnings);
  }
  // A caller has one arena for all parts.
  int64_t arena = 0;
  for (const Module::TargetProgram& one : module.programs)
    arena = std::max(arena, one.program.arena_bytes);
  for (Module::TargetProgram& one : module.programs) one.program.arena_bytes = arena;
  return module;
}

Result<ProjectOptions> project_options(const Options& options, const std::string& model_file) {
  ProjectOptions out;
  out.name = options.name;
  if (out.name.empty()) out.name = project_name(std::filesystem::path(model_file).stem().string());
  out.weights = options.weights == "incbin" ? WeightStorage::incbin
                : options.weights == "file" ? WeightStorage::file
                                            : WeightStorage::literal;
  out.specialise = options.specialise == "size" ? Specialise::size : Specialise::speed;
  QC_ASSIGN(const Target target, target_of(options));
  out.machine = target.machine;
  out.threads = options.threads;
  out.check_indices = options.check_indices;
  out.single_file = options.single_file;
  std::vector<std::string> left_out;
  for (const Pass& pass : pipeline()) {
    if (is_repeat(pass)) continue;
    const auto& off = options.disabled_passes;
    if (pass.can_skip && std::find(off.begin(), off.end(), pass.name) != off.end()) {
      left_out.push_back(pass.name);
    }
  }
  out.left_out = fmt::format("{}", fmt::join(left_out, ", "));
  return out;
}

Result<CompileResult> compile_project(Graph& graph, const Options& options, const std::string& dir,
                                      const std::vector<Tensor>* inputs,
                                      const PassObserver& observe) {
  QC_ASSIGN(ProjectOptions project, project_options(options, graph.file));
  if (project.check_indices) project.index_checks = index_checks(graph);
  Vectors vectors;
  if (inputs) {
    QC_ASSIGN(RunResult expected, interpret(graph, *inputs));
    vectors = {*inputs, std::move(expected.outputs), {}};
  }
  PassContext context;
  QC_ASSIGN(const Module module, make_module(graph, options, context, observe));
  for (const auto& [name, own] : context.buckets) project.buckets[name] = own.sizes;
  if (inputs) {
    QC_ASSIGN(const Bindings sizes, bindings_for(graph, *inputs));
    for (const FreeDim& d : module.program().dims) vectors.dims.push_back(sizes.at(d.name));
  }
  const Backend& backend = backend_of(module.programs.front().target);
  const std::string what = fmt::format("writing {}", backend.title());
  const Doing doing(what.c_str());
  QC_ASSIGN(FileSet files, FileSet::create(dir, options.force ? Overwrite::any : Overwrite::own));
  CompileResult result{std::move(files), {}, project.name, {}, {}, {}};
  QC_ASSIGN(result.report,
            backend.write(module, project, inputs ? &vectors : nullptr, result.files));
  result.source = project.name + std::string(backend.extension());
  result.remarks = std::move(context.remarks);
  result.warnings = std::move(context.warnings);
  if (options.threads && !has_parallel_steps(module))
    result.warnings.push_back("no step is large enough to be split among threads");
  for (const std::string& constant : result.report.not_finite) {
    result.warnings.push_back(
        fmt::format("constant '{}' holds NaN or infinity, and so will results", constant));
  }
  return result;
}

}  // namespace qc
