#include <gtest/gtest.h>

#include "frontends/onnx/tensor.h"
#include "onnx_bytes.h"

namespace qc::onnx {
namespace {
using namespace onnx_bytes;

Result<Tensor> decode(const std::string& bytes) {
  QC_ASSIGN(TensorProto proto, parse_tensor(as_bytes(bytes), "t.pb"));
  return TensorReader().read(proto);
}
std::string text(const std::string& bytes) {
  auto r = decode(bytes);
  return r.ok() ? "ok" : render(r.diag());
}
template <class T>
std::vector<T> elements(const Result<Tensor>& r) {
  EXPECT_TRUE(r.ok()) << render(r.diag());
  if (!r.ok()) return {};
  EXPECT_EQ(sizeof(T), bytes(r->dtype()));
  return {r->data<T>(), r->data<T>() + r->size()};
}
template <class T>
auto ints(uint32_t field, std::vector<T> values, bool packed) {
  return [=](pbf_writer& w) {
    if (packed) w.add_packed_int64(field, values.begin(), values.end());
    for (T v : values) {
      if (!packed) w.add_int64(field, v);
    }
  };
}
auto raw_data(std::string s) {
  return [s = std::move(s)](pbf_writer& w) { w.add_bytes(9, s.data(), s.size()); };
}

TEST(OnnxTensor, RawDataOfEveryWidth) {
  EXPECT_EQ(elements<float>(decode(tensor({2}, 1, raw_data(raw<float>({1.5f, -2}))))),
            (std::vector<float>{1.5f, -2}));
  EXPECT_EQ(elements<int64_t>(decode(tensor({1, 2}, 7, raw_data(raw<int64_t>({-1, 5}))))),
            (std::vector<int64_t>{-1, 5}));
  EXPECT_EQ(elements<uint16_t>(decode(tensor({1}, 10, raw_data(raw<uint16_t>({0x3c00}))))),
            (std::vector<uint16_t>{0x3c00}));
  EXPECT_EQ(elements<double>(decode(tensor({}, 11, raw_data(raw<double>({0.1}))))),
            (std::vector<double>{0.1}));
}

struct FieldCase {
  int type;
  DType dtype;
  uint32_t field;
};
TEST(OnnxTensor, EveryIntegerTypeFromItsTypedField) {
  const FieldCase cases[] = {
      {2, DType::u8, 5},          {3, DType::i8, 5},      {4, DType::u16, 5},
      {5, DType::i16, 5},         {6, DType::i32, 5},     {7, DType::i64, 7},
      {9, DType::boolean, 5},     {10, DType::f16, 5},    {12, DType::u32, 11},
      {13, DType::u64, 11},       {16, DType::bf16, 5},   {17, DType::f8e4m3, 5},
      {18, DType::f8e4m3fnuz, 5}, {19, DType::f8e5m2, 5}, {20, DType::f8e5m2fnuz, 5},
      {24, DType::f8e8m0, 5}};
  for (const FieldCase& c : cases) {
    for (bool packed : {false, true}) {
      auto r = decode(tensor({2}, c.type, ints<int64_t>(c.field, {1, 0}, packed)));
      ASSERT_TRUE(r.ok()) << c.type << render(r.diag());
      EXPECT_EQ(r->dtype(), c.dtype);
      std::vector<std::byte> want(2 * bytes(c.dtype));
      want[0] = std::byte{1};
      EXPECT_TRUE(std::equal(want.begin(), want.end(), r->bytes().begin(), r->bytes().end()))
          << c.type;
    }
  }
}

TEST(OnnxTensor, FloatAndDoubleFieldsPackedAndNot) {
  EXPECT_EQ(elements<float>(decode(tensor({3}, 1,
                                          [](pbf_writer& w) {
                                            const float v[] = {1, 2};
                                            w.add_packed_float(4, std::begin(v), std::end(v));
                                            w.add_float(4, 3);
                                          }))),
            (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(elements<double>(decode(tensor({2}, 11,
                                           [](pbf_writer& w) {
                                             w.add_double(10, 1);
                                             w.add_double(10, -1);
                                           }))),
            (std::vector<double>{1, -1}));
}

TEST(OnnxTensor, SubByteElementsComeOutOnePerByte) {
  EXPECT_EQ(elements<int8_t>(decode(tensor({3}, 22, raw_data("\x8f\x07")))),
            (std::vector<int8_t>{-1, -8, 7}));
  EXPECT_EQ(elements<uint8_t>(decode(tensor({3}, 21, raw_data("\x8f\x07")))),
            (std::vector<uint8_t>{15, 8, 7}));
  EXPECT_EQ(elements<uint8_t>(decode(tensor({2}, 23, raw_data("\xf1")))),
            (std::vector<uint8_t>{1, 15}))
      << "fp4 keeps its bit pattern";
  EXPECT_EQ(elements<int8_t>(decode(tensor({5}, 26, raw_data("\xe4\x01")))),
            (std::vector<int8_t>{0, 1, -2, -1, 1}));
  EXPECT_EQ(elements<uint8_t>(decode(tensor({4}, 25, raw_data("\xe4")))),
            (std::vector<uint8_t>{0, 1, 2, 3}));
  EXPECT_EQ(elements<int8_t>(decode(tensor({3}, 22, ints<int64_t>(5, {0x8f, 0x07}, true)))),
            (std::vector<int8_t>{-1, -8, 7}))
      << "an entry of int32_data holds two elements";
}

TEST(OnnxTensor, BoolsAreNormalised) {
  EXPECT_EQ(elements<uint8_t>(decode(tensor({3}, 9, raw_data(std::string("\x00\x02\xff", 3))))),
            (std::vector<uint8_t>{0, 1, 1}));
  EXPECT_EQ(elements<uint8_t>(decode(tensor({2}, 9, ints<int64_t>(5, {7, 0}, false)))),
            (std::vector<uint8_t>{1, 0}));
}

TEST(OnnxTensor, EmptyTensorsNeedNoData) {
  auto r = decode(tensor({0, 3}, 1, [](pbf_writer&) {}));
  ASSERT_TRUE(r.ok()) << render(r.diag());
  EXPECT_EQ(r->size(), 0);
}

TEST(OnnxTensor, SmallTypesMayBeStoredAsSignedOrUnsigned) {
  EXPECT_EQ(elements<int8_t>(decode(tensor({2}, 3, ints<int64_t>(5, {-1, 255}, true)))),
            (std::vector<int8_t>{-1, -1}));
}

TEST(OnnxTensorErrors, SizesMustMatchTheDims) {
  EXPECT_EQ(text(tensor({3}, 1, raw_data("12345678"))),
            "error[format]: tensor 'w': 3 elements of FLOAT take 12 bytes, got 8");
  EXPECT_EQ(text(tensor({5}, 22, raw_data("12"))),
            "error[format]: tensor 'w': 5 elements of INT4 take 3 bytes, got 2");
  EXPECT_EQ(text(tensor({2}, 6, ints<int64_t>(5, {1, 2, 3}, true))),
            "error[format]: tensor 'w': expected 2 elements of INT32, got 3");
  EXPECT_EQ(text(tensor({2}, 1, [](pbf_writer& w) { w.add_float(4, 1); })),
            "error[format]: tensor 'w': expected 2 elements of FLOAT, got 1");
}

TEST(OnnxTensorErrors, HugeDimsAllocateNothing) {
  EXPECT_EQ(text(tensor({int64_t{1} << 39}, 2, [](pbf_writer&) {})),
            "error[format]: tensor 'w': expected 549755813888 elements of UINT8, got 0");
  EXPECT_EQ(text(tensor({int64_t{1} << 32, int64_t{1} << 32}, 1, raw_data("1234"))),
            "error[limit]: tensor 'w': a tensor of this shape is larger than 2^40 bytes");
  EXPECT_EQ(decode(tensor({-1}, 1, raw_data("1234"))).diag().code, Code::limit);
}

TEST(OnnxTensorErrors, ValuesMustFitTheType) {
  EXPECT_EQ(text(tensor({1}, 3, ints<int64_t>(5, {300}, true))),
            "error[format]: tensor 'w': a stored value does not fit INT8");
  EXPECT_EQ(text(tensor({1}, 1, [](pbf_writer& w) { w.add_string(4, "123"); })),
            "error[format]: tensor 'w': a stored value does not fit FLOAT");
}

TEST(OnnxTensorErrors, UnsupportedElementTypes) {
  EXPECT_EQ(text(tensor({1}, 8, [](pbf_writer& w) { w.add_string(6, "s"); })),
            "error[unsupported]: tensor 'w': elements of type STRING are not supported");
  EXPECT_EQ(text(tensor({1}, 99, raw_data("1"))),
            "error[unsupported]: tensor 'w': elements of type type 99 are not supported");
  EXPECT_EQ(text(tensor({1}, 1, [](pbf_writer& w) { w.add_string(3, ""); })),
            "error[unsupported]: tensor 'w': tensors stored in segments are not supported");
}

SparseTensorProto sparse(const std::string& values, const std::string& indices,
                         std::vector<int64_t> dims) {
  SparseTensorProto s;
  s.values = std::move(parse_tensor(as_bytes(values), "")).value();
  s.indices = std::move(parse_tensor(as_bytes(indices), "")).value();
  s.dims = std::move(dims);
  return s;
}

TEST(OnnxTensor, SparseBecomesDense) {
  const std::string values = tensor({2}, 1, raw_data(raw<float>({5, 7})));
  const std::string linear = tensor({2}, 7, raw_data(raw<int64_t>({1, 5})));
  const std::string pairs = tensor({2, 2}, 7, raw_data(raw<int64_t>({0, 1, 1, 2})));
  for (const std::string& indices : {linear, pairs}) {
    EXPECT_EQ(elements<float>(TensorReader().read(sparse(values, indices, {2, 3}))),
              (std::vector<float>{0, 5, 0, 0, 0, 7}));
  }
}

TEST(OnnxTensorErrors, SparseIndicesAreChecked) {
  const std::string values = tensor({2}, 1, raw_data(raw<float>({5, 7})));
  auto message = [&](std::vector<int64_t> shape, std::initializer_list<int64_t> index,
                     std::vector<int64_t> dims) {
    const std::string indices = tensor(shape, 7, raw_data(raw(index)));
    return render(TensorReader().read(sparse(values, indices, dims)).diag());
  };
  EXPECT_EQ(message({2}, {1, 6}, {2, 3}),
            "error[format]: tensor 'w': sparse index 1 is outside the tensor");
  EXPECT_EQ(message({2}, {-1, 1}, {2, 3}),
            "error[format]: tensor 'w': sparse index 0 is outside the tensor");
  EXPECT_EQ(message({2, 2}, {0, 1, 0, 3}, {2, 3}),
            "error[format]: tensor 'w': sparse index 1 is outside the tensor");
  EXPECT_EQ(message({2}, {3, 3}, {2, 3}),
            "error[format]: tensor 'w': sparse index 1 is not in ascending order");
  EXPECT_EQ(message({1, 2}, {1, 2}, {2, 3}),
            "error[format]: tensor 'w': sparse indices must be INT64 of shape [2] or [2,2]");
  EXPECT_EQ(message({2}, {1, 2}, {int64_t{1} << 35}),
            "error[limit]: tensor 'w': a sparse tensor larger than 2^31 bytes when dense");
}

}  // namespace
}  // namespace qc::onnx
