// What a float node between dequantize and quantize nodes can become: insert_qdq checks rules with
// it, fold_qdq rewrites with it.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace qc {

/// Whether the node moves or orders elements, so that it takes codes as they are.
bool runs_on_codes(const Node& node);
/// The only operand of an elementwise f32 node that is not a single constant.
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

/// A copy on `inputs` of a node that only moves or orders elements; the inputs that replace its
/// float operands have the type `codes`. Null if the op does not take codes or would change their
/// meaning.
Node* on_codes(Graph& graph, Node& node, std::vector<Value*> inputs, const QType& codes);
/// f(dequantize(x)) = dequantize(f(x)) if f only moves or orders elements: applies the node to
/// codes if all its float operands are dequantized from one format. Readers then read a dequantize
/// node; the float node stays without readers.
Result<bool> move_to_codes(Graph& graph, Node& node);

}  // namespace qc
