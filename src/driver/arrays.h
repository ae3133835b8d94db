// Arrays that users give, matched with a model's inputs and outputs.
#pragma once

#include <string>
#include <vector>

#include "arrays/npz.h"
#include "arrays/stream.h"
#include "ir/graph.h"

namespace qc {

/// What arrays are for, and so how those without a name are called: in_0 or out_0, ...
enum class Role { inputs, outputs };

/// Arrays of .npz, .npy and ONNX TensorProto (.pb) files together. Files of one array count: the
/// first is in_0, the next in_1, ...; a .pb file that has a name gives its array under both.
Result<std::vector<NamedArray>> read_arrays(const std::vector<std::string>& paths,
                                            Role role = Role::inputs);
/// The same in sets, of which a new one begins as with open_arrays; `count` is how many arrays
/// without names make one.
Result<std::vector<std::vector<NamedArray>>> read_array_sets(const std::vector<std::string>& paths,
                                                             Role role, size_t count);

/// Arrays that are read together.
using ArraySet = std::vector<ArrayStream>;

/// The same files as streams; an ONNX TensorProto is held whole. Where a file has an array of a
/// name that was there already, or `inputs` files of one array came before it, a new set begins:
/// its arrays come after those of the set before and may have other sizes.
Result<std::vector<ArraySet>> open_arrays(const std::vector<std::string>& paths, size_t inputs);

/// Which of the named arrays belongs to each input of the graph: by the input's name or as in_0,
/// in_1, ....
Result<std::vector<size_t>> match_inputs(const Graph& graph, const std::vector<std::string>& names);
/// Whether each integer of the one type is one of the other, 64 bits wide: indices of 32 bits.
bool widens(DType from, DType to);
/// The note for the user when the elements of an input are widened.
std::string cast_note(const Value& input, DType given);
/// The array under the value's type where only numpy's lack of that type stands between, or where
/// it widens.
Tensor adapted(const Tensor& tensor, DType dtype);

/// One array per input of the graph, by the input's name or as in_0, in_1, ...; bits of types that
/// numpy lacks may come as unsigned integers. Arrays named out_<i> are ignored. `notes` takes what
/// is cast.
Result<std::vector<Tensor>> match_inputs(const Graph& graph, const std::vector<NamedArray>& arrays,
                                         std::vector<std::string>* notes = nullptr);
/// One array per output, by name or as out_0, out_1, ....
Result<std::vector<Tensor>> match_outputs(const Graph& graph,
                                          const std::vector<NamedArray>& arrays);

/// Inputs made from a seed: floats about a unit normal, integers small and non-negative, so that
/// they are valid indices of most tables. Symbolic dims take their hint, else 2.
Result<std::vector<Tensor>> random_inputs(const Graph& graph, uint64_t seed);

}  // namespace qc
