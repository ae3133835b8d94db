// Symbolic numbers of an exported graph while it is imported: sizes as dims, floats computed from
// sizes, and numbers read out of tensors.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "frontends/common/foreign.h"
#include "frontends/pt2/inline.h"

namespace qc::pt2 {

class Symbols {
 public:
  /// `bindings` replaces symbols by numbers from the start.
  Symbols(const FlatGraph& graph, const Bindings& bindings) : graph_(graph), bindings_(bindings) {}

  Result<Dim> dim(const SymInt& size, const Loc& loc) const;
  Result<Dims> dims(const std::vector<SymInt>& sizes, const Loc& loc) const;

  /// A symbolic number as an argument: a number where it is known, a dim, or the value that holds
  /// it at run time.
  Result<Arg> number(const Item& item, const Loc& loc) const;
  /// As `number`, for a place in a list of sizes.
  Result<Dim> size(const Item& item, const Loc& loc) const;

  /// Evaluates a node whose result is a symbolic number (sym_size, _operator.add, item, ...).
  /// `args` are its arguments in order.
  Result<Ok> evaluate(Graph& graph, const ExportedNode& node, const std::vector<Arg>& args,
                      const Loc& loc);

 private:
  Result<Arg> arithmetic(Graph& graph, std::string_view op, const std::vector<Arg>& args,
                         const Loc& loc) const;

  const FlatGraph& graph_;
  const Bindings& bindings_;
  std::map<std::string, Arg, std::less<>> known_;  // what `evaluate` found
};

/// Whether a size depends on numbers that are only known at run time: symbols named u<n>.
bool is_unbacked(const Dim& dim);
/// Whether a node's result is a symbolic number rather than a tensor.
bool is_symbolic(const ExportedNode& node);

}  // namespace qc::pt2
