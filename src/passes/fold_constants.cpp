#include "passes/fold_constants.h"

#include <algorithm>
#include <unordered_map>

#include "interp/eval.h"

namespace qc {
namespace {

constexpr int64_t kEagerBytes = 64 * 1024;
constexpr int64_t kFreeBytes = 1024 * 1024;  // results up to this fold whatever they are made of
constexpr int64_t kMaxGrowth = 4;  // larger ones only up to this many times their operands
constexpr int kMaxRecorded = 32;   // evaluations one recorded constant may need

/// Results that shape inference knows although the operands are not constant.
bool fold_contents(Graph& graph, Node* node) {
  Value* out = node->output(0);
  if (is_float(out->dtype()) || !out->has_uses() || !all_static(out->shape())) return false;
  const std::optional<Dims> known = known_ints(out);
  if (!known || !all_static(*known)) return false;
  const std::vector<int64_t> shape = static_dims(out->shape());
  const Result<int64_t> size = checked_bytes(out->dtype(), shape);
  if (!size.ok() || *size != static_cast<int64_t>(known->size() * bytes(out->dtype())))
    return false;
  Tensor tensor(out->dtype(), shape);
  for (size_t i = 0; i < known->size(); ++i) {
    tensor.set_int(static_cast<int64_t>(i), (*known)[i].value());
  }
  graph.replace_uses(out, graph.constant(std::move(tensor)));
  return true;
}

struct Sizes {
  int64_t operands = 0;
  int64_t results = 0;
};

/// Sizes when all operands are constants and all results have known shapes.
std::optional<Sizes> foldable(const Graph& graph, const Node* node) {
  if (node->info().has(kRandom) || node->info().has(kKeepsConstant) || node->output_count() == 0)
    return std::nullopt;
  Sizes sizes;
  for (size_t i = 0; i < node->input_count(); ++i) {
    const Value* v = node->input(i);
    if (!v) continue;
    if (!v->is_constant()) return std::nullopt;
    sizes.operands += graph.pool().byte_size(v->constant());
  }
  for (size_t i = 0; i < node->output_count(); ++i) {
    const Type& type = node->output(i)->type();
    if (!all_static(type.shape) || type.format) return std::nullopt;
    const Result<int64_t> size = checked_bytes(type.dtype, static_dims(type.shape));
    if (!size.ok()) return std::nullopt;
    sizes.results += *size;
  }
  return sizes;
}

/// The name a result takes over: that of the largest constant it is made of.
std::string inherited_name(const ConstantPool& pool, const std::vector<Value*>& constants) {
  std::string name;
  int64_t most = -1;
  for (const Value* v : constants) {
    if (!v || pool.byte_size(v->constant()) <= most) continue;
    most = pool.byte_size(v->constant());
    name = pool.name(v->constant());
  }
  return name;
}

void note_sources(ConstantPool& pool, ConstId made, const std::vector<Value*>& operands) {
  for (const Value* v : operands) {
    if (v) pool.made_from(made, v->constant());
  }
}

/// Computes the results now. An evaluation that fails is left for the run to report.
bool fold_now(Graph& graph, Node* node) {
  std::vector<Tensor> operands(node->input_count());
  std::vector<const Tensor*> pointers(node->input_count(), nullptr);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!node->input(i)) continue;
    Result<Tensor> t = graph.pool().get(node->input(i)->constant());
    if (!t.ok()) return false;
    operands[i] = std::move(*t);
    pointers[i] = &operands[i];
  }
  Result<std::vector<Tensor>> results = eval_node(*node, std::move(pointers));
  if (!results.ok()) return false;
  for (size_t i = 0; i < results->size(); ++i) {
    Value* out = node->output(i);
    const bool large =
        (*results)[i].size() > 1;  // small ones are numbers, better unnamed and shared
    std::string name =
        out->name().empty() && large ? inherited_name(graph.pool(), node->inputs()) : out->name();
    Value* constant = graph.constant(std::move((*results)[i]), std::move(name));
    note_sources(graph.pool(), constant->constant(), node->inputs());
    graph.replace_uses(out, constant);
  }
  return true;
}

}  // namespace

// The results are recorded over a graph of their own with a clone of the node. The pool owns that
// graph, so it must not own the pool.
Result<std::vector<Value*>> record(Graph& graph, const Node& prototype,
                                   const std::vector<Value*>& constants) {
  ConstantPool* pool = &graph.pool();
  auto alone =
      std::make_shared<Graph>(std::shared_ptr<ConstantPool>(std::shared_ptr<void>(), pool));
  alone->dot = graph.dot;
  std::vector<Value*> inputs;
  for (const Value* v : constants) {
    inputs.push_back(v ? alone->constant(v->constant(), v->type().format) : nullptr);
  }
  const std::string name = inherited_name(*pool, constants);
  QC_ASSIGN(Node * clone, alone->add(prototype.clone(), std::move(inputs), prototype.loc()));
  std::vector<Value*> results;
  for (size_t i = 0; i < clone->output_count(); ++i) {
    auto make = [alone, clone, pool, i]() -> Result<Tensor> {
      std::unordered_map<ConstId, Tensor> operands;
      std::vector<const Tensor*> pointers;
      for (const Value* v : clone->inputs()) {
        pointers.push_back(nullptr);
        if (!v) continue;
        auto [it, fresh] = operands.try_emplace(v->constant());
        if (fresh) {
          QC_ASSIGN(it->second, pool->get(v->constant()));
        }
        pointers.back() = &it->second;
      }
      QC_ASSIGN(auto tensors, eval_node(*clone, std::move(pointers)));
      return std::move(tensors[i]);
    };
    const Value* out = clone->output(i);
    const ConstId id =
        pool->add_lazy(out->dtype(), static_dims(out->shape()), name, std::move(make));
    note_sources(*pool, id, constants);
    results.push_back(graph.constant(id, out->type().format));
  }
  return results;
}

Result<bool> fold_node(Graph& graph, Node* node) {
  const std::optional<Sizes> sizes = foldable(graph, node);
  if (!sizes) return node->output_count() > 0 && fold_contents(graph, node);
  // How long a loop takes does not show in its sizes.
  if (node->info().has(kHasRegions)) return false;
  if (std::max(sizes->operands, sizes->results) <= kEagerBytes) return fold_now(graph, node);
  if (sizes->results > std::max(kFreeBytes, kMaxGrowth * sizes->operands)) return false;
  QC_ASSIGN(auto recorded, record(graph, *node, node->inputs()));
  for (size_t i = 0; i < recorded.size(); ++i) graph.replace_uses(node->output(i), recorded[i]);
  return true;
}

Result<bool> fold_constants(Graph& graph, PassContext&) {
  bool changed = false;
  // A recorded constant above the size that the pool keeps is computed again by each that is
  // recorded over it, so the number of evaluations behind one is bounded.
  std::unordered_map<ConstId, int> evaluations;
  for (Node* node : graph.nodes()) {
    int behind = 1;
    bool constant = true;
    for (const Value* v : node->inputs()) {
      constant = constant && (!v || v->is_constant());
      if (!v || !v->is_constant()) continue;
      if (auto it = evaluations.find(v->constant()); it != evaluations.end()) behind += it->second;
    }
    if (constant && behind > kMaxRecorded) continue;
    const ConstId before = static_cast<ConstId>(graph.pool().size());
    QC_ASSIGN(bool folded, fold_node(graph, node));
    changed = changed || folded;
    for (ConstId id = before; id < graph.pool().size(); ++id) {
      if (graph.pool().byte_size(id) > kEagerBytes) evaluations[id] = behind;
    }
  }
  if (changed) graph.sweep();
  return changed;
}

}  // namespace qc
