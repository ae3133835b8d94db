#include "frontends/onnx/typed_data.h"

#include <cstring>
#include <protozero/pbf_reader.hpp>

#include "frontends/onnx/tensor.h"

namespace qc::onnx {
namespace {

/// Number of the TensorProto field that carries this type when raw_data does not.
uint32_t typed_field(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 4;
    case DType::i64:
      return 7;
    case DType::f64:
      return 10;
    case DType::u32:
    case DType::u64:
      return 11;
    default:
      return 5;
  }
}

/// Writes the values of one typed data field, in file order, as elements of `out`.
class FieldSink {
 public:
  FieldSink(DType dtype, Tensor& out)
      : dtype_(dtype), out_(out.mutable_bytes()), count_(out.size()) {}

  /// One varint of int32_data, int64_data or uint64_data; false when it does not fit the type.
  bool put(uint64_t value) {
    if (dtype_ == DType::boolean) {
      value = value != 0;
    } else if (bits(dtype_) < 64 && !fits(value, bits(dtype_) < 8 ? 8 : bits(dtype_))) {
      return false;
    }
    for (int sub = 0; sub < per_byte(dtype_); ++sub, ++next_) {
      if (next_ >= count_) continue;
      if (bits(dtype_) < 8) {
        out_[static_cast<size_t>(next_)] =
            std::byte{unpack(dtype_, static_cast<uint8_t>(value), sub)};
      } else {
        std::memcpy(&out_[static_cast<size_t>(next_) * bytes(dtype_)], &value, bytes(dtype_));
      }
    }
    return true;
  }
  /// The bytes of fixed-width values of float_data or double_data.
  void put_fixed(std::string_view values) {
    const size_t at = static_cast<size_t>(next_) * bytes(dtype_);
    next_ += static_cast<int64_t>(values.size() / bytes(dtype_));
    if (next_ <= count_ && !values.empty()) {
      std::memcpy(out_.data() + at, values.data(), values.size());
    }
  }
  /// Elements seen so far, rounded up to whole packed entries; may exceed the tensor's size.
  int64_t seen() const { return next_; }

 private:
  // Small values are written as signed or as unsigned bit patterns by different exporters.
  static bool fits(uint64_t value, int width) {
    const int64_t v = static_cast<int64_t>(value);
    return v >= -(int64_t{1} << (width - 1)) && v < (int64_t{1} << width);
  }

  DType dtype_;
  std::span<std::byte> out_;
  int64_t count_;
  int64_t next_ = 0;
};

/// Feeds every occurrence of the field, packed or not, to the sink.
bool walk_field(std::string_view wire, uint32_t field, size_t width, FieldSink& sink) {
  using Wire = protozero::pbf_wire_type;
  protozero::pbf_reader m(wire.data(), wire.size());
  bool fits = true;
  while (fits && m.next(field)) {
    if (field == 4 || field == 10) {
      if (m.wire_type() == Wire::length_delimited) {
        auto view = m.get_view();
        if (view.size() % width != 0) return false;
        sink.put_fixed({view.data(), view.size()});
      } else if (m.wire_type() == Wire::fixed32 && width == 4) {
        const float value = m.get_float();
        sink.put_fixed({reinterpret_cast<const char*>(&value), sizeof value});
      } else if (m.wire_type() == Wire::fixed64 && width == 8) {
        const double value = m.get_double();
        sink.put_fixed({reinterpret_cast<const char*>(&value), sizeof value});
      } else {
        m.skip();
      }
    } else if (m.wire_type() == Wire::length_delimited) {
      for (uint64_t value : m.get_packed_uint64()) fits = fits && sink.put(value);
    } else if (m.wire_type() == Wire::varint) {
      fits = sink.put(m.get_uint64());
    } else {
      m.skip();
    }
  }
  return fits;
}

}  // namespace

uint8_t unpack(DType dtype, uint8_t byte, int sub) {
  const int width = bits(dtype);
  const uint8_t code = static_cast<uint8_t>((byte >> (sub * width)) & ((1 << width) - 1));
  const bool negative = is_integer(dtype) && is_signed(dtype) && (code >> (width - 1)) != 0;
  return negative ? static_cast<uint8_t>(code | (0xff << width)) : code;
}

Result<Tensor> decode_typed(const TensorProto& tensor, DType dtype, int64_t count, const Loc& loc) {
  // Every entry takes at least a byte of the file: what cannot be there is not allocated.
  const int per = per_byte(dtype);
  const bool possible = packed_size(count, per) <= static_cast<int64_t>(tensor.wire.size());
  Tensor out(dtype, possible ? tensor.dims : std::vector<int64_t>{0});
  FieldSink sink(dtype, out);
  bool fits = false;
  try {
    fits = walk_field(tensor.wire, typed_field(dtype), bytes(dtype), sink);
  } catch (const protozero::exception& e) {
    return error(Code::format, loc, "malformed tensor data: {}", e.what());
  }
  if (!fits) {
    return error(Code::format, loc, "a stored value does not fit {}",
                 data_type_name(tensor.data_type));
  }
  if (!possible || packed_size(sink.seen(), per) != packed_size(count, per)) {
    return error(Code::format, loc, "expected {} elements of {}, got {}", count,
                 data_type_name(tensor.data_type), sink.seen());
  }
  return out;
}

}  // namespace qc::onnx
