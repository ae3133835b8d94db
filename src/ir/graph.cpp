#include "ir/graph.h"

#include <algorithm>
#include <set>
#include <utility>

#include "ir/guard_text.h"
#include "ir/op_table.h"
#include "support/budget.h"

namespace qc {
namespace {

Diag beyond(const Loc& loc) { return error(Code::dim, loc, "a size is beyond 64 bits"); }

/// The types a node's inference gives; sizes that do not fit would wrap.
Result<std::vector<Type>> inferred(const Node& node) {
  const uint64_t overflows = Dim::overflows();
  QC_ASSIGN(std::vector<Type> types, node.infer());
  if (Dim::overflows() != overflows) return beyond(node.loc());
  return types;
}

}  // namespace

Graph::Graph(std::shared_ptr<ConstantPool> pool) : pool_(std::move(pool)) {}

std::unique_ptr<Graph> Graph::new_region() const {
  auto out = std::make_unique<Graph>(pool_);
  out->dot = dot;
  return out;
}

void Graph::set_dot(DotStep step) {
  for_each_graph(*this, [&](Graph& g) { g.dot = step; });
}

SymbolBounds Graph::symbol_bounds() const {
  SymbolBounds out;
  for (const auto& [symbol, range] : dim_ranges) out[symbol] = {range.min, range.max};
  return out;
}

Graph::~Graph() {
  for (Node* n = first_; n != nullptr;) {
    Node* next = n->next_;
    delete n;
    n = next;
  }
}

Value* Graph::new_value(Type type) {
  free_values_.push_back(std::make_unique<Value>());
  Value* v = free_values_.back().get();
  init(*v, std::move(type));
  return v;
}

void Graph::init(Value& value, Type type) {
  value.type_ = std::move(type);
  value.graph_ = this;
  value.number_ = value_bound_++;
}

Value* Graph::add_input(std::string name, Type type) {
  Value* v = new_value(std::move(type));
  v->name_ = std::move(name);
  input_list_.push_back(v);
  return v;
}

void Graph::add_output(std::string name, Value* value) {
  outputs_.push_back({std::move(name), value});
  ++value->pinned_;
}

void Graph::set_output(size_t i, Value* value) {
  --outputs_[i].value->pinned_;
  outputs_[i].value = value;
  ++value->pinned_;
}

Value* Graph::add_state(std::string name, ConstId initial) {
  Value* in = new_value(pool_->type(initial));
  in->name_ = name;
  states_.push_back({std::move(name), in, in, initial});
  ++in->pinned_;
  return in;
}

void Graph::set_state_out(size_t i, Value* value) {
  --states_[i].out->pinned_;
  states_[i].out = value;
  ++value->pinned_;
}

void Graph::freeze_input(Value* input, Tensor tensor) {
  replace_uses(input, constant(std::move(tensor), input->name()));
  std::erase(input_list_, input);
}

void Graph::expose_states() {
  std::set<std::string> in_names, out_names;
  for (const Value* v : input_list_) in_names.insert(v->name());
  for (const Output& o : outputs_) out_names.insert(o.name);
  auto free_name = [](std::string name, std::set<std::string>& taken) {
    while (!taken.insert(name).second) name += "_state";
    return name;
  };
  std::vector<std::pair<std::string, std::string>> names;
  for (const State& s : states_)
    names.emplace_back(free_name(s.name, in_names), free_name(s.name, out_names));
  input_list_.reserve(input_list_.size() + states_.size());
  outputs_.reserve(outputs_.size() + states_.size());
  for (size_t i = 0; i < states_.size(); ++i) {  // nothing here needs memory
    const State& s = states_[i];
    s.in->name_ = std::move(names[i].first);
    input_list_.push_back(s.in);
    outputs_.push_back({std::move(names[i].second), s.out});  // which stays pinned
  }
  states_.clear();
}

Value* Graph::constant(ConstId id, std::shared_ptr<const Format> format) {
  Type type = pool_->type(id);
  type.format = std::move(format);
  std::vector<Value*>& known = constants_[id];
  for (Value* v : known) {
    if (v->type().quant() == type.quant()) return v;
  }
  Value* v = new_value(std::move(type));
  v->constant_ = id;
  v->name_ = pool_->name(id);
  known.push_back(v);
  return v;
}

Value* Graph::constant(Tensor tensor, std::string name) {
  return constant(pool_->add(std::move(tensor), std::move(name)));
}

void Graph::link(Use& use, Value* value) {
  QC_CHECK(value == nullptr || value->graph_ == this, "operand belongs to another graph");
  use.value = value;
  use.prev = nullptr;
  use.next = nullptr;
  if (value == nullptr) return;
  use.next = value->first_use_;
  if (use.next) use.next->prev = &use;
  value->first_use_ = &use;
}

void Graph::unlink(Use& use) {
  if (use.value == nullptr) return;
  if (use.prev)
    use.prev->next = use.next;
  else
    use.value->first_use_ = use.next;
  if (use.next) use.next->prev = use.prev;
  use.value = nullptr;
}

void Graph::insert(Node* node, Node* before) {
  node->next_ = before;
  node->prev_ = before ? before->prev_ : last_;
  if (node->prev_)
    node->prev_->next_ = node;
  else
    first_ = node;
  if (before)
    before->prev_ = node;
  else
    last_ = node;
}

void Graph::detach(Node* node) {
  if (node->prev_)
    node->prev_->next_ = node->next_;
  else
    first_ = node->next_;
  if (node->next_)
    node->next_->prev_ = node->prev_;
  else
    last_ = node->prev_;
}

Result<Node*> Graph::add(std::unique_ptr<Node> owned, std::vector<Value*> inputs, Loc loc,
                         Node* before) {
  Node* node = owned.get();
  const OpInfo& op = node->info();
  if (loc.op.empty()) loc.op = op.name;
  while (!inputs.empty() && inputs.back() == nullptr) inputs.pop_back();
  const int n = static_cast<int>(inputs.size());
  if (n < op.min_inputs || (op.max_inputs >= 0 && n > op.max_inputs)) {
    return error(Code::graph, loc, "takes {} to {} operands, got {}", op.min_inputs, op.max_inputs,
                 n);
  }
  for (int i = 0; i < op.min_inputs; ++i) {
    if (inputs[static_cast<size_t>(i)] == nullptr) {
      return error(Code::graph, loc, "operand {} is missing", i);
    }
  }
  node->graph_ = this;
  node->loc_ = std::move(loc);
  const Doing doing("adding a node", &node->loc_);
  spend(Cost::work, kNodeWork + 16 * n);
  // A node that does not come into the graph leaves no use behind, whether inference fails or
  // throws.
  struct Unlink {
    Graph* graph;
    Node* node;
    ~Unlink() {
      if (node) graph->set_inputs(node, {});
    }
  } unlink_unless_added{this, node};
  set_inputs(node, std::move(inputs));
  QC_ASSIGN(auto types, inferred(*node));
  node->outputs_ = std::make_unique<Value[]>(types.size());
  node->output_count_ = static_cast<uint32_t>(types.size());
  for (uint32_t i = 0; i < node->output_count_; ++i) {
    Value& v = node->outputs_[i];
    init(v, std::move(types[i]));
    v.def_ = node;
    v.index_ = i;
  }
  if (node->output_count_ > 0) node->outputs_[0].contents_ = node->contents();
  unlink_unless_added.node = nullptr;
  insert(owned.release(), before);
  ++count_;
  may_have_regions_ = may_have_regions_ || !node->regions_.empty();
  return node;
}

Result<Value*> Graph::emit(std::string_view op, std::vector<Value*> inputs, const AttrMap& attrs,
                           Loc loc, Node* before) {
  const OpEntry* entry = op_table().find(op);
  if (!entry) return error(Code::bug, loc, "there is no op '{}'", op);
  std::unique_ptr<Node> node = entry->create();
  QC_TRY(set_attrs(*node, attrs, loc));
  QC_ASSIGN(Node * added, add(std::move(node), std::move(inputs), std::move(loc), before));
  return added->output(0);
}

void Graph::replace_uses(Value* from, Value* to) {
  if (from == to) return;
  if (from->note_ >= 0) to->note_ = from->note_;
  while (Use* use = from->first_use_) {
    unlink(*use);
    link(*use, to);
  }
  for (size_t i = 0; from->pinned_ > 0 && i < outputs_.size(); ++i) {
    if (outputs_[i].value == from) set_output(i, to);
  }
  for (size_t i = 0; from->pinned_ > 0 && i < states_.size(); ++i) {
    if (states_[i].out == from) set_state_out(i, to);
  }
}

void Graph::set_input(Node* node, size_t i, Value* value) {
  unlink(node->inputs_[i]);
  link(node->inputs_[i], value);
}

void Graph::set_inputs(Node* node, std::vector<Value*> inputs) {
  // Memory may be refused: nothing changes before it is there. None is needed to drop operands.
  std::unique_ptr<Use[]> uses;
  if (!inputs.empty()) uses = std::make_unique<Use[]>(inputs.size());
  for (size_t i = 0; i < node->input_count_; ++i) unlink(node->inputs_[i]);
  node->inputs_ = std::move(uses);
  node->input_count_ = static_cast<uint32_t>(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    node->inputs_[i].user = node;
    node->inputs_[i].index = static_cast<uint32_t>(i);
    link(node->inputs_[i], inputs[i]);
  }
}

Result<Ok> Graph::reinfer(Node* node) {
  const Doing doing("inferring types", &node->loc_);
  spend(Cost::work, kNodeWork + 16 * static_cast<int64_t>(node->input_count_));
  QC_ASSIGN(auto types, inferred(*node));
  QC_CHECK(types.size() == node->output_count_, "inference changed the number of outputs");
  for (size_t i = 0; i < types.size(); ++i) {
    types[i].layout = node->outputs_[i].type_.layout;
    node->outputs_[i].type_ = std::move(types[i]);
  }
  if (node->output_count_ > 0) node->outputs_[0].contents_ = node->contents();
  return Ok{};
}

void Graph::move(Node* node, Node* before) {
  detach(node);
  insert(node, before);
}

void Graph::erase(Node* node) {
  for (size_t i = 0; i < node->output_count_; ++i) {
    QC_CHECK(!node->outputs_[i].has_uses(), "erasing a node that is still read");
  }
  set_inputs(node, {});
  detach(node);
  --count_;
  delete node;
}

void Graph::sweep() {
  for (Node* n = last_; n != nullptr;) {
    Node* prev = n->prev_;
    if (may_have_regions_) {
      for (const auto& region : n->regions_) region->sweep();
    }
    bool used = n->output_count_ == 0;
    for (size_t i = 0; i < n->output_count_; ++i) used = used || n->outputs_[i].has_uses();
    if (!used) erase(n);
    n = prev;
  }
}

std::vector<Node*> Graph::nodes() const {
  std::vector<Node*> out;
  out.reserve(count_);
  for (Node* n = first_; n; n = n->next_) out.push_back(n);
  return out;
}

namespace {
class BindVisitor : public AttrVisitor {
 public:
  explicit BindVisitor(const Bindings& bindings) : bindings_(bindings) {}

 protected:
  void visit(const char*, AttrValue& value, const AttrValue*) override {
    if (Dim* d = std::get_if<Dim>(&value)) *d = d->substitute(bindings_);
    if (Dims* list = std::get_if<Dims>(&value)) {
      for (Dim& d : *list) d = d.substitute(bindings_);
    }
  }

 private:
  const Bindings& bindings_;
};
}  // namespace

Result<Ok> Graph::check_guards(const Bindings& bindings) const {
  for (const DimGuard& guard : guards) {
    if (guard.substitute(bindings).holds().value_or(true)) continue;
    return error(Code::dim, Loc{file, {}, {}}, "{}", broken(guard, bindings));
  }
  return Ok{};
}

Result<Ok> Graph::bind(const Bindings& bindings) {
  const uint64_t overflows = Dim::overflows();
  QC_TRY(check_guards(bindings));
  for (DimGuard& guard : guards) guard = guard.substitute(bindings);
  std::erase_if(guards, [](const DimGuard& guard) { return guard.holds().has_value(); });
  for (const auto& v : free_values_) {
    for (Dim& d : v->type_.shape) d = d.substitute(bindings);
  }
  if (Dim::overflows() != overflows) return beyond(Loc{file, {}, {}});
  BindVisitor visitor(bindings);
  for (Node* n = first_; n; n = n->next_) {
    const uint64_t before = Dim::overflows();
    n->attrs(visitor);
    if (Dim::overflows() != before) return beyond(n->loc());
    for (const auto& region : n->regions_) QC_TRY(region->bind(bindings));
    QC_TRY(reinfer(n));
  }
  return Ok{};
}

std::vector<std::string> Graph::symbols() const {
  std::set<std::string> names;
  for (const Value* v : input_list_) {
    for (const Dim& d : v->shape()) d.collect_symbols(names);
  }
  return {names.begin(), names.end()};
}

}  // namespace qc
