#include "ir/rewrite.h"

#include <cmath>

namespace qc {

Value* Match::value(std::string_view slot) const {
  auto it = values_.find(slot);
  QC_CHECK(it != values_.end(), "no such slot in the match");
  return it->second;
}

Node* Match::node(std::string_view slot) const {
  auto it = nodes_.find(slot);
  QC_CHECK(it != nodes_.end(), "no such node slot in the match");
  return it->second;
}

std::optional<double> Match::scalar(std::string_view slot) const {
  Value* v = value(slot);
  if (!v->is_constant()) return std::nullopt;
  ConstantPool& pool = v->graph()->pool();
  for (int64_t d : pool.shape(v->constant())) {
    if (d != 1) return std::nullopt;
  }
  Result<Tensor> t = pool.get(v->constant());
  if (!t.ok()) return std::nullopt;
  return t->as_double(0);
}

Loc Match::loc() const {
  Loc loc;
  for (auto it = matched_.rbegin(); it != matched_.rend(); ++it) loc = join(loc, (*it)->loc());
  loc.op = {};
  return loc;
}

Pattern Pattern::any(std::string slot) {
  Pattern p;
  p.slot_ = std::move(slot);
  return p;
}

Pattern Pattern::constant(std::string slot, std::optional<double> value) {
  Pattern p;
  p.kind_ = Kind::constant;
  p.slot_ = std::move(slot);
  p.number_ = value;
  return p;
}

Pattern Pattern::op(std::string name, std::vector<Pattern> inputs, std::string slot) {
  Pattern p;
  p.kind_ = Kind::op;
  p.name_ = std::move(name);
  p.slot_ = std::move(slot);
  p.parts_ = std::move(inputs);
  return p;
}

Pattern Pattern::either(std::vector<Pattern> options) {
  Pattern p;
  p.kind_ = Kind::either;
  p.parts_ = std::move(options);
  return p;
}

Pattern Pattern::maybe(std::string name, Pattern input) {
  Pattern p;
  p.kind_ = Kind::maybe;
  p.name_ = std::move(name);
  p.parts_ = {std::move(input)};
  return p;
}

Pattern Pattern::when(std::function<bool(const Node&)> condition) && {
  condition_ = std::move(condition);
  return std::move(*this);
}

bool Pattern::match_value(Value* value, Match& m) const {
  if (value == nullptr) return false;
  switch (kind_) {
    case Kind::any:
      break;
    case Kind::constant: {
      if (!value->is_constant()) return false;
      if (number_) {
        ConstantPool& pool = value->graph()->pool();
        if (pool.byte_size(value->constant()) > 4096) return false;
        Result<Tensor> t = pool.get(value->constant());
        if (!t.ok() || t->size() == 0) return false;
        for (int64_t i = 0; i < t->size(); ++i) {
          if (!(std::abs(t->as_double(i) - *number_) <= 1e-6 * std::abs(*number_))) return false;
        }
      }
      break;
    }
    case Kind::op: {
      if (!value->def() || value->index() != 0) return false;
      return match_node(value->def(), m);
    }
    case Kind::either: {
      for (const Pattern& option : parts_) {
        Match trial = m;
        if (option.match_value(value, trial)) return m = std::move(trial), true;
      }
      return false;
    }
    case Kind::maybe: {
      Node* def = value->def();
      if (def && def->op() == name_ && def->input_count() == 1 && value->has_one_use()) {
        Match trial = m;
        trial.matched_.push_back(def);
        if (parts_[0].match_value(def->input(0), trial)) return m = std::move(trial), true;
      }
      return parts_[0].match_value(value, m);
    }
  }
  if (slot_.empty()) return true;
  auto [it, fresh] = m.values_.try_emplace(slot_, value);
  return fresh || it->second == value;
}

bool Pattern::match_node(Node* node, Match& m) const {
  if (node->op() != name_ || node->input_count() != parts_.size()) return false;
  if (condition_ && !condition_(*node)) return false;
  m.matched_.push_back(node);
  if (!slot_.empty()) {
    auto [it, fresh] = m.nodes_.try_emplace(slot_, node);
    if (!fresh && it->second != node) return false;
  }
  auto operands = [&](size_t a, size_t b, Match& trial) {
    for (size_t i = 0; i < parts_.size(); ++i) {
      const size_t j = i == 0 ? a : i == 1 ? b : i;
      if (!parts_[i].match_value(node->input(j), trial)) return false;
    }
    return true;
  };
  Match trial = m;
  if (operands(0, 1, trial)) return m = std::move(trial), true;
  if (parts_.size() >= 2 && node->info().has(kCommutative)) {
    trial = m;
    if (operands(1, 0, trial)) return m = std::move(trial), true;
  }
  return false;
}

bool Pattern::match(Node* node, Match& m) const {
  m = Match{};
  const bool found = kind_ == Kind::op
                         ? match_node(node, m)
                         : node->output_count() > 0 && match_value(node->output(0), m);
  if (!found) return false;
  m.root_ = node;
  // Every matched node but the root disappears, so all its readers must be part of the match.
  for (Node* inner : m.matched_) {
    if (inner == node) continue;
    for (size_t i = 0; i < inner->output_count(); ++i) {
      if (inner->output(i)->pinned() > 0) return false;
      for (const Use* u = inner->output(i)->first_use(); u; u = u->next) {
        bool own = false;
        for (Node* n : m.matched_) own = own || n == u->user;
        if (!own) return false;
      }
    }
  }
  return true;
}

std::vector<std::string> Pattern::roots() const {
  if (kind_ == Kind::op) return {name_};
  std::vector<std::string> out;
  if (kind_ == Kind::maybe) out.push_back(name_);
  for (const Pattern& p : parts_) {
    for (std::string& r : p.roots()) out.push_back(std::move(r));
  }
  return out;
}

void RewriteTable::add(std::span<const Rewrite> rewrites) {
  for (const Rewrite& r : rewrites) {
    all_.push_back(std::make_unique<Rewrite>(r));
    for (const std::string& root : r.pattern.roots()) by_root_[root].push_back(all_.back().get());
  }
}

std::span<const Rewrite* const> RewriteTable::for_root(std::string_view op) const {
  auto it = by_root_.find(op);
  if (it == by_root_.end()) return {};
  return it->second;
}

RewriteTable& rewrite_table() {
  static RewriteTable table;
  return table;
}

}  // namespace qc
