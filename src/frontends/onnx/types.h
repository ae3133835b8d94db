// Declared types of an ONNX model as types of the graph.
#pragma once

#include <map>
#include <set>
#include <string>

#include "frontends/onnx/proto.h"
#include "ir/type.h"

namespace qc::onnx {

/// Turns declared dims into Dims: expressions over symbols where a dim_param is one, one symbol per
/// text otherwise, and a symbol of its own for a dim that says nothing.
class TypeReader {
 public:
  /// `inputs` are all the infos that will be read: symbols made up for other texts differ from
  /// theirs.
  TypeReader(const Bindings& dims, const std::vector<ValueInfo>& inputs);

  /// The type of an input; only tensors of known rank have one.
  Result<Type> read(const ValueInfo& info, const Loc& loc);
  /// An error when a dim was bound that no type read so far has.
  Result<Ok> check_bindings(const Loc& loc) const;

 private:
  Dim param(std::string_view text);

  const Bindings& bindings_;
  std::set<std::string> symbols_;
  std::map<std::string, std::string, std::less<>> renamed_;  // text of a dim_param -> symbol
};

/// An error when a value's declared element type is not the computed one.
Result<Ok> check_declared(const ValueInfo& info, const Type& type, const Loc& loc);

}  // namespace qc::onnx
