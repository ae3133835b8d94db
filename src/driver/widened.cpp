#include "driver/widened.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

namespace qc {
namespace {

constexpr int64_t kSmall = 4096;

struct Widened {
  std::string first;
  int64_t count = 0, before = 0, after = 0;
};

}  // namespace

std::vector<std::string> widened_weights(const Program& program, const PackedConstants& constants) {
  const ConstantPool& pool = *program.pool;
  std::unordered_map<ConstId, ConstId> sources;
  for (const auto& [from, made] : constants) sources[made] = from.first;
  std::map<DType, Widened> by_type;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.kind != BufferKind::constant || buffer.alias_of >= 0 || buffer.size() < kSmall)
      continue;
    // Packed weights may be made from codes that are made from the model's.
    ConstId source = buffer.constant;
    for (auto it = sources.find(source); it != sources.end(); it = sources.find(source))
      source = it->second;
    const ConstId model = pool.narrowest(source);
    const int64_t before = (pool.element_count(model) * bits(pool.dtype(model)) + 7) / 8;
    const DType dtype = pool.dtype(model);
    if (bits(dtype) > 8 || dtype == DType::boolean || buffer.size() < 2 * before) continue;
    Widened& w = by_type[dtype];
    if (w.count++ == 0) w.first = pool.name(model);
    w.before += before;
    w.after += buffer.size();
  }
  std::vector<std::string> out;
  for (const auto& [dtype, w] : by_type) {
    out.push_back(fmt::format(
        "{} constant{} of {} in the model ('{}'{}) take{} {} bytes instead of {}: no kernel reads "
        "them so narrow where they are used",
        w.count, w.count > 1 ? "s" : "", name(dtype), w.first, w.count > 1 ? ", ..." : "",
        w.count > 1 ? "" : "s", w.after, w.before));
  }
  return out;
}

}  // namespace qc
