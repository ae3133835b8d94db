// Names and order: which names a list of nodes defines and reads, and an order to import it in.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "frontends/onnx/proto.h"

namespace qc::onnx {

/// The names a graph reads from outside, in order of first reading; nested graphs included.
std::vector<std::string_view> free_names(const GraphProto& graph);

/// Outputs of a list of nodes, numbered through.
struct Slots {
  explicit Slots(std::span<const NodeProto> nodes);
  size_t slot(const NodeProto& node, size_t output) const {
    return first[static_cast<size_t>(&node - nodes.data())] + output;
  }

  std::span<const NodeProto> nodes;
  std::vector<size_t> first;  // by node: its first slot; then the number of all slots
};

struct Schedule {
  std::vector<const NodeProto*> nodes;  // those the outputs depend on, in a valid order
  Slots slots;
  std::vector<bool> read;  // by slot: whether one of `nodes` reads it, or an output is it

  bool reads(const NodeProto& node, size_t output) const { return read[slots.slot(node, output)]; }
};

/// What `schedule` has to know of the surroundings.
struct Surroundings {
  std::function<bool(std::string_view)> local;  // an input or initializer of the same graph
  std::function<bool(std::string_view)> outer;  // visible in an enclosing graph
  std::function<Loc(const NodeProto&)> loc;
};

/// Orders nodes so that each follows what it reads, in file order where that already holds. Cycles,
/// names defined twice, names that shadow an outer one and names nothing defines are errors.
Result<Schedule> schedule(std::span<const NodeProto> nodes,
                          const std::vector<std::string_view>& outputs, const Surroundings& around);

}  // namespace qc::onnx
