#include "passes/fold_relayouts.h"

#include <fmt/format.h>

#include "ir/any_order.h"
#include "ir/capability.h"
#include "ir/writes_layout.h"

namespace qc {
namespace {

/// What stands between a product and a channels-last value.
struct Found {
  Node* view = nullptr;      // the first reshape
  Node* relayout = nullptr;  // in front of it
};

bool is_view(const Node* n) { return n && n->info().has(kReshapes) && n->input_count() == 1; }

/// Reshapes, each read once, that make one row of length k of all that an image of a relayout's
/// result has.
std::optional<Found> find(const Value* x, int64_t k) {
  Found found;
  while (x->has_one_use() && x->pinned() == 0 && is_view(x->def())) {
    found.view = x->def();
    x = found.view->input(0);
  }
  found.relayout = x->def();
  if (!found.view || !capability<IsRelayout>(found.relayout) || !x->has_one_use() ||
      x->pinned() > 0) {
    return std::nullopt;
  }
  const Type& from = found.relayout->input_type(0);
  if (from.layout != Layout::channels_last || x->type().layout != Layout::row_major ||
      (from.format && from.format->granularity != Granularity::tensor)) {
    return std::nullopt;
  }
  const Dim image = product(Dims(from.shape.begin() + 1, from.shape.end()));
  if (!(image == k) || !from.shape[1].is_static()) return std::nullopt;
  return found;
}

/// The weights with columns (channel, position) in the order (position, channel).
ConstId record_permuted(ConstantPool* pool, ConstId source, int64_t channels) {
  const Ints shape = pool->shape(source);
  const ConstId id = pool->add_lazy(
      pool->dtype(source), shape, pool->name(source) + ".nhwc", [=]() -> Result<Tensor> {
        QC_ASSIGN(const Tensor from, pool->get(source));
        Tensor to(from.dtype(), shape);
        const int64_t positions = shape[1] / channels;
        for (int64_t i = 0; i < from.size(); ++i) {
          const int64_t row = i / shape[1], c = i % shape[1] / positions, at = i % positions;
          to.set_int(row * shape[1] + at * channels + c, from.as_int(i));
        }
        return to;
      });
  pool->made_from(id, source);
  return id;
}

Value* permuted(Graph& graph, const Value* weights, int64_t channels, PassContext& context) {
  const ConstId source = weights->constant();
  const std::pair key(source, fmt::format("columns of {} channels, last", channels));
  std::map<std::pair<ConstId, std::string>, ConstId> own;
  auto& derived = context.derived ? *context.derived : own;
  auto it = derived.find(key);
  if (it == derived.end()) {
    it = derived.emplace(key, record_permuted(&graph.pool(), source, channels)).first;
  }
  return graph.constant(it->second, weights->type().format);
}

Result<bool> fold_into(Graph& graph, Node* product, PassContext& context) {
  const auto* sums = capability<AccumulatesInAnyOrder>(product);
  const int operand = sums ? sums->any_order_weights() : -1;
  if (operand < 0) return false;
  const Value* weights = product->input(static_cast<size_t>(operand));
  const std::optional<Found> found = find(product->input(0), weights->shape()[1].value());
  if (!found) return false;
  Value* x = found->relayout->input(0);
  const auto* relayout = capability<IsRelayout>(found->relayout);
  QC_ASSIGN(std::unique_ptr<Node> node, relayout->with_channels_at_the_end());
  QC_ASSIGN(Node * relaid,
            graph.add(std::move(node), {x}, found->relayout->loc(), found->relayout));
  const Type type = found->view->output()->type();
  graph.set_input(found->view, 0, relaid->output());
  // A view that describes its result relative to its operand cannot take another one.
  const Result<std::vector<Type>> inferred = found->view->infer();
  if (!inferred.ok() || !((*inferred)[0] == type)) {
    graph.set_input(found->view, 0, found->relayout->output());
    graph.erase(relaid);
    return false;
  }
  graph.set_input(product, static_cast<size_t>(operand),
                  permuted(graph, weights, x->shape()[1].value(), context));
  return true;
}

/// Lets what makes the operand of a relayout write the layout itself.
bool fold_before(Graph& graph, Node* relayout) {
  if (!capability<IsRelayout>(relayout)) return false;
  Value* x = relayout->input(0);
  auto* writer = capability<WritesLayout>(x->def());
  if (!writer || !x->has_one_use() || x->pinned() > 0 || !writer->can_write_layout()) return false;
  Type type = x->type();
  type.layout = relayout->output()->type().layout;
  writer->write_layout(type.layout);
  graph.set_type(x, std::move(type));
  graph.replace_uses(relayout->output(), x);
  return true;
}

}  // namespace

Result<bool> fold_relayouts(Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* n : graph.nodes()) {
    const bool before = fold_before(graph, n);
    QC_ASSIGN(const bool after, before ? Result<bool>(false) : fold_into(graph, n, context));
    changed = changed || before || after;
  }
  if (changed) graph.sweep();
  return changed;
}

}  // namespace qc
