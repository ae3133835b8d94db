// The serialised ExportedProgram of torch.export (schemas 5.x to 8.x) as plain structs. Symbolic
// expressions stay text here; unknown keys are ignored, unknown union members refused.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/dtype.h"
#include "support/result.h"

namespace qc::pt2 {

struct ExportedGraph;

/// PyTorch's serialised ScalarType (not c10's numbering).
using ScalarType = int64_t;
/// The element type, or nothing for complex and quantized types.
std::optional<DType> to_dtype(ScalarType type);
/// "float32", "complex64", ...; "unknown" for other numbers.
std::string_view scalar_type_name(ScalarType type);
/// The inverse of scalar_type_name; 0 when the name is not known.
ScalarType scalar_type_of(std::string_view name);

/// A size: a number, or an expression (sympy text) with the value it had while tracing.
struct SymInt {
  std::optional<int64_t> value;
  std::optional<double> real;  // only for values in sym_floats
  std::string expr;
  std::optional<int64_t> hint;
};

struct TensorMeta {
  ScalarType dtype = 0;
  std::vector<SymInt> sizes;
  std::vector<SymInt> strides;
  SymInt storage_offset;
  std::string device;  // "cpu", "cuda:0"
};

/// One element of an argument.
struct Item {
  enum class Kind { none, name, integer, real, boolean, text };
  Kind kind = Kind::none;
  std::string text;     // name and text
  int64_t integer = 0;  // integer and boolean
  double real = 0;
};

/// What an argument's union member says its items are. `sym_*` items are names or literals.
enum class ArgKind {
  none,
  tensor,
  tensors,
  optional_tensors,
  integer,
  integers,
  real,
  reals,
  boolean,
  booleans,
  text,
  texts,
  sym_int,
  sym_ints,
  sym_float,
  sym_floats,
  sym_bool,
  sym_bools,
  scalar_type,
  memory_format,
  layout,
  device,
  graph,
  complex,
  custom_obj,
  op,
  other,
};

struct Argument {
  ArgKind kind = ArgKind::none;
  std::vector<Item> items;                     // one for scalars
  std::shared_ptr<const ExportedGraph> graph;  // kind graph; its name is items[0]
  std::string member;                          // the union member's own name, for messages

  bool is_list() const;
};

struct NamedArgument {
  std::string name;  // empty for higher-order ops
  Argument arg;
};

struct ExportedNode {
  std::string target;  // "torch.ops.aten.conv2d.default", "_operator.add", ...
  std::vector<NamedArgument> inputs;
  std::vector<Argument> outputs;
  std::string name;    // the node's own name; empty in old files
  std::string module;  // fully-qualified name of the innermost module, "" for the root
};

struct ExportedGraph {
  std::vector<Argument> inputs, outputs;
  std::vector<ExportedNode> nodes;
  std::map<std::string, TensorMeta, std::less<>> tensors;
  std::map<std::string, SymInt, std::less<>> sym_ints;
  std::map<std::string, SymInt, std::less<>> sym_floats;
  std::map<std::string, SymInt, std::less<>> sym_bools;
};

struct InputSpec {
  enum class Kind { user_input, parameter, buffer, tensor_constant, constant_input, other };
  Kind kind = Kind::other;
  Argument arg;        // as_tensor for everything but user inputs
  std::string target;  // the name in the state dict or the constants; of the argument if constant
  std::string member;
};

struct OutputSpec {
  enum class Kind { user_output, buffer_mutation, user_input_mutation, other };
  Kind kind = Kind::other;
  Argument arg;
  std::string target;  // the buffer or the user input written
  std::string member;
};

struct Range {
  std::optional<int64_t> min, max;
};

struct ExportedProgram {
  int64_t schema_major = 0, schema_minor = 0;
  std::string torch_version;
  ExportedGraph graph;
  std::vector<InputSpec> input_specs;
  std::vector<OutputSpec> output_specs;
  std::map<std::string, Range, std::less<>> ranges;  // by infix expression
  std::vector<std::string> guards;
  std::string out_spec;  // the serialised tree of what forward returns; empty where it is not there
};

/// Parses models/model.json (or serialized_exported_program.json).
Result<ExportedProgram> parse_program(std::string_view json, const Loc& loc);
/// One tensor of a weights configuration: the file with its storage and how it lies in there.
struct WeightEntry {
  std::string path;
  bool use_pickle = false;
  TensorMeta meta;
};
using WeightConfig = std::map<std::string, WeightEntry, std::less<>>;
/// Parses `*_weights_config.json` or `*_constants_config.json`.
Result<WeightConfig> parse_weights_config(std::string_view json, const Loc& loc);

/// The innermost module's path in an nn_module_stack text ("L__self__,,M;L__self__a,a,N" -> "a").
std::string_view innermost_module(std::string_view stack);

}  // namespace qc::pt2
