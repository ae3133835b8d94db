#include "frontends/onnx/schedule.h"

#include <unordered_map>

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
      : nodes_(nodes), around_(around), state_(nodes.size(), State::unseen), reads_(nodes.size()) {
    producer_.reserve(nodes.size());
    order_.reserve(nodes.size());
  }

  Result<Ok> define() {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      for (std::string_view name : nodes_[i].outputs) {
        if (name.empty()) continue;
        if (!producer_.emplace(name, i).second || around_.local(name)) {
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
    Schedule out;
    out.read.reserve(nodes_.size());
    out.read.insert(outputs.begin(), outputs.end());
    std::vector<const NodeProto*> backwards;
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      bool wanted = false;
      for (std::string_view name : nodes_[*it].outputs) wanted = wanted || out.read.contains(name);
      if (!wanted) continue;
      backwards.push_back(&nodes_[*it]);
      const auto read = reads_of(*it);
      out.read.insert(read.begin(), read.end());
    }
    out.nodes.assign(backwards.rbegin(), backwards.rend());
    return out;
  }

  bool produces(std::string_view name) const { return producer_.contains(name); }

 private:
  enum class State : uint8_t { unseen, open, done };

  Result<Ok> enter(size_t i, std::vector<std::pair<size_t, size_t>>& stack) {
    state_[i] = State::open;
    stack.emplace_back(i, 0);
    Result<Ok> ok = Ok{};
    reads_[i].begin = names_.size();
    for_each_read(nodes_[i], [&](std::string_view name) {
      names_.push_back(name);
      if (ok.ok() && !produces(name) && !around_.local(name) && !around_.outer(name)) {
        ok = error(Code::graph, around_.loc(nodes_[i]), "reads '{}', which nothing defines", name);
      }
    });
    reads_[i].end = names_.size();
    return ok;
  }

  std::span<const std::string_view> reads_of(size_t i) const {
    return std::span(names_).subspan(reads_[i].begin, reads_[i].end - reads_[i].begin);
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
      auto found = producer_.find(reads[next++]);
      if (found == producer_.end() || state_[found->second] == State::done) continue;
      if (state_[found->second] == State::open) {
        return error(Code::graph, around_.loc(nodes_[found->second]), "is part of a cycle");
      }
      QC_TRY(enter(found->second, stack));
    }
    return Ok{};
  }

  std::span<const NodeProto> nodes_;
  const Surroundings& around_;
  std::unordered_map<std::string_view, size_t> producer_;
  std::vector<State> state_;
  struct Range {
    size_t begin = 0, end = 0;
  };
  std::vector<Range> reads_;             // by node, in names_
  std::vector<std::string_view> names_;  // what nodes read
  std::vector<size_t> order_;
};

}  // namespace

std::vector<std::string_view> free_names(const GraphProto& graph) {
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
