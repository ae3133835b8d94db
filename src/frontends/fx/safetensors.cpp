#include "frontends/fx/safetensors.h"

#include <cstring>

#include "frontends/pt2/json.h"
#include "support/budget.h"

namespace qc::fx {
namespace {

struct TypeName {
  std::string_view name, stored;  // in PyTorch and in safetensors
  DType dtype;
};
constexpr TypeName kTypes[] = {
    {"float32", "F32", DType::f32},
    {"float64", "F64", DType::f64},
    {"float16", "F16", DType::f16},
    {"bfloat16", "BF16", DType::bf16},
    {"int8", "I8", DType::i8},
    {"int16", "I16", DType::i16},
    {"int32", "I32", DType::i32},
    {"int64", "I64", DType::i64},
    {"uint8", "U8", DType::u8},
    {"uint16", "U16", DType::u16},
    {"uint32", "U32", DType::u32},
    {"uint64", "U64", DType::u64},
    {"bool", "BOOL", DType::boolean},
    {"float8_e4m3fn", "F8_E4M3", DType::f8e4m3},
    {"float8_e5m2", "F8_E5M2", DType::f8e5m2},
};

Result<Tensor> tensor_at(const pt2::Json& entry, std::span<const std::byte> data, const Loc& loc,
                         const std::shared_ptr<const MappedFile>& file) {
  QC_ASSIGN(const pt2::Json type, entry.at("dtype"));
  QC_ASSIGN(const std::string stored, type.text());
  const TypeName* known = nullptr;
  for (const TypeName& t : kTypes) {
    if (t.stored == stored) known = &t;
  }
  if (!known) return error(Code::unsupported, loc, "tensors of type {} are not supported", stored);
  QC_ASSIGN(const pt2::Json sizes, entry.at("shape"));
  QC_ASSIGN(auto list, sizes.array());
  std::vector<int64_t> shape;
  for (const auto size : list) {
    QC_ASSIGN(const int64_t number, sizes.with(size).integer());
    if (number < 0) return sizes.broken("a list of sizes");
    shape.push_back(number);
  }
  QC_ASSIGN(const int64_t bytes, checked_bytes(known->dtype, shape));
  QC_ASSIGN(const pt2::Json offsets, entry.at("data_offsets"));
  QC_ASSIGN(auto ends, offsets.array());
  if (ends.size() != 2) return offsets.broken("two numbers");
  QC_ASSIGN(const int64_t begin, offsets.with(ends.at(0)).integer());
  QC_ASSIGN(const int64_t end, offsets.with(ends.at(1)).integer());
  if (begin < 0 || end < begin || end > static_cast<int64_t>(data.size()) || end - begin != bytes) {
    return error(Code::format, loc, "elements {} to {} do not fit the shape or the file", begin,
                 end);
  }
  const auto part = data.subspan(static_cast<size_t>(begin), static_cast<size_t>(bytes));
  if (known->dtype == DType::boolean) {
    for (const std::byte b : part) {
      if (b > std::byte{1}) return error(Code::format, loc, "a bool is neither 0 nor 1");
    }
  }
  return Tensor::borrow(known->dtype, std::move(shape), part, file);
}

}  // namespace

std::optional<DType> dtype_named(std::string_view name) {
  for (const TypeName& t : kTypes) {
    if (t.name == name) return t.dtype;
  }
  return std::nullopt;
}

Result<TensorMap> read_safetensors(const std::shared_ptr<const MappedFile>& file, size_t begin) {
  const Loc loc{file->path(), {}, {}};
  std::span<const std::byte> bytes = file->bytes();
  uint64_t length = 0;
  if (bytes.size() < begin || bytes.size() - begin < sizeof length)
    return error(Code::format, loc, "not a safetensors file");
  bytes = bytes.subspan(begin);
  std::memcpy(&length, bytes.data(), sizeof length);
  if (length > bytes.size() - sizeof length)
    return error(Code::format, loc, "the header of the safetensors file is longer than the file");
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()) + sizeof length,
                                length);
  pt2::JsonFile parsed;
  QC_ASSIGN(const pt2::Json root, parsed.parse(header, loc));
  QC_ASSIGN(auto entries, root.object());
  TensorMap out;
  for (const auto& [key, value] : entries) {
    if (key == "__metadata__") continue;
    spend(Cost::work, kNodeWork);
    const std::string name(key);
    const Loc at{file->path(), {name}, "tensor"};
    QC_ASSIGN(Tensor tensor, tensor_at(pt2::Json(value, key, at),
                                       bytes.subspan(sizeof length + length), at, file));
    if (!out.emplace(name, std::move(tensor)).second)
      return error(Code::graph, at, "tensor '{}' is there twice", name);
  }
  return out;
}

}  // namespace qc::fx
