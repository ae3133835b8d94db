#include "frontends/fx/spelling.h"

#include <string_view>

namespace qc::fx {

std::pair<std::string, bool> plain_spelling(const DumpNode& node) {
  std::string spelling = node.op == "call_method" ? "." + node.target : node.target;
  constexpr std::string_view kQuantized = "torch._ops.quantized.", kDefault = ".default";
  if (spelling.starts_with(kQuantized) && spelling.ends_with(kDefault))
    spelling.resize(spelling.size() - kDefault.size());
  const bool in_place = spelling.size() > 2 && spelling.back() == '_' &&
                        spelling[spelling.size() - 2] != '_' &&
                        spelling[spelling.size() - 2] != '.';
  if (in_place) spelling.pop_back();
  return {std::move(spelling), in_place};
}

}  // namespace qc::fx
