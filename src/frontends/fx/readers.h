// Which results of an FX graph are read: tracers leave calls in it whose results nobody reads.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/fx/dump.h"

namespace qc::fx {

/// Modules and functions that only check their inputs, as torch.export leaves them: what they check
/// holds for the types and shapes that the inputs have, or is one of the module's guards.
bool only_checks(const Dump& dump, const DumpNode& node);
/// What a module of that kind checks, as Python has it: "L['x'].size()[1] >= 2".
std::vector<std::string> guards_of(const Dump& dump, const DumpNode& node);

class Readers {
 public:
  explicit Readers(const Dump& dump);

  /// Whether the node has to be imported: it is an input or output, its result is read, or it is
  /// not known to have no other effect.
  bool live(const DumpNode& node) const { return live_.count(&node) > 0; }
  /// Which items of a result that is a list are read; empty where all may be.
  std::vector<bool> items(const std::string& name) const;

 private:
  void read(const Item& item);

  std::set<const DumpNode*> live_;
  std::set<std::string, std::less<>> whole_;
  std::map<std::string, std::set<int64_t>, std::less<>> items_;
};

}  // namespace qc::fx
