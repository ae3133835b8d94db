#include "frontends/fx/check_supported.h"

#include <fmt/format.h>

#include <map>

#include "frontends/fx/calls.h"
#include "frontends/fx/module_calls.h"
#include "frontends/fx/plain_python.h"
#include "frontends/fx/spelling.h"

namespace qc::fx {

Result<Ok> check_supported(const Dump& dump, const Readers& readers, const std::string& file) {
  std::map<std::string, std::pair<int, std::string>> missing;
  for (const DumpNode& node : dump.nodes) {
    if (!readers.live(node)) continue;
    std::string what;
    const auto overload = find_overload(node.target);
    if (overload && node.op == "call_function") {
      if (!overload->known() && !overload->is_size()) what = node.target;
    } else if (node.op == "call_module") {
      what = unknown_module(dump, node.target);
    } else if (node.op == "call_function" || node.op == "call_method") {
      const std::string name = plain_spelling(node).first;
      if (!find_call(name) && !known_to_python(name)) what = node.target;
    }
    if (what.empty()) continue;
    auto& [count, first] = missing[what];
    if (count++ == 0) first = node.name;
  }
  if (missing.empty()) return Ok{};
  Diag diag = error(Code::unsupported_op, Loc{file, {}, {}}, "{} operation{} not supported",
                    missing.size(), missing.size() == 1 ? " is" : "s are");
  for (const auto& [op, m] : missing) {
    diag.notes.push_back(
        fmt::format("{}: {} node{}, first '{}'", op, m.first, m.first == 1 ? "" : "s", m.second));
  }
  return diag;
}

}  // namespace qc::fx
