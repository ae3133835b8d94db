#include "frontends/pt2/storage_groups.h"

#include <algorithm>
#include <map>

namespace qc::pt2 {
namespace {

const std::string& placeholder(const InputSpec& spec) { return spec.arg.items[0].text; }

/// The elements [first, end) of a storage.
struct Span {
  int64_t first = 0, end = 0;

  bool contains(const Span& other) const { return first <= other.first && end >= other.end; }
};

Result<Span> span_of(const Layout& layout, const Loc& loc) {
  if (!all_static(layout.sizes) || !all_static(layout.strides) || !layout.offset.is_static()) {
    return error(Code::format, loc, "a stored tensor has a symbolic size");
  }
  __int128 end = static_cast<__int128>(layout.offset.value()) + 1;
  for (size_t i = 0; i < layout.sizes.size(); ++i) {
    const int64_t size = layout.sizes[i].value(), stride = layout.strides[i].value();
    if (size == 0) return Span{};
    if (stride < 0) return error(Code::format, loc, "a stored tensor has a negative stride");
    end += static_cast<__int128>(size - 1) * stride;
  }
  if (layout.offset.value() < 0 || end > INT64_MAX) {
    return error(Code::format, loc, "a stored tensor reaches beyond its storage");
  }
  return Span{layout.offset.value(), static_cast<int64_t>(end)};
}

TensorMeta storage_meta(const TensorMeta& like, const Span& span) {
  TensorMeta meta;
  meta.dtype = like.dtype;
  meta.device = like.device;
  meta.sizes.emplace_back().value = span.end - span.first;
  meta.strides.emplace_back().value = 1;
  meta.storage_offset.value = span.first;
  return meta;
}

}  // namespace

std::vector<StorageGroup> storage_groups(const Archive& archive) {
  std::map<const std::byte*, size_t> position;
  std::vector<StorageGroup> groups;
  for (const InputSpec& spec : archive.program().input_specs) {
    const StoredTensor* stored = spec.target.empty() ? nullptr : archive.find(spec.target);
    if (stored == nullptr || stored->pickled || stored->storage.empty() ||
        spec.arg.kind != ArgKind::tensor) {
      continue;
    }
    auto [at, fresh] = position.emplace(stored->storage.data(), groups.size());
    if (fresh) groups.emplace_back();
    groups[at->second].push_back(&spec);
  }
  std::erase_if(groups, [](const StorageGroup& group) { return group.size() < 2; });
  return groups;
}

SharedNames placeholders(const std::vector<StorageGroup>& groups) {
  SharedNames out;
  for (const StorageGroup& group : groups) {
    std::vector<std::string>& names = out.emplace_back();
    for (const InputSpec* spec : group) names.push_back(placeholder(*spec));
  }
  return out;
}

Result<GroupOwner> find_owner(const Context& context, const StorageGroup& group, const Loc& loc) {
  Span all{INT64_MAX, 0};
  std::vector<std::pair<const InputSpec*, Span>> dense;
  const TensorMeta* first = context.meta_of(placeholder(*group[0]));
  for (const InputSpec* spec : group) {
    const TensorMeta* meta = context.meta_of(placeholder(*spec));
    if (meta == nullptr) return error(Code::graph, loc, "value '{}' has no type", spec->target);
    if (meta->dtype != first->dtype) {
      return error(
          Code::unsupported, loc,
          "'{}' and '{}' are one memory with two element types, and the model writes to it",
          group[0]->target, spec->target);
    }
    QC_ASSIGN(Layout layout, context.memory.layout(*meta, loc));
    QC_ASSIGN(Span span, span_of(layout, loc));
    if (dense_order(layout)) dense.emplace_back(spec, span);
    all = {std::min(all.first, span.first), std::max(all.end, span.end)};
  }
  for (const auto& [spec, span] : dense) {
    if (span.contains(all)) return GroupOwner{spec, *context.meta_of(placeholder(*spec))};
  }
  return GroupOwner{nullptr, storage_meta(*first, all)};
}

}  // namespace qc::pt2
