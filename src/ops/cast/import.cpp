#include "ops/cast/cast.h"
#include "ops/common/importing.h"
#include "ops/common/registration.h"

namespace qc {
namespace {

Result<Values> cast_to(const Import& m, Value* x, DType to) {
  if (x->dtype() == to) return Values{x};
  QC_ASSIGN(const bool saturate, m.b("saturate", true));
  QC_ASSIGN(const std::string round, m.s("round_mode", "up"));
  AttrMap attrs = {{"to", to}};
  if (!saturate) attrs["saturate"] = false;
  if (to == DType::f8e8m0) attrs["round"] = round;
  // Too large a float keeps its low bits in ONNX's integers below a byte.
  if (is_float(x->dtype()) && is_integer(to) && bits(to) < 8) {
    QC_ASSIGN(x, m.cast(x, DType::i32));
  }
  return one(m.emit("cast", {x}, attrs));
}

Result<Values> onnx_cast(Import& m) {
  QC_ASSIGN(Value * x, operand(m, 0));
  QC_ASSIGN(const DType to, m.dtype("to", x->dtype()));
  return cast_to(m, x, to);
}

/// Up to version 5 the type is named.
Result<Values> onnx_cast_named(Import& m) {
  constexpr std::pair<std::string_view, DType> kNames[] = {
      {"FLOAT", DType::f32},  {"DOUBLE", DType::f64}, {"FLOAT16", DType::f16},
      {"INT8", DType::i8},    {"INT16", DType::i16},  {"INT32", DType::i32},
      {"INT64", DType::i64},  {"UINT8", DType::u8},   {"UINT16", DType::u16},
      {"UINT32", DType::u32}, {"UINT64", DType::u64}, {"BOOL", DType::boolean},
  };
  QC_ASSIGN(Value * x, operand(m, 0));
  QC_ASSIGN(const std::string to, m.s("to", ""));
  for (const auto& [name, dtype] : kNames) {
    if (name == to) return cast_to(m, x, dtype);
  }
  return m.fail(Code::unsupported, "cast to '{}'", to);
}

Result<Values> onnx_cast_like(Import& m) {
  QC_ASSIGN(Value * x, operand(m, 0));
  QC_ASSIGN(Value * like, operand(m, 1));
  return cast_to(m, x, like->dtype());
}

/// Codes below a byte are kept with their sign extended, so those go through the unsigned type.
Result<Value*> bits_as(const Import& m, Value* x, DType to) {
  const auto unsigned_of = [](DType d) {
    return d == DType::i4 ? DType::u4 : d == DType::i2 ? DType::u2 : d;
  };
  QC_ASSIGN(x, m.cast(x, unsigned_of(x->dtype())));
  if (x->dtype() != unsigned_of(to)) {
    QC_ASSIGN(x, m.emit("bit_cast", {x}, {{"to", unsigned_of(to)}}));
  }
  return m.cast(x, to);
}

Result<Values> onnx_bit_cast(Import& m) {
  QC_ASSIGN(Value * x, operand(m, 0));
  QC_ASSIGN(const DType to, m.dtype("to", x->dtype()));
  return one(bits_as(m, x, to));
}

/// prims calls its operand a.
Result<Values> aten_to(Import& m) {
  QC_ASSIGN(Value * x, m.tensor(m.given("a") ? "a" : "self"));
  QC_ASSIGN(const DType to, m.dtype("dtype", x->dtype()));
  return one(m.cast(x, to));
}

Result<Values> aten_type_as(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Value * other, m.tensor("other"));
  return one(m.cast(x, other->dtype()));
}

Result<Values> aten_view_dtype(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(const DType to, m.dtype("dtype", x->dtype()));
  if (bits(x->dtype()) != bits(to)) return one(m.emit("bit_view", {x}, {{"to", to}}));
  return one(bits_as(m, x, to));
}

constexpr ImportRow kRows[] = {
    {"", "Cast", onnx_cast_named},           {"", "Cast", onnx_cast, 6},
    {"", "CastLike", onnx_cast_like},        {"", "BitCast", onnx_bit_cast},
    {"aten", "to.dtype", aten_to},           {"aten", "to.dtype_layout", aten_to},
    {"aten", "to.device", aten_to},          {"aten", "to.other", aten_type_as},
    {"aten", "_to_copy.default", aten_to},   {"aten", "type_as.default", aten_type_as},
    {"aten", "view.dtype", aten_view_dtype}, {"prims", "convert_element_type.default", aten_to},
};

}  // namespace

void register_cast(Registration& r) {
  r.op<Cast>();
  r.op<BitCast>();
  r.op<BitView>();
  r.imports(kRows);
}

}  // namespace qc
