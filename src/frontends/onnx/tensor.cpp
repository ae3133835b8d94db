#include "frontends/onnx/tensor.h"

#include <bit>
#include <cstring>

#include "frontends/onnx/typed_data.h"
#include "support/checked.h"

namespace qc::onnx {
namespace {

static_assert(std::endian::native == std::endian::little, "raw_data is little-endian");

struct TypeRow {
  const char* name;
  std::optional<DType> dtype;
};
// Indexed by the number of ONNX's DataType.
constexpr TypeRow kTypes[] = {
    {"UNDEFINED", {}},
    {"FLOAT", DType::f32},
    {"UINT8", DType::u8},
    {"INT8", DType::i8},
    {"UINT16", DType::u16},
    {"INT16", DType::i16},
    {"INT32", DType::i32},
    {"INT64", DType::i64},
    {"STRING", {}},
    {"BOOL", DType::boolean},
    {"FLOAT16", DType::f16},
    {"DOUBLE", DType::f64},
    {"UINT32", DType::u32},
    {"UINT64", DType::u64},
    {"COMPLEX64", {}},
    {"COMPLEX128", {}},
    {"BFLOAT16", DType::bf16},
    {"FLOAT8E4M3FN", DType::f8e4m3},
    {"FLOAT8E4M3FNUZ", DType::f8e4m3fnuz},
    {"FLOAT8E5M2", DType::f8e5m2},
    {"FLOAT8E5M2FNUZ", DType::f8e5m2fnuz},
    {"UINT4", DType::u4},
    {"INT4", DType::i4},
    {"FLOAT4E2M1", DType::f4e2m1},
    {"FLOAT8E8M0", DType::f8e8m0},
    {"UINT2", DType::u2},
    {"INT2", DType::i2},
};

// Sparse tensors may expand to this many bytes: what a dense tensor inside a file could hold.
constexpr int64_t kMaxDense = int64_t{1} << 31;
// Copied ranges this large are released from the mapping, so that a weight is resident once.
constexpr size_t kDropBytes = size_t{1} << 20;

bool all_0_or_1(std::span<const std::byte> bytes) {
  std::byte seen{0};
  for (std::byte b : bytes) seen |= b;
  return (seen & ~std::byte{1}) == std::byte{0};
}

}  // namespace

std::optional<DType> dtype_of(int32_t data_type) {
  const bool known = data_type >= 0 && static_cast<size_t>(data_type) < std::size(kTypes);
  return known ? kTypes[data_type].dtype : std::nullopt;
}

std::string data_type_name(int32_t data_type) {
  const bool known = data_type >= 0 && static_cast<size_t>(data_type) < std::size(kTypes);
  return known ? kTypes[data_type].name : fmt::format("type {}", data_type);
}

Loc TensorReader::loc(const TensorProto& tensor) const {
  Loc out{path_, {}, "tensor"};
  if (!tensor.name.empty()) out.names.emplace_back(tensor.name);
  return out;
}

Result<TensorReader::Storage> TensorReader::locate(const TensorProto& tensor) {
  const std::optional<DType> dtype = dtype_of(tensor.data_type);
  if (!dtype) {
    return error(Code::unsupported, loc(tensor), "elements of type {} are not supported",
                 data_type_name(tensor.data_type));
  }
  if (tensor.segmented) {
    return error(Code::unsupported, loc(tensor), "tensors stored in segments are not supported");
  }
  auto total = checked_bytes(*dtype, tensor.dims);
  if (!total) {
    total.diag().loc = loc(tensor);
    return std::move(total).diag();
  }
  Storage out;
  out.dtype = *dtype;
  out.size = *total;
  if (tensor.external) {
    QC_ASSIGN(ExternalFiles::Part part, external_.open(tensor));
    out.raw = part.bytes;
    out.owner = part.file;
  } else if (tensor.raw_data) {
    const auto* p = reinterpret_cast<const std::byte*>(tensor.raw_data->data());
    out.raw = {p, tensor.raw_data->size()};
    out.owner = file_;
  } else {
    out.typed = true;
    return out;
  }
  const int64_t count = out.size / static_cast<int64_t>(bytes(*dtype));
  const int64_t want = bits(*dtype) < 8 ? packed_size(count, per_byte(*dtype)) : out.size;
  if (static_cast<int64_t>(out.raw.size()) != want) {
    return error(Code::format, loc(tensor), "{} elements of {} take {} bytes, got {}", count,
                 data_type_name(tensor.data_type), want, out.raw.size());
  }
  const bool aligned = reinterpret_cast<uintptr_t>(out.raw.data()) % bytes(*dtype) == 0;
  out.borrowable = out.owner && aligned && bits(*dtype) >= 8 &&
                   (*dtype != DType::boolean || all_0_or_1(out.raw));
  return out;
}

Result<Tensor> TensorReader::read(const TensorProto& tensor) {
  QC_ASSIGN(const Storage at, locate(tensor));
  const DType dtype = at.dtype;
  if (at.typed) {
    return decode_typed(tensor, dtype, at.size / static_cast<int64_t>(bytes(dtype)), loc(tensor));
  }
  if (at.borrowable) return Tensor::borrow(dtype, tensor.dims, at.raw, at.owner);
  Tensor out(dtype, tensor.dims);
  std::span<std::byte> to = out.mutable_bytes();
  if (bits(dtype) < 8) {
    const size_t per = static_cast<size_t>(per_byte(dtype));
    for (size_t i = 0; i < to.size(); ++i) {
      const uint8_t byte = static_cast<uint8_t>(at.raw[i / per]);
      to[i] = std::byte{unpack(dtype, byte, static_cast<int>(i % per))};
    }
  } else if (dtype == DType::boolean) {
    for (size_t i = 0; i < to.size(); ++i) to[i] = std::byte{at.raw[i] != std::byte{0}};
  } else if (!to.empty()) {
    std::memcpy(to.data(), at.raw.data(), to.size());
  }
  if (at.owner && at.raw.size() >= kDropBytes) at.owner->drop(at.raw);
  return out;
}

Result<Tensor> TensorReader::read(const SparseTensorProto& sparse) {
  QC_ASSIGN(Tensor values, read(sparse.values));
  QC_ASSIGN(Tensor indices, read(sparse.indices));
  const Loc at = loc(sparse.values);
  auto total = checked_bytes(values.dtype(), sparse.dims);
  if (!total || *total > kMaxDense) {
    return error(Code::limit, at, "a sparse tensor larger than 2^31 bytes when dense");
  }
  const int64_t count = values.size();
  const int64_t rank = static_cast<int64_t>(sparse.dims.size());
  const bool linear = indices.shape() == std::vector<int64_t>{count};
  const bool coordinates = indices.shape() == std::vector<int64_t>{count, rank};
  if (values.rank() != 1 || indices.dtype() != DType::i64 || !(linear || coordinates)) {
    return error(Code::format, at, "sparse indices must be INT64 of shape [{0}] or [{0},{1}]",
                 count, rank);
  }
  Tensor out(values.dtype(), sparse.dims);
  std::span<std::byte> to = out.mutable_bytes();
  const size_t width = bytes(values.dtype());
  const int64_t* index = indices.data<int64_t>();
  int64_t previous = -1;
  for (int64_t i = 0; i < count; ++i) {
    int64_t flat = linear ? index[i] : 0;
    bool inside = !linear || (flat >= 0 && flat < out.size());
    for (int64_t d = 0; !linear && d < rank && inside; ++d) {
      const int64_t k = index[i * rank + d];
      inside = k >= 0 && k < sparse.dims[static_cast<size_t>(d)];
      if (inside) flat = flat * sparse.dims[static_cast<size_t>(d)] + k;
    }
    if (!inside || flat <= previous) {
      return error(Code::format, at, "sparse index {} is {}", i,
                   inside ? "not in ascending order" : "outside the tensor");
    }
    previous = flat;
    std::memcpy(&to[static_cast<size_t>(flat) * width],
                &values.bytes()[static_cast<size_t>(i) * width], width);
  }
  return out;
}

Result<NamedTensor> read_tensor_file(const std::string& path) {
  QC_ASSIGN(auto file, MappedFile::open(path));
  QC_ASSIGN(TensorProto proto, parse_tensor(file->bytes(), path));
  TensorReader reader(file);
  QC_ASSIGN(Tensor tensor, reader.read(proto));
  return NamedTensor{std::string(proto.name), std::move(tensor)};
}

}  // namespace qc::onnx
