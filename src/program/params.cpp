#include "program/params.h"

#include <algorithm>
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

std::vector<Param> zeros(const Signature& kernel) {
  std::vector<Param> out;
  for (const Field& f : kernel.fields)
    out.insert(out.end(), static_cast<size_t>(f.count),
               f.type == Field::Type::f32 ? Param(0.0f) : Param(Dim(0)));
  return out;
}

bool is_default(const Param& param) {
  if (const float* f = std::get_if<float>(&param)) return std::bit_cast<uint32_t>(*f) == 0;
  return std::get<Dim>(param) == Dim(0);
}

void MemberText::add(std::string_view name, std::string_view value) {
  while (!name.starts_with(open_)) {  // the last value was in other structs
    open_.resize(open_.rfind('.', open_.size() - 2) + 1);
    text_ += '}';
  }
  if (!text_.empty()) text_ += ", ";
  for (size_t dot; (dot = name.find('.', open_.size())) != name.npos;) {
    text_.append(mark_).append(name.substr(open_.size(), dot - open_.size())).append(" = {");
    open_ = name.substr(0, dot + 1);
  }
  text_.append(mark_).append(name.substr(open_.size())).append(" = ").append(value);
}

std::string MemberText::str() const {
  return text_ + std::string(static_cast<size_t>(std::ranges::count(open_, '.')), '}');
}

}  // namespace qc
