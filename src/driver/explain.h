// Explaining a quantization: what became of every node, why, and how exact it is.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "passes/pipeline.h"
#include "quant/quant_node.h"

namespace qc {

/// What a node does with numbers.
enum class Computes : uint8_t {
  integer,   // computes on codes or other integers
  floats,    // computes in floating point
  moves,     // copies or orders elements as they are
  converts,  // changes what codes mean: quantize, dequantize, requantize
  indices    // computes positions, sizes and conditions: 64-bit integers and booleans
};
std::string_view name(Computes computes);
Computes computes(const Node& node);

struct WeightReport {
  std::string format;
  QType type;
  int64_t elements = 0;
  std::optional<double> sqnr_db;  // where the floats are known; infinite when exact
  int64_t saturated = 0;          // elements beyond the codes
};

struct NodeReport {
  std::vector<std::string> names;
  std::string op;
  Computes computes = Computes::floats;
  std::string rule;  // "rules.toml:12"; empty for none
  std::string why;   // for floats and conversions
  std::vector<std::string> inputs;
  std::vector<QType> input_types;  // of the same operands
  std::optional<WeightReport> weight;
  std::string output;
  std::vector<QType> output_types;  // of all results
  std::optional<AccumulatorProof> accumulator;
};

/// One report per node of a contract graph and of its regions, in order. `context` is the one its
/// passes ran with.
Result<std::vector<NodeReport>> explain(const Graph& graph, const PassContext& context);

/// Notes which tables of a contract graph of free sizes are stored, and which every run computes.
Result<Ok> note_tables(const Graph& graph, const std::vector<std::string>& disabled_passes,
                       PassContext& context);

/// How many nodes there are, and how many of each kind.
struct Totals {
  size_t nodes = 0;
  std::array<size_t, 5> of{};

  void add(Computes what) {
    ++nodes;
    ++of[static_cast<size_t>(what)];
  }
  void add(const Totals& other) {
    nodes += other.nodes;
    for (size_t i = 0; i < of.size(); ++i) of[i] += other.of[i];
  }
  size_t operator[](Computes what) const { return of[static_cast<size_t>(what)]; }
};
/// Of a contract graph and its regions.
Totals totals(const Graph& graph);
/// "10 nodes: 7 integer, 0 float, 1 move elements, 2 convert", and ", 3 on indices" where there
/// are such.
std::string str(const Totals& totals);

/// As a table with totals; where that is wider than `width`, as a few lines for each node. With
/// `cut`, names are without the path that all have.
std::string table(const std::vector<NodeReport>& reports, size_t width, bool cut);
/// As JSON: {"nodes": [...], "remarks": ["pass: text", ...], "warnings": [...], "totals": {...}}.
std::string json(const std::vector<NodeReport>& reports, const PassContext& context);

/// An error that lists every node that computes in float, with the reason, and says what to do;
/// nothing when none does. `flag` is what does not allow it.
Result<Ok> check_integer(const Graph& graph, const PassContext& context, std::string_view flag);

}  // namespace qc
