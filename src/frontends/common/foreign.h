// ForeignNode: one op of a model file in neutral form, and Import: what an import row sees while it
// turns that op into nodes of the graph. Front ends fill ForeignNodes; op folders own the rows.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ir/graph.h"

namespace qc {

using Values = std::vector<Value*>;
using Strings = std::vector<std::string>;
/// An argument of a foreign op: an ONNX attribute or a named ATen argument. ONNX attributes that
/// hold an element type (to, dtype, output_dtype, stash_type, ...) are DTypes here.
using Arg = std::variant<std::monostate, Value*, Values, bool, int64_t, double, std::string, DType,
                         Ints, Floats, Dim, Dims, Strings, Tensor>;

struct ForeignNode {
  std::string domain;  // "" (ONNX), "com.microsoft", ..., "aten", "quantized_decomposed", ...
  std::string op;      // "Conv"; "conv2d.default"
  int version = 0;     // opset version that applies (ONNX); 0 for others
  Values inputs;       // positional tensor operands (ONNX); null = omitted
  std::vector<std::pair<std::string, Arg>> args;  // attributes or named arguments
  size_t outputs = 1;                             // how many outputs the model names
  std::vector<bool> output_used;  // which of them are read, where the front end knows
  Loc loc;
};

class Import {
 public:
  Import(Graph& graph, const ForeignNode& node) : graph_(graph), node_(node) {}

  Graph& graph() const { return graph_; }
  const ForeignNode& node() const { return node_; }
  const Loc& loc() const { return node_.loc; }
  int version() const { return node_.version; }

  /// Positional operand i (ONNX), null when omitted.
  Value* in(size_t i) const { return i < node_.inputs.size() ? node_.inputs[i] : nullptr; }
  bool has(size_t i) const { return in(i) != nullptr; }
  size_t input_count() const { return node_.inputs.size(); }
  /// Whether somebody reads output i.
  bool wants(size_t i) const;

  /// The named argument; null when it is absent or None.
  const Arg* find(std::string_view name) const;
  bool given(std::string_view name) const { return find(name) != nullptr; }

  /// Named arguments with the schema's default. The wrong kind is an error naming the argument.
  /// An int is accepted for a float, a single int for a list, a static dim for an int.
  Result<int64_t> i(std::string_view name, int64_t fallback) const;
  Result<double> f(std::string_view name, double fallback) const;
  Result<bool> b(std::string_view name, bool fallback) const;
  Result<std::string> s(std::string_view name, std::string fallback) const;
  Result<Ints> ints(std::string_view name, Ints fallback) const;
  Result<Floats> floats(std::string_view name, Floats fallback) const;
  Result<Dims> dims(std::string_view name) const;
  Result<Dim> dim(std::string_view name, Dim fallback) const;
  Result<DType> dtype(std::string_view name, DType fallback) const;

  /// A named tensor argument (ATen). A number becomes a rank-0 constant (f32, i64 or bool).
  Result<Value*> tensor(std::string_view name) const;
  /// As `tensor`, null when absent or None.
  Result<Value*> optional_tensor(std::string_view name) const;
  /// A named tensor or number as `dtype`. A number goes there in one step: f64 keeps all of its
  /// digits, i64 all of its bits, and narrower integers wrap.
  Result<Value*> tensor_as(std::string_view name, DType dtype) const;
  /// A list of tensors; entries may be null (None).
  Result<Values> tensors(std::string_view name) const;

  /// The two operands of a binary ATen op by name, numbers converted after PyTorch's rule for
  /// wrapped numbers and both cast to the promoted type.
  Result<std::pair<Value*, Value*>> promoted(std::string_view a, std::string_view b) const;
  /// The type they are cast to.
  Result<DType> promoted_type(std::string_view a, std::string_view b) const;

  /// Known integer contents of an operand (constant, or shape arithmetic); an error naming it when
  /// it is only known at run time.
  Result<Dims> known(Value* value, std::string_view what) const;
  Result<Ints> known_static(Value* value, std::string_view what) const;
  /// Constant contents of an operand; an error naming it when it is not constant.
  Result<Tensor> constant(Value* value, std::string_view what) const;

  /// Adds a node by op name and returns output 0 / all outputs.
  Result<Value*> emit(std::string_view op, Values inputs, const AttrMap& attrs = {}) const;
  Result<Values> emit_all(std::string_view op, Values inputs, const AttrMap& attrs = {}) const;
  /// A rank-0 constant of the given type.
  Value* scalar(double value, DType dtype) const;
  Value* scalar_int(int64_t value, DType dtype) const;
  /// A rank-1 i64 constant.
  Value* int_list(const Ints& values) const;
  /// The value cast to `dtype`; itself when it already has it.
  Result<Value*> cast(Value* value, DType dtype) const;

  /// An error at this node.
  template <class... Args>
  Diag fail(Code code, fmt::format_string<Args...> format, Args&&... args) const {
    return error(code, node_.loc, format, std::forward<Args>(args)...);
  }

 private:
  Graph& graph_;
  const ForeignNode& node_;
};

/// Type two tensors promote to (PyTorch's rule for tensors of equal standing).
DType promote(DType a, DType b);

using ImportFn = Result<Values> (*)(Import&);

/// How an ATen op relates its output to its first operand's memory.
enum class Alias : uint8_t { none, view };

/// One foreign op name and how it becomes nodes.
struct ImportRow {
  std::string_view domain;
  std::string_view op;  // ATen in-place forms share the row of the plain form (no underscore)
  ImportFn import;
  int since = 1;  // first opset version this row is right for (ONNX)
  Alias alias = Alias::none;
};

/// All import rows of the program.
class ImportTable {
 public:
  void add(std::span<const ImportRow> rows);
  /// The row with the highest `since` not above `version`; null when there is none.
  const ImportRow* find(std::string_view domain, std::string_view op, int version) const;
  const std::map<std::pair<std::string, std::string>, std::vector<ImportRow>>& all() const {
    return rows_;
  }

 private:
  std::map<std::pair<std::string, std::string>, std::vector<ImportRow>> rows_;
};

ImportTable& import_table();

}  // namespace qc
