// What a float node may become between dequantize and quantize nodes. insert_qdq asks it to
// know what a rule may ask for, fold_qdq to do it.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace qc {

/// Whether the node moves or orders elements, so that it takes codes as they are.
bool runs_on_codes(const Node& node);
/// The operand that an elementwise f32 node with else single constants is a function of.
std::optional<size_t> function_operand(const Node& node);
/// Whether a rule may ask for a quantized form of this node: it has an integer form of its own,
/// runs on codes, is a function of one value or is quantized in float.
bool has_quantized_op(Node& node);

/// Codes with one scale for the whole value, known when compiling.
bool is_plain(const Type& type);
/// Whether a function from codes x to codes y becomes a table: x has at most 8 bits.
bool can_tabulate(const QType& x, const QType& y);
/// The dequantize node that gives the value; null where none does.
Node* decoder(Value* value);

/// A copy of a node that only moves or orders elements, on `inputs`, of which those in place of its
/// float operands are codes of the type `codes`; null where the op does not take them or would give
/// them another meaning.
Node* on_codes(Graph& graph, Node& node, std::vector<Value*> inputs, const QType& codes);
/// f(dequantize(x)) = dequantize(f(x)) where f only moves or orders elements: puts the node on the
/// codes, where all its float operands decode codes of one format and it takes them. Its readers
/// then read a dequantize node; the float node stays without readers.
Result<bool> move_to_codes(Graph& graph, Node& node);

}  // namespace qc
