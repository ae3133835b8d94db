#include "support/interned.h"

#include <functional>
#include <mutex>
#include <unordered_set>

namespace qc {
namespace {

struct Hash : std::hash<std::string_view> {
  using is_transparent = void;
};

}  // namespace

const std::string Interned::kEmpty;

Interned::Interned(std::string_view text) {
  if (text.empty()) return;
  // Never destroyed: texts outlive every static object that holds one.
  static auto& known = *new std::unordered_set<std::string, Hash, std::equal_to<>>;
  static auto& mutex = *new std::mutex;
  const std::lock_guard lock(mutex);
  auto it = known.find(text);
  if (it == known.end()) it = known.emplace(text).first;
  text_ = &*it;
}

}  // namespace qc
