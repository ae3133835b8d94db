// Names of a model's outputs, which files and C must tell apart.
#pragma once

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace qc {

/// The names with repetitions told apart: the first of equal names keeps it, each further one takes
/// the first of NAME_1, NAME_2, ... that no other has.
inline std::vector<std::string> unique_names(std::vector<std::string> names) {
  std::set<std::string> taken(names.begin(), names.end()), given;
  std::map<std::string, int> tried;
  for (std::string& name : names) {
    if (given.insert(name).second) continue;
    std::string other = name;
    for (int& i = tried[name]; taken.contains(other);) other = fmt::format("{}_{}", name, ++i);
    taken.insert(other);
    given.insert(other);
    name = std::move(other);
  }
  return names;
}

}  // namespace qc
