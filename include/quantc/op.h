// Ops of one's own, described while the program runs: what C there is for them becomes part of
// generated code. docs/own-op-python.md says the same for Python.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "quantc/array.h"
#include "quantc/diagnostic.h"

namespace quantc {

/// The value of a parameter. A text is one of a list of choices.
using OpValue =
    std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>>;
using OpValues = std::map<std::string, OpValue>;
/// Shapes; sizes that depend on a symbol are text such as "batch" or "2*n".
using OpShapes = std::vector<std::vector<std::string>>;

/// An op: its values, what they mean, and the C text of its kernel.
struct OwnOp {
  struct Operand {
    std::string name;
    std::string type;  // "f32"
  };
  struct Parameter {
    std::string name;
    OpValue standard;
    std::vector<std::string> choices;  // of a text
  };

  std::string name;     // "example::peak_hold": a domain of one's own and a name
  std::string onnx;     // what the node of ONNX is called in that domain; empty: as the name
  std::string summary;  // a sentence
  std::vector<Operand> inputs, outputs;
  std::vector<Parameter> parameters;

  /// The shapes of the results.
  std::function<Expected<OpShapes>(const OpValues&, const OpShapes&)> shape;
  /// The results: the definition of right, which the C text must give to the bit.
  std::function<Expected<std::vector<Array>>(const OpValues&, const ArrayViews&)> evaluate;

  /// The body of a C function. It sees pointers with the names of operands, of parameters that are
  /// lists and of results, and the struct `p` with the other parameters and, of every operand and
  /// result x, x_shape, x_rank and x_size.
  std::string c;
  std::string helpers;  // definitions in front of it
  std::string units;    // an expression of p: how many units of work there are. Then `c` computes
                        // the one that it sees as `unit`, and a GPU gives a thread to each
  std::string cuda;     // what a GPU computes instead of `c`, with `units`; may be empty
  int stack = 1024;     // bytes of stack that the C text needs at most

  /// The name of an op in float whose form on codes this is. Then parameters are those of that op,
  /// and of every operand and result x with codes there are x_scale, x_zero_point, x_qmin, x_qmax.
  std::string quantizes;
};

/// Adds an op to this process, or puts it in the place of one that was added under its name before;
/// models that are loaded keep what they have. The C text is compiled by $CC, else cc; what is
/// wrong in it is reported by its lines. Without a compiler the op is evaluated, and its text goes
/// into generated code unseen.
Expected<Done> add_op(OwnOp op);

}  // namespace quantc
