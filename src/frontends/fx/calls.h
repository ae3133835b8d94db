// How FX spells operations: functions, methods and modules, and the ATen call each of them is.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qc::fx {

/// A parameter of a Python function or method.
struct Parameter {
  std::string name;       // in Python
  std::string aten;       // in the call; empty: the parameter does not matter
  bool rest = false;      // the remaining arguments, as a list
  bool in_place = false;  // asks for the in-place form
};

/// A call with the parameters it has in Python.
struct Call {
  /// "relu.default"; several with the parameter that decides: "dim:mean.dim mean.default" is
  /// mean.dim where `dim` is given.
  std::string target;
  std::vector<Parameter> parameters;
  bool lists = false;  // the result is a list even where it has one item

  /// Whether parameters say what codes of the result mean.
  bool tells_codes() const {
    return std::any_of(parameters.begin(), parameters.end(),
                       [](const Parameter& p) { return p.aten == "^scale"; });
  }
};

/// The call of "torch.add", "torch.nn.functional.relu", "_operator.mul", or with a dot in front of
/// a method (".view"); null where there is none. In-place forms are found under their plain names.
const Call* find_call(std::string_view spelling);

/// An overload of torch.ops, which is the name of an import row.
struct Overload {
  std::string package, op;  // "aten", "relu.default": of an in-place form the plain one
  bool in_place = false;

  /// Whether there is a row for it.
  bool known() const;
  /// The size of an axis, which is no tensor and has no row.
  bool is_size() const { return op == "sym_size.int"; }
  /// As Scope::call takes it.
  std::string target() const { return package == "aten" ? op : package + "::" + op; }
};
/// That of "torch._ops.aten.relu_.default". Nothing for those of torch.ops.quantized, which are
/// spellings of calls: they say what codes of the result mean.
std::optional<Overload> find_overload(std::string_view target);

/// A module: the ATen call of its class, whose arguments are written as NAME=SOURCE: @ is the
/// input, #NAME a parameter or buffer (left out where there is none), $NAME an attribute.
struct ModuleCall {
  std::string target;
  std::vector<std::pair<std::string, std::string>> arguments;
};
/// By the class without its package: "Conv2d".
const ModuleCall* find_module_call(std::string_view type);

}  // namespace qc::fx
