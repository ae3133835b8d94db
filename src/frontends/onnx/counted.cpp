// Results whose number of rows the data decide: they have room for the most there can be and a
// count. ONNX knows only the rows that are meant, so nothing but the caller may see the padding.
#include "frontends/onnx/importer.h"
#include "frontends/onnx/schedule.h"
#include "ir/row_count.h"

namespace qc::onnx {
namespace {

/// The first rows of a constant, as many as another says.
Result<Value*> cut(Graph& graph, const Value* rows, const Value* count) {
  QC_ASSIGN(const Tensor all, graph.pool().get(rows->constant()));
  QC_ASSIGN(const Tensor n, graph.pool().get(count->constant()));
  Ints shape = all.shape();
  shape[0] = n.as_int(0);
  Tensor meant(all.dtype(), shape);
  for (int64_t i = 0; i < meant.size(); ++i) meant.set_int(i, all.as_int(i));
  return graph.constant(std::move(meant));
}

}  // namespace

bool Importer::counts_rows(const Values& results) {
  return results.size() == 2 && results[0] && results[0]->def() &&
         dynamic_cast<const CountsRows*>(results[0]->def()) != nullptr;
}

Result<Ok> Importer::note_count(Values& results, const Loc& loc, Scope& scope) {
  if (results[0]->is_constant() && results[1]->is_constant()) {
    QC_ASSIGN(results[0], cut(scope.graph(), results[0], results[1]));
    return Ok{};
  }
  if (&scope.graph() != main_) {
    return error(Code::unsupported, loc,
                 "a number of rows that the data decide, in the body of a loop or branch");
  }
  counts_[results[0]] = results[1];
  return Ok{};
}

Result<Ok> Importer::check_reads(const NodeProto& node, Scope& scope, const Env& env) const {
  std::vector<std::string_view> names(node.inputs);
  for (const AttributeProto& a : node.attributes) {
    const AttributeProto* held = env.resolve(a);
    if (!held) continue;
    const auto add = [&](const GraphProto& graph) {
      for (std::string_view name : free_names(graph)) names.push_back(name);
    };
    if (held->g) add(*held->g);
    for (const GraphProto& graph : held->graphs) add(graph);
  }
  for (std::string_view name : names) {
    if (!scope.visible(name) || scope.has_initializer(name) || scope.sequence(name)) continue;
    QC_ASSIGN(const Value* value, scope.find(name));
    if (!counts_.contains(value)) continue;
    return error(Code::unsupported, loc(node, env),
                 "reads '{}', whose number of rows the data decide; such a result can only be an "
                 "output of the model: end the model there and do the rest in the application",
                 name);
  }
  return Ok{};
}

}  // namespace qc::onnx
