// Ops that are described while the program runs, from Python or by a program that uses the library:
// a shape function, an evaluation and the C text of a kernel. What the graph sees of them are nodes
// like all others.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/node.h"
#include "ir/tensor.h"

namespace qc {

/// An operand or a result.
struct OwnOperand {
  std::string name;
  DType dtype = DType::f32;
};

/// An attribute of the node. Texts are one of the choices.
struct OwnParameter {
  std::string name;
  AttrValue standard;
  std::vector<std::string> choices = {};
};

/// What a member of the kernel's parameter struct holds.
struct OwnMember {
  enum class Kind : uint8_t {
    parameter,  // its value; of a text, the index of the choice
    count,      // elements of a parameter that is a list
    shape,      // sizes, rank and elements of an operand or result
    rank,
    size,
    scale,  // of the format of codes
    zero_point,
    qmin,
    qmax,
  };
  Kind kind = Kind::parameter;
  size_t of = 0;  // which parameter; or which operand, results counted after the operands
};

/// Parameters of one node by name; of a form on codes also `x_scale`, `x_zero_point`, `x_qmin` and
/// `x_qmax` of every operand or result x with codes.
using OwnArguments = std::vector<std::pair<std::string, AttrValue>>;

struct OwnOp {
  std::string domain, op;  // "example", "peak_hold"
  std::string onnx;        // the name of the ONNX node
  std::string torch;       // that of the operator of PyTorch: "peak_hold.default"
  std::string name;        // in graphs: "example.peak_hold"
  std::string summary;
  std::vector<OwnOperand> inputs, outputs;
  std::vector<OwnParameter> parameters;
  std::function<Result<std::vector<Dims>>(const OwnArguments&, const std::vector<Dims>&)> shape;
  /// Fills the outputs, which have the types that `shape` says.
  std::function<Result<Ok>(const OwnArguments&, const std::vector<const Tensor*>&,
                           std::vector<Tensor>&)>
      evaluate;
  std::string kernel;                      // a kernel that was added (kernels/added.h)
  std::vector<OwnMember> members;          // of its parameter struct, in order
  bool on_codes = false;                   // the form of another op: its result is codes
  std::shared_ptr<const OwnOp> quantized;  // the form of this op on codes; null where it has none
  OpInfo info = {};                        // made when the op is added
};

/// Whether values of this type are codes in a form on codes.
bool is_code_type(DType dtype);

/// Adds an op, or puts it in the place of one that was added before; graphs that exist keep what
/// they have. An error where the name is that of an op of the build.
Result<Ok> add_own_op(OwnOp op);
/// Null when no such op was added.
std::shared_ptr<const OwnOp> find_own_op(std::string_view name);

}  // namespace qc
