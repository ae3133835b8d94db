#include "driver/graph_edit.h"

#include <algorithm>

#include "ir/op_table.h"
#include "ir/text_reader.h"
#include "passes/pipeline.h"

namespace qc {
namespace {

AttrValue attr_of(const std::string& text) {
  TextReader reader(text);
  auto value = reader.attr();
  return value.ok() && reader.at_end() ? *value : AttrValue(text);
}

}  // namespace

GraphEdit::GraphEdit(Graph& graph) : graph_(graph) {
  for (Value* v : graph.inputs()) know(v);
  for (const State& s : graph.states()) know(s.in);
  for (const Output& o : graph.outputs()) know(o.value);
  ranks_.resize(graph.value_bound());
  size_t rank = 0;
  for (Node* n = graph.first(); n; n = n->next()) {
    ranks_[n->output()->number()] = ++rank;
    for (Value* v : n->inputs()) know(v);
    for (size_t i = 0; i < n->output_count(); ++i) know(n->output(i));
  }
}

void GraphEdit::know(Value* value) {
  if (!value) return;
  if (known_.size() <= value->number()) known_.resize(value->number() + 1);
  known_[value->number()] = value;
}

Result<Value*> GraphEdit::find(int64_t number) const {
  const auto i = static_cast<size_t>(number);
  if (number >= 0 && i < known_.size() && known_[i]) return known_[i];
  return error(Code::usage, Loc{graph_.file, {}, {}}, "the graph has no value {}", number);
}

Result<Value*> GraphEdit::constant(Tensor tensor) {
  Value* made = graph_.constant(std::move(tensor));
  know(made);
  return made;
}

Result<Node*> GraphEdit::insert(const std::string& op, std::vector<Value*> inputs,
                                const std::map<std::string, std::string>& attributes,
                                const std::string& name) {
  Loc loc{graph_.file, {}, op};
  if (!name.empty()) {
    loc.names = {name};
  } else if (!inputs.empty() && inputs[0] && inputs[0]->def()) {
    loc.names = inputs[0]->def()->loc().names;
  }
  if (!op_table().find(op)) return error(Code::usage, loc, "there is no op '{}'", op);
  AttrMap attrs;
  for (const auto& [key, text] : attributes) attrs[key] = attr_of(text);
  QC_ASSIGN(Value * made, graph_.emit(op, std::move(inputs), attrs, loc));
  Node* node = made->def();
  size_t highest = 0;
  for (const Value* v : node->inputs()) {
    if (v && v->def()) highest = std::max(highest, rank(v->def()));
  }
  ranks_.resize(graph_.value_bound());
  ranks_[made->number()] = highest;
  for (size_t i = 0; i < node->output_count(); ++i) know(node->output(i));
  return node;
}

std::unordered_set<const Node*> GraphEdit::between(const Value* from, const Value* to) const {
  const size_t first = from->def() ? rank(from->def()) : 0;
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> open;
  const auto visit = [&](const Value* v) {
    if (!v || v == from || !v->def()) return;
    if (ranked_ && rank(v->def()) < first) return;
    if (seen.insert(v->def()).second) open.push_back(v->def());
  };
  visit(to);
  while (!open.empty()) {
    const Node* n = open.back();
    open.pop_back();
    for (size_t i = 0; i < n->input_count(); ++i) visit(n->input(i));
  }
  return seen;
}

Result<Ok> GraphEdit::replace(Value* from, Value* to) {
  if (from == to) return Ok{};
  const auto makers = between(from, to);
  for (Node* user : from->users()) {
    if (makers.count(user)) continue;
    if (to->def() && rank(user) < rank(to->def())) ranked_ = false;
    for (size_t i = 0; i < user->input_count(); ++i) {
      if (user->input(i) == from) graph_.set_input(user, i, to);
    }
  }
  for (size_t i = 0; i < graph_.outputs().size(); ++i) {
    if (graph_.outputs()[i].value == from) graph_.set_output(i, to);
  }
  for (size_t i = 0; i < graph_.states().size(); ++i) {
    if (graph_.states()[i].out == from) graph_.set_state_out(i, to);
  }
  return Ok{};
}

Result<Ok> GraphEdit::erase(Node* node) {
  for (size_t i = 0; i < node->output_count(); ++i) {
    if (node->output(i)->has_uses()) {
      return error(Code::usage, node->loc(),
                   "its result {} is still read: replace it by another value before", i);
    }
  }
  for (size_t i = 0; i < node->output_count(); ++i) known_[node->output(i)->number()] = nullptr;
  graph_.erase(node);
  return Ok{};
}

void GraphEdit::order() {
  enum class Mark : uint8_t { none, open, done };
  std::vector<Mark> marks(graph_.value_bound(), Mark::none);
  const auto mark = [&](const Node* n) -> Mark& { return marks[n->output()->number()]; };
  std::vector<std::pair<Node*, size_t>> path;  // with the operand that comes next
  for (Node* start : graph_.nodes()) {
    if (mark(start) == Mark::none) path.emplace_back(start, 0);
    while (!path.empty()) {
      auto& [n, next] = path.back();
      mark(n) = Mark::open;
      const Value* v = next < n->input_count() ? n->input(next) : nullptr;
      if (next == n->input_count()) {
        mark(n) = Mark::done;
        graph_.move(n, nullptr);
        path.pop_back();
      } else if (++next; v && v->def()) {
        QC_CHECK(mark(v->def()) != Mark::open, "edits made a cycle");
        if (mark(v->def()) == Mark::none) path.emplace_back(v->def(), 0);
      }
    }
  }
}

Result<Ok> GraphEdit::finish() {
  order();
  for (Node* n = graph_.first(); n; n = n->next()) {
    QC_ASSIGN(const auto types, n->infer());
    if (types.size() != n->output_count()) {
      return error(Code::graph, n->loc(), "it would have {} results and has {}", types.size(),
                   n->output_count());
    }
    QC_TRY(graph_.reinfer(n));
  }
  return verify(graph_);
}

Result<std::unique_ptr<Graph>> normalised(const Graph& model, const quantc::Options& options) {
  QC_ASSIGN(auto out, copy(model));
  PassOptions passes;
  passes.verify = options.verify;
  passes.last = PassStage::normalise;
  PassContext context;
  QC_TRY(run_passes(*out, passes, context));
  return out;
}

}  // namespace qc
