#include "ir/constant.h"

#include <string_view>

namespace qc {
namespace {
constexpr size_t kInternBytes = 4096;
constexpr int64_t kKeepBytes = 64 * 1024;

/// Of all that tells constants apart; many have the same elements and names of their own.
size_t hash_of(const Tensor& t, const std::string& name) {
  std::string_view text(reinterpret_cast<const char*>(t.bytes().data()), t.bytes().size());
  size_t h = std::hash<std::string_view>{}(text)*31 + std::hash<std::string>{}(name);
  h = h * 31 + static_cast<size_t>(t.dtype());
  for (int64_t d : t.shape()) h = h * 31 + static_cast<size_t>(d);
  return h;
}
}  // namespace

ConstId ConstantPool::add(Tensor tensor, std::string name) {
  std::vector<ConstId>* same_hash = nullptr;
  if (tensor.bytes().size() <= kInternBytes) {
    same_hash = &by_hash_[hash_of(tensor, name)];
    for (ConstId other : *same_hash) {
      if (entries_[other].name == name && entries_[other].tensor.identical(tensor)) return other;
    }
  }
  const ConstId id = static_cast<ConstId>(entries_.size());
  entries_.push_back(
      {tensor.dtype(), tensor.shape(), std::move(name), std::move(tensor), true, {}, {}});
  if (same_hash) same_hash->push_back(id);  // last: what is found by its contents is there
  return id;
}

ConstId ConstantPool::add_lazy(DType dtype, std::vector<int64_t> shape, std::string name,
                               Maker make) {
  entries_.push_back({dtype, std::move(shape), std::move(name), {}, false, std::move(make), {}});
  return static_cast<ConstId>(entries_.size() - 1);
}

void ConstantPool::made_from(ConstId id, ConstId operand) {
  // An equal constant that was there before was not made from this one.
  if (operand >= id || element_count(operand) != element_count(id)) return;
  std::optional<ConstId>& source = entries_[id].source;
  const auto width = [&](ConstId of) { return bits(dtype(narrowest(of))); };
  if (!source || width(operand) < width(*source)) source = operand;
}

ConstId ConstantPool::narrowest(ConstId id) const {
  ConstId out = id;
  for (ConstId at = id; entries_[at].source; at = *entries_[at].source) {
    const ConstId source = *entries_[at].source;
    if (bits(dtype(source)) < bits(dtype(out))) out = source;
  }
  return out;
}

int64_t ConstantPool::element_count(ConstId id) const {
  int64_t n = 1;
  for (int64_t d : shape(id)) n *= d;
  return n;
}

int64_t ConstantPool::byte_size(ConstId id) const {
  return element_count(id) * static_cast<int64_t>(bytes(dtype(id)));
}

Result<Tensor> ConstantPool::get(ConstId id) const {
  if (entries_[id].ready) return entries_[id].tensor;
  Maker make = entries_[id].make;  // the computation may itself add to the pool
  QC_ASSIGN(Tensor t, make());
  Entry& entry = entries_[id];
  QC_CHECK(t.dtype() == entry.dtype && t.shape() == entry.shape,
           "a recorded constant changed type");
  if (static_cast<int64_t>(t.bytes().size()) <= kKeepBytes) {
    entry.tensor = t;
    entry.ready = true;
  }
  return t;
}

void ConstantPool::drop_pages() const {
  for (const auto& file : files_) file->drop(file->bytes());
}

}  // namespace qc
