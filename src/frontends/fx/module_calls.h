// Calls of modules that a dump describes by class, attributes and weights.
#pragma once

#include <string>

#include "frontends/fx/aten_calls.h"
#include "frontends/fx/dump.h"

namespace qc::fx {

/// The class of the module, or of one in it, that nothing is known of; empty for none.
std::string unknown_module(const Dump& dump, const std::string& path);

class ModuleCalls {
 public:
  ModuleCalls(const Dump& dump, Scope& scope, AtenCalls& aten)
      : dump_(dump), scope_(scope), aten_(aten) {}

  /// A node call_module, of a module that is known.
  Result<Thing> call(const DumpNode& node, const Loc& loc);

 private:
  Result<Thing> call(const std::string& path, const DumpModule& module, const Thing& input,
                     const Loc& loc);
  Result<QuantParams> quant_params(const std::string& path, const DumpModule& module,
                                   const Loc& loc);

  const Dump& dump_;
  Scope& scope_;
  AtenCalls& aten_;
};

}  // namespace qc::fx
