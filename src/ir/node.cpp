#include "ir/node.h"

#include "ir/graph.h"

namespace qc {

Node::Node(const Node& other) : loc_(other.loc_) {}

Node::~Node() = default;

std::vector<Value*> Node::inputs() const {
  std::vector<Value*> out(input_count_);
  for (size_t i = 0; i < input_count_; ++i) out[i] = inputs_[i].value;
  return out;
}

const Type& Node::input_type(size_t i) const {
  QC_CHECK(input(i) != nullptr, "type of an omitted operand");
  return input(i)->type();
}

void Node::add_region(std::unique_ptr<Graph> region) {
  regions_.push_back(std::move(region));
  if (graph_) graph_->may_have_regions_ = true;
}

std::vector<Node*> Value::users() const {
  std::vector<Node*> out;
  for (const Use* u = first_use_; u; u = u->next) out.push_back(u->user);
  return out;
}

std::optional<Dims> known_ints(const Value* value) {
  constexpr int64_t kMax = 256;
  if (value->contents_) return value->contents_;
  if (!value->is_constant() || is_float(value->dtype())) return std::nullopt;
  ConstantPool& pool = value->graph()->pool();
  if (pool.byte_size(value->constant()) > kMax * 8) return std::nullopt;
  Result<Tensor> t = pool.get(value->constant());
  if (!t.ok()) return std::nullopt;
  Dims out;
  for (int64_t i = 0; i < t->size(); ++i) out.push_back(t->as_int(i));
  return out;
}

}  // namespace qc
