// Inlining of model-local functions.
#include "frontends/onnx/importer.h"

namespace qc::onnx {
namespace {
constexpr size_t kMaxCallDepth = 64;
constexpr size_t kMaxPrefix = 1 << 14;  // characters before the names of nodes
}  // namespace

const FunctionProto* Importer::function_of(const NodeProto& node) const {
  auto found = functions_.find({node.domain, node.op_type, node.overload});
  return found == functions_.end() ? nullptr : found->second;
}

Result<Ok> Importer::inlined(const FunctionProto& function, const NodeProto& node,
                             const Schedule& plan, Scope& scope, const Env& env) {
  const Loc at = loc(node, env);
  if (active_.size() >= kMaxCallDepth) {
    return error(Code::limit, at, "functions call each other more than {} deep", kMaxCallDepth);
  }
  if (!active_.insert(&function).second) {
    return error(Code::graph, at, "function '{}' calls itself", function.name);
  }
  if (node.inputs.size() > function.inputs.size() ||
      node.outputs.size() > function.outputs.size()) {
    return error(Code::graph, at, "function takes {} operands and gives {} results, got {} and {}",
                 function.inputs.size(), function.outputs.size(), node.inputs.size(),
                 node.outputs.size());
  }

  Env inner;
  inner.opsets = &function.opsets;
  inner.prefix = node_name(node, env) + "/";
  if (inner.prefix.size() > kMaxPrefix) {
    return error(Code::limit, file_loc(),
                 "names of calls inside calls grow beyond {} characters: '{}...'", kMaxPrefix,
                 inner.prefix.substr(0, 64));
  }
  for (const AttributeProto& a : function.attribute_defaults) inner.attributes[a.name] = &a;
  for (const AttributeProto& a : node.attributes) {
    if (const AttributeProto* value = env.resolve(a)) inner.attributes[a.name] = value;
  }
  Scope body_scope(scope.graph(), reader_);
  QC_ASSIGN(Values actual, operands(scope, node.inputs));
  actual.resize(function.inputs.size());
  for (size_t i = 0; i < actual.size(); ++i) body_scope.define(function.inputs[i], actual[i]);
  // Only the results somebody reads are computed.
  std::vector<std::string_view> outputs;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (plan.reads(node, i)) outputs.push_back(function.outputs[i]);
  }
  QC_TRY(body(function.nodes, outputs, body_scope, inner));
  Values results(node.outputs.size());
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!plan.reads(node, i)) continue;
    QC_ASSIGN(results[i], body_scope.find(function.outputs[i]));
  }
  active_.erase(&function);
  return define(node, results, plan, scope, env);
}

}  // namespace qc::onnx
