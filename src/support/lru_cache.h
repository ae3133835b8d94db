// LruCache: values by key, of which those that were used last are kept. The only cache of this kind
// in quantc: compiled forms of models, plans and whatever else is made once and used often. Printed
// CUDA, which brings no part of quantc along, has one of its own (ADR 0017).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

namespace qc {

/// How a cache fared since it was made, and what it holds.
struct CacheStats {
  uint64_t hits = 0, misses = 0, evictions = 0;
  size_t count = 0;
  uint64_t weight = 0;
  /// Hits per lookup; 0 before the first.
  double hit_rate() const {
    const uint64_t lookups = hits + misses;
    return lookups == 0 ? 0 : static_cast<double>(hits) / static_cast<double>(lookups);
  }
};

/// At most `count` values of together at most `weight` are kept; what was used longest ago goes
/// first. Any number of threads may call any function. Values are handed out as copies: for large
/// ones a shared_ptr is the value, which also keeps alive what is evicted while it is in use.
template <class Key, class Value, class Hash = std::hash<Key>>
class LruCache {
 public:
  static constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

  explicit LruCache(size_t count, uint64_t weight = kNoLimit)
      : max_count_(count), max_weight_(weight) {}
  LruCache(const LruCache&) = delete;
  LruCache& operator=(const LruCache&) = delete;

  /// The value of this key, which becomes the one used last. Who looks again after waiting for
  /// somebody who may be making it does not count the first miss.
  std::optional<Value> get(const Key& key, bool count_miss = true) {
    const std::lock_guard lock(mutex_);
    const auto found = index_.find(key);
    if (found == index_.end()) {
      if (count_miss) ++stats_.misses;
      return std::nullopt;
    }
    ++stats_.hits;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->value;
  }

  /// Keeps a value in the place of the one this key had. A value that is heavier than all that may
  /// be kept is not kept.
  void put(const Key& key, Value value, uint64_t weight = 0) {
    const std::lock_guard lock(mutex_);
    remove(key);
    Entries fresh;  // neither list nor index changes where memory is refused
    fresh.push_front(Entry{key, std::move(value), weight});
    index_.emplace(key, fresh.begin());
    entries_.splice(entries_.begin(), fresh);
    stats_.weight += weight;
    if (weight > max_weight_) {
      evict(entries_.begin());
      return;
    }
    shrink();
  }

  /// Whether there was a value to remove.
  bool erase(const Key& key) {
    const std::lock_guard lock(mutex_);
    return remove(key);
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    entries_.clear();
    index_.clear();
    stats_.weight = 0;
  }
  /// Evicts what a smaller capacity has no room for.
  void set_capacity(size_t count, uint64_t weight = kNoLimit) {
    const std::lock_guard lock(mutex_);
    max_count_ = count;
    max_weight_ = weight;
    shrink();
  }

  CacheStats stats() const {
    const std::lock_guard lock(mutex_);
    CacheStats out = stats_;
    out.count = entries_.size();
    return out;
  }

 private:
  struct Entry {
    Key key;
    Value value;
    uint64_t weight;
  };
  using Entries = std::list<Entry>;  // the one used last is first

  bool remove(const Key& key) {
    const auto found = index_.find(key);
    if (found == index_.end()) return false;
    drop(found->second);
    return true;
  }
  void drop(typename Entries::iterator at) {
    stats_.weight -= at->weight;
    index_.erase(at->key);
    entries_.erase(at);
  }
  void evict(typename Entries::iterator at) {
    drop(at);
    ++stats_.evictions;
  }
  void shrink() {
    while (!entries_.empty() && (entries_.size() > max_count_ || stats_.weight > max_weight_))
      evict(std::prev(entries_.end()));
  }

  mutable std::mutex mutex_;
  size_t max_count_;
  uint64_t max_weight_;
  Entries entries_;
  std::unordered_map<Key, typename Entries::iterator, Hash> index_;
  CacheStats stats_;
};

}  // namespace qc
