#include "quant/rule_index.h"

#include <algorithm>

#include "quant/name_pattern.h"
#include "support/budget.h"

namespace qc {
namespace {
constexpr int64_t kLookupWork = 20;
}  // namespace

RuleIndex::RuleIndex(const std::vector<std::unique_ptr<QuantRule>>& rules) : rules_(rules) {
  for (size_t i = 0; i < rules.size(); ++i) {
    const SpelledNames* spelled = rules[i]->names();
    if (!spelled) {
      any_.push_back(i);
      continue;
    }
    for (const std::string& name : spelled->names) {
      (spelled->whole ? whole_ : starts_)[name].push_back(i);
      if (!spelled->whole) lengths_.insert(name.size());
    }
  }
}

std::vector<size_t> RuleIndex::named(const Node& node) const {
  std::vector<size_t> out = any_;
  const auto add = [&](const Numbers& numbers, std::string_view name) {
    spend(Cost::work, kLookupWork);
    if (const auto found = numbers.find(name); found != numbers.end())
      out.insert(out.end(), found->second.begin(), found->second.end());
  };
  for (const std::string& name : node.loc().names) {
    add(whole_, name);
    for (const size_t length : lengths_) {
      if (length <= name.size()) add(starts_, std::string_view(name).substr(0, length));
    }
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<size_t> RuleIndex::matching(const Node& node) const {
  std::vector<size_t> out = named(node);
  std::erase_if(out, [&](size_t i) { return !rules_[i]->matches(node); });
  return out;
}

}  // namespace qc
