#include "program/params.h"

#include <bit>
#include <cstring>

namespace qc {

std::vector<std::byte> write_params(const Signature& kernel, const std::vector<Param>& params,
                                    int32_t free) {
  std::vector<std::byte> out(kernel.params_size);
  const auto known = [&](const Dim& d) {
    return d.is_static() || free == 0 ? d.value() : int64_t{free};
  };
  for (const Field& f : kernel.fields) {
    for (size_t i = 0; i < static_cast<size_t>(f.count); ++i) {
      const Param& p = params[f.at + i];
      if (f.type == Field::Type::f32) {
        std::memcpy(&out[f.offset + 4 * i], &std::get<float>(p), 4);
      } else if (f.type == Field::Type::i64) {
        const int64_t value = known(std::get<Dim>(p));
        std::memcpy(&out[f.offset + 8 * i], &value, 8);
      } else {
        const auto value = static_cast<int32_t>(known(std::get<Dim>(p)));
        std::memcpy(&out[f.offset + 4 * i], &value, 4);
      }
    }
  }
  return out;
}

bool is_default(const Param& param) {
  if (const float* f = std::get_if<float>(&param)) return std::bit_cast<uint32_t>(*f) == 0;
  return std::get<Dim>(param) == Dim(0);
}

}  // namespace qc
