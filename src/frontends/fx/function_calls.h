// Calls of functions and methods: their arguments by the names of the ATen op they mean.
#pragma once

#include "frontends/fx/aten_calls.h"
#include "frontends/fx/calls.h"
#include "frontends/fx/dump.h"
#include "frontends/fx/readers.h"

namespace qc::fx {

class FunctionCalls {
 public:
  FunctionCalls(Scope& scope, AtenCalls& aten, const Readers& readers)
      : scope_(scope), aten_(aten), readers_(readers) {}

  /// A node call_function or call_method.
  Result<Thing> call(const DumpNode& node, const Loc& loc);

 private:
  Result<Thing> call(const Overload& overload, const DumpNode& node, const Loc& loc);
  Result<Thing> einsum(const Things& args, const Loc& loc);
  Result<Ok> bind(const Call& call, const DumpNode& node, const Things& args, NamedThings& named,
                  bool& in_place, const Loc& loc) const;

  Scope& scope_;
  AtenCalls& aten_;
  const Readers& readers_;
};

}  // namespace qc::fx
