#include "frontends/onnx/schedule.h"

#include <unordered_set>

#include "frontends/onnx/names.h"
#include "support/budget.h"

namespace qc::onnx {
namespace {

/// Calls `visit` with every name the node reads, those its nested graphs capture included.
template <class F>
void for_each_read(const NodeProto& node, F&& visit) {
  for (std::string_view name : node.inputs) {
    if (!name.empty()) visit(name);
  }
  for (const AttributeProto& a : node.attributes) {
    if (a.g) {
      for (std::string_view name : free_names(*a.g)) visit(name);
    }
    for (const GraphProto& g : a.graphs) {
      for (std::string_view name : free_names(g)) visit(name);
    }
  }
}

/// Depth-first ordering with an explicit stack: a model may be one chain of 100,000 nodes.
class Sorter {
 public:
  Sorter(std::span<const NodeProto> nodes, const Surroundings& around)
      : nodes_(nodes),
        around_(around),
        slots_(nodes),
        maker_(slots_.first.back()),
        state_(nodes.size(), State::unseen),
        reads_(nodes.size()) {
    names_.reserve(maker_.size());
    slot_of_.reserve(maker_.size());
    order_.reserve(nodes.size());
  }

  Result<Ok> define() {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      size_t slot = slots_.first[i];
      for (std::string_view name : nodes_[i].outputs) {
        maker_[slot] = i;
        const size_t mine = slot++;
        if (name.empty()) continue;
        const bool fresh = names_.add(name) == slot_of_.size();
        if (fresh) slot_of_.push_back(mine);
        if (!fresh || around_.local(name)) {
          return error(Code::graph, around_.loc(nodes_[i]), "value '{}' is defined twice", name);
        }
        if (around_.outer(name)) {
          return error(Code::graph, around_.loc(nodes_[i]),
                       "value '{}' hides one of the enclosing graph", name);
        }
      }
    }
    return Ok{};
  }

  Result<Ok> sort() {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (state_[i] == State::unseen) QC_TRY(visit(i));
    }
    return Ok{};
  }

  Schedule needed(const std::vector<std::string_view>& outputs) {
    std::vector<bool> read(maker_.size(), false);
    for (std::string_view name : outputs) {
      if (const uint32_t i = names_.find(name); i != Names::kNone) read[slot_of_[i]] = true;
    }
    std::vector<const NodeProto*> backwards;
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      bool wanted = false;
      for (size_t slot = slots_.first[*it]; slot < slots_.first[*it + 1]; ++slot) {
        wanted = wanted || read[slot];
      }
      if (!wanted) continue;
      backwards.push_back(&nodes_[*it]);
      for (size_t slot : reads_of(*it)) read[slot] = true;
    }
    return {{backwards.rbegin(), backwards.rend()}, std::move(slots_), std::move(read)};
  }

  bool produces(std::string_view name) const { return names_.find(name) != Names::kNone; }

 private:
  enum class State : uint8_t { unseen, open, done };

  Result<Ok> enter(size_t i, std::vector<std::pair<size_t, size_t>>& stack) {
    state_[i] = State::open;
    stack.emplace_back(i, 0);
    Result<Ok> ok = Ok{};
    reads_[i].begin = read_slots_.size();
    for_each_read(nodes_[i], [&](std::string_view name) {
      if (const uint32_t known = names_.find(name); known != Names::kNone) {
        read_slots_.push_back(slot_of_[known]);
      } else if (ok.ok() && !around_.local(name) && !around_.outer(name)) {
        ok = error(Code::graph, around_.loc(nodes_[i]), "reads '{}', which nothing defines", name);
      }
    });
    reads_[i].end = read_slots_.size();
    return ok;
  }

  std::span<const size_t> reads_of(size_t i) const {
    return std::span(read_slots_).subspan(reads_[i].begin, reads_[i].end - reads_[i].begin);
  }

  Result<Ok> visit(size_t root) {
    std::vector<std::pair<size_t, size_t>> stack;  // node, next of its reads to follow
    QC_TRY(enter(root, stack));
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      const auto reads = reads_of(node);
      if (next == reads.size()) {
        state_[node] = State::done;
        order_.push_back(node);
        stack.pop_back();
        continue;
      }
      const size_t maker = maker_[reads[next++]];
      if (state_[maker] == State::done) continue;
      if (state_[maker] == State::open) {
        return error(Code::graph, around_.loc(nodes_[maker]), "is part of a cycle");
      }
      QC_TRY(enter(maker, stack));
    }
    return Ok{};
  }

  struct Range {
    size_t begin = 0, end = 0;
  };
  std::span<const NodeProto> nodes_;
  const Surroundings& around_;
  Slots slots_;
  std::vector<size_t> maker_;    // node by slot
  Names names_;                  // of all slots that have one
  std::vector<size_t> slot_of_;  // by name
  std::vector<State> state_;
  std::vector<Range> reads_;        // by node, in read_slots_
  std::vector<size_t> read_slots_;  // what nodes read
  std::vector<size_t> order_;
};

}  // namespace

Slots::Slots(std::span<const NodeProto> nodes) : nodes(nodes) {
  first.reserve(nodes.size() + 1);
  first.push_back(0);
  for (const NodeProto& node : nodes) first.push_back(first.back() + node.outputs.size());
}

std::vector<std::string_view> free_names(const GraphProto& graph) {
  spend(Cost::work, static_cast<int64_t>(graph.nodes.size()) * kNodeWork);
  std::unordered_set<std::string_view> known;
  for (const ValueInfo& v : graph.inputs) known.insert(v.name);
  for (const TensorProto& t : graph.initializers) known.insert(t.name);
  for (const SparseTensorProto& t : graph.sparse_initializers) known.insert(t.values.name);
  for (const NodeProto& node : graph.nodes) known.insert(node.outputs.begin(), node.outputs.end());
  std::vector<std::string_view> out;
  auto read = [&](std::string_view name) {
    if (known.insert(name).second) out.push_back(name);
  };
  for (const NodeProto& node : graph.nodes) for_each_read(node, read);
  for (const ValueInfo& v : graph.outputs) read(v.name);
  return out;
}

Result<Schedule> schedule(std::span<const NodeProto> nodes,
                          const std::vector<std::string_view>& outputs,
                          const Surroundings& around) {
  Sorter sorter(nodes, around);
  QC_TRY(sorter.define());
  QC_TRY(sorter.sort());
  for (std::string_view name : outputs) {
    if (!sorter.produces(name) && !around.local(name) && !around.outer(name)) {
      return error(Code::graph, "output '{}' is defined by nothing", name);
    }
  }
  return sorter.needed(outputs);
}

}  // namespace qc::onnx
