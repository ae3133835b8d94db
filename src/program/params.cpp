#include "program/params.h"

#include <bit>
#include <cstring>

namespace qc {

std::vector<Param> read_params(const Signature& kernel, const void* params) {
  std::vector<Param> out;
  out.reserve(kernel.numbers);
  for (const Field& f : kernel.fields) {
    const std::byte* at = static_cast<const std::byte*>(params) + f.offset;
    for (int i = 0; i < f.count; ++i) {
      if (f.type == Field::Type::f32) {
        float value;
        std::memcpy(&value, at + 4 * i, sizeof value);
        out.emplace_back(value);
      } else if (f.type == Field::Type::i64) {
        int64_t value;
        std::memcpy(&value, at + 8 * i, sizeof value);
        out.emplace_back(Dim(value));
      } else {
        int32_t value;
        std::memcpy(&value, at + 4 * i, sizeof value);
        out.emplace_back(Dim(value));
      }
    }
  }
  return out;
}

std::vector<std::byte> write_params(const Call& call) {
  std::vector<std::byte> out(call.kernel->params_size);
  for (const Field& f : call.kernel->fields) {
    for (int i = 0; i < f.count; ++i) {
      const Param& p = call.params[f.at + static_cast<size_t>(i)];
      if (f.type == Field::Type::f32) {
        std::memcpy(&out[f.offset + 4 * static_cast<size_t>(i)], &std::get<float>(p), 4);
      } else if (f.type == Field::Type::i64) {
        const int64_t value = std::get<Dim>(p).value();
        std::memcpy(&out[f.offset + 8 * static_cast<size_t>(i)], &value, 8);
      } else {
        const auto value = static_cast<int32_t>(std::get<Dim>(p).value());
        std::memcpy(&out[f.offset + 4 * static_cast<size_t>(i)], &value, 4);
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
