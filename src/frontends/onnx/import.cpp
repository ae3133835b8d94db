#include "frontends/onnx/import.h"

#include "frontends/common/unique_names.h"
#include "frontends/onnx/importer.h"
#include "frontends/onnx/operands.h"
#include "support/budget.h"
#include "support/located.h"

namespace qc::onnx {
namespace {
// Most nodes a model may have once its functions are inlined.
constexpr int64_t kMaxNodes = int64_t{1} << 22;
}  // namespace

Importer::Importer(const Model& model, const ImportOptions& options)
    : model_(model),
      file_(model.path),
      options_(options),
      reader_(std::make_shared<TensorReader>(model.file)),
      types_(options.dims, model.graph.inputs) {
  top_.opsets = &model.opsets;
  for (const ValueInfo& info : model.graph.value_infos) declared_[info.name] = &info;
  for (const FunctionProto& f : model.functions) {
    functions_.emplace(FunctionKey{f.domain, f.name, f.overload}, &f);
  }
}

Result<std::unique_ptr<Graph>> Importer::run() {
  auto graph = std::make_unique<Graph>();
  graph->name = std::string(model_.graph.name);
  graph->file = model_.path;
  graph->dot = options_.dot;
  main_ = graph.get();
  QC_TRY(version("", top_, file_loc()));
  Scope scope(*graph, reader_);
  QC_TRY(scope.add_initializers(model_.graph, file_loc()));
  QC_TRY(graph_inputs(scope));
  if (options_.inputs_only) return graph;
  std::vector<std::string_view> outputs;
  for (const ValueInfo& info : model_.graph.outputs) outputs.push_back(info.name);
  QC_TRY(body(model_.graph.nodes, outputs, scope, top_));
  QC_TRY(graph_outputs(scope));
  graph->sweep();
  return graph;
}

Result<Ok> Importer::graph_inputs(Scope& scope) {
  std::set<std::string_view> seen;
  for (const ValueInfo& info : model_.graph.inputs) {
    if (!seen.insert(info.name).second) {
      return error(Code::graph, file_loc(), "input '{}' is defined twice", info.name);
    }
    // Files of IR version 3 list every initializer as an input; later ones as a default value.
    if (scope.has_initializer(info.name)) continue;
    if (auto it = options_.constants.find(info.name); it != options_.constants.end()) {
      scope.define(info.name, scope.graph().constant(it->second, std::string(info.name)));
      continue;
    }
    QC_ASSIGN(Type type, types_.read(info, file_loc()));
    scope.define(info.name, scope.graph().add_input(std::string(info.name), std::move(type)));
  }
  return types_.check_bindings(file_loc());
}

Result<Ok> Importer::graph_outputs(Scope& scope) {
  std::vector<std::string> names;
  Values values;
  for (const ValueInfo& info : model_.graph.outputs) {
    QC_ASSIGN(Value * value, scope.find(info.name));
    QC_TRY(check_declared(info, value->type(), file_loc()));
    names.emplace_back(info.name);
    values.push_back(value);
  }
  // The counts follow the model's own outputs, which keep their places and names.
  for (size_t i = 0; i < model_.graph.outputs.size(); ++i) {
    const auto found = counts_.find(values[i]);
    if (found == counts_.end()) continue;
    names.push_back(names[i] + "_count");
    values.push_back(found->second);
  }
  names = unique_names(std::move(names));
  for (size_t i = 0; i < names.size(); ++i) scope.graph().add_output(names[i], values[i]);
  return Ok{};
}

Result<Ok> Importer::body(std::span<const NodeProto> nodes,
                          const std::vector<std::string_view>& outputs, Scope& scope,
                          const Env& env) {
  // Ordering looks at all nodes, also at those that nobody reads.
  spend(Cost::work, static_cast<int64_t>(nodes.size()) * kNodeWork);
  auto plan = schedule(nodes, outputs,
                       {.local = [&](std::string_view name) { return scope.local(name); },
                        .outer = [&](std::string_view name) { return scope.outer(name); },
                        .loc = [&](const NodeProto& n) { return loc(n, env); }});
  if (!plan.ok()) {
    if (plan.diag().loc.file.empty()) plan.diag().loc = file_loc();
    return std::move(plan).diag();
  }
  QC_TRY(check_supported(plan->nodes, env));
  scope.reserve(plan->nodes.size());
  for (const NodeProto* n : plan->nodes) {
    if (++imported_ > kMaxNodes) {
      return error(Code::limit, file_loc(), "more than 2^22 nodes after inlining functions");
    }
    QC_TRY(node(*n, *plan, scope, env));
  }
  return Ok{};
}

Result<Ok> Importer::node(const NodeProto& node, const Schedule& plan, Scope& scope,
                          const Env& env) {
  spend(Cost::work, 4 * kNodeWork);
  if (const FunctionProto* function = function_of(node)) {
    return inlined(*function, node, plan, scope, env);
  }
  // Regions read what their node was given, which is looked at here.
  if (!counts_.empty() && &scope.graph() == main_) QC_TRY(check_reads(node, scope, env));
  if (node.domain.empty() && node.op_type == "Constant") {
    QC_ASSIGN(Value * value, constant_node(node, scope, env));
    return define(node, {value}, plan, scope, env);
  }
  if (Handler handler = control_flow(node)) {
    QC_ASSIGN(Values results, (this->*handler)(node, scope, env));
    return define(node, results, plan, scope, env);
  }
  if (makes_sequences(node)) return sequence_node(node, plan, scope, env);
  return by_row(node, plan, scope, env);
}

Result<Ok> Importer::by_row(const NodeProto& node, const Schedule& plan, Scope& scope,
                            const Env& env) {
  ForeignNode foreign;
  foreign.loc = loc(node, env);
  foreign.domain = std::string(node.domain);
  foreign.op = std::string(node.op_type);
  foreign.outputs = node.outputs.size();
  QC_ASSIGN(foreign.version, version(node.domain, env, foreign.loc));
  QC_ASSIGN(foreign.inputs, operands(scope, node.inputs));
  const size_t needed =
      required_operands(foreign.domain, foreign.op, foreign.version, foreign.inputs.size());
  for (size_t i = 0; i < needed; ++i) {
    if (i >= foreign.inputs.size() || !foreign.inputs[i]) {
      return error(Code::graph, foreign.loc, "operand {} is missing", i);
    }
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    foreign.output_used.push_back(plan.reads(node, i));
  }
  for (const AttributeProto& a : node.attributes) {
    const AttributeProto* resolved = env.resolve(a);
    if (!resolved) continue;
    QC_ASSIGN(Arg arg, argument(*resolved, foreign.loc));
    foreign.args.emplace_back(a.name, std::move(arg));
  }
  const ImportRow* row = import_table().find(foreign.domain, foreign.op, foreign.version);
  QC_CHECK(row != nullptr, "an unsupported op was not reported");
  Graph& graph = scope.graph();
  Node* before = graph.last();
  Import import(graph, foreign);
  QC_ASSIGN(Values results, located(row->import(import), foreign.loc));
  const bool counted = counts_rows(results);
  QC_TRY(fold_new_nodes(graph, before, results));
  if (counted) QC_TRY(note_count(results, foreign.loc, scope));
  return define(node, results, plan, scope, env);
}

Result<Ok> Importer::define(const NodeProto& node, const Values& results, const Schedule& plan,
                            Scope& scope, const Env& env) {
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const std::string_view name = node.outputs[i];
    if (!plan.reads(node, i)) continue;
    if (i >= results.size() || !results[i]) {
      return error(Code::unsupported, loc(node, env), "output {} ('{}') is not supported", i, name);
    }
    Value* value = results[i];
    if (value->def() && value->name().empty()) {
      scope.graph().set_name(value, env.prefix + std::string(name));
    }
    if (auto it = declared_.find(name); it != declared_.end() && &env == &top_) {
      QC_TRY(check_declared(*it->second, value->type(), loc(node, env)));
    }
    scope.define(name, value);
  }
  return Ok{};
}

std::string Importer::node_name(const NodeProto& node, const Env& env) {
  if (!node.name.empty()) return env.prefix + std::string(node.name);
  std::string out = env.prefix + std::string(node.op_type);
  if (!node.outputs.empty()) out += "_" + std::string(node.outputs[0]);
  return out;
}

Loc Importer::loc(const NodeProto& node, const Env& env) const {
  return Loc{file_, {node_name(node, env)}, node.op_type};
}

Result<int> Importer::version(std::string_view domain, const Env& env, const Loc& loc) const {
  for (const auto* opsets : {env.opsets, &model_.opsets}) {
    for (const OpsetId& id : *opsets) {
      if (id.domain != domain) continue;
      if (id.version < 1 || (domain.empty() && id.version > kNewestOpset)) {
        return error(Code::unsupported, loc, "opset {} of domain '{}'; the newest known is {}",
                     id.version, domain.empty() ? "ai.onnx" : domain, kNewestOpset);
      }
      return static_cast<int>(std::min<int64_t>(id.version, 1 << 20));
    }
  }
  return 1;  // files of IR version 1 and 2 name no opsets
}

Result<std::unique_ptr<Graph>> import_model(const Model& model, const ImportOptions& options) {
  return Importer(model, options).run();
}

Result<std::unique_ptr<Graph>> load(std::shared_ptr<const MappedFile> file, const std::string& path,
                                    const ImportOptions& options) {
  QC_ASSIGN(Model model, parse_model(file->bytes(), path));
  model.file = std::move(file);
  return import_model(model, options);
}

Result<std::unique_ptr<Graph>> load(const std::string& path, const ImportOptions& options) {
  QC_ASSIGN(auto file, MappedFile::open(path));
  return load(std::move(file), path, options);
}

}  // namespace qc::onnx
