#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "arrays/compare.h"
#include "arrays/npy.h"
#include "arrays/npz.h"
#include "arrays/stream.h"
#include "support/file.h"
#include "support/output.h"

namespace qc {
namespace {

std::span<const std::byte> as_bytes(const std::string& s) {
  return {reinterpret_cast<const std::byte*>(s.data()), s.size()};
}

/// An .npy file with the given header dict and elements.
std::string npy(const std::string& dict, const std::string& elements, char version = 1) {
  std::string out("\x93NUMPY", 6);
  out +=
      {version, '\0', static_cast<char>(dict.size() & 0xff), static_cast<char>(dict.size() >> 8)};
  if (version > 1) out += {'\0', '\0'};
  return out + dict + elements;
}

Result<Tensor> parse(const std::string& file) { return parse_npy(as_bytes(file), "a.npy"); }

std::string message(const std::string& file) {
  auto r = parse(file);
  return r.ok() ? "parsed" : render(r.diag());
}

class ArraysTest : public ::testing::Test {
 protected:
  std::string path(const char* name) const { return ::testing::TempDir() + "qc_arrays_" + name; }
};

TEST_F(ArraysTest, EveryTypeRoundTrips) {
  for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::i8, DType::i16, DType::i32,
                      DType::i64, DType::u8, DType::u16, DType::u32, DType::u64, DType::boolean}) {
    Tensor t(dtype, {2, 3});
    auto bytes = t.mutable_bytes();
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::byte>(dtype == DType::boolean ? i % 2 : 17 * i + 3);
    }
    ASSERT_TRUE(write_npy(path("t.npy"), t).ok());
    auto back = read_npy(path("t.npy"));
    ASSERT_TRUE(back.ok()) << render(back.diag());
    EXPECT_TRUE(back->identical(t)) << name(dtype);
  }
  std::remove(path("t.npy").c_str());
}

TEST_F(ArraysTest, TypesUnknownToNumpyAreWrittenAsTheirBits) {
  EXPECT_NE(npy_header(Tensor(DType::bf16, {2})).find("'<u2'"), std::string::npos);
  EXPECT_NE(npy_header(Tensor(DType::f8e4m3, {1})).find("'|u1'"), std::string::npos);
  EXPECT_NE(npy_header(Tensor(DType::i4, {1})).find("'|i1'"), std::string::npos);
}

TEST_F(ArraysTest, HeaderIsNumpysAndAligned) {
  std::string header = npy_header(Tensor(DType::f32, {2, 3}));
  EXPECT_NE(header.find("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"),
            std::string::npos);
  EXPECT_NE(npy_header(Tensor(DType::f32, {5})).find("(5,)"), std::string::npos);
  EXPECT_NE(npy_header(Tensor(DType::f32, {})).find("()"), std::string::npos);
  EXPECT_EQ(header.size() % 64, 0u);
  EXPECT_EQ(header.back(), '\n');
}

TEST_F(ArraysTest, FortranOrderBecomesRowMajor) {
  auto t = parse(npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", "abcdef"));
  ASSERT_TRUE(t.ok());
  EXPECT_EQ(std::memcmp(t->bytes().data(), "acebdf", 6), 0);
}

TEST_F(ArraysTest, BigEndianIsConverted) {
  auto t = parse(npy("{'descr': '>i4', 'fortran_order': False, 'shape': (1,), }",
                     std::string("\x00\x00\x01\x02", 4)));
  ASSERT_TRUE(t.ok());
  EXPECT_EQ(*t->data<int32_t>(), 0x102);
}

TEST_F(ArraysTest, VersionTwoAndVoidBitsAndBoolsAreRead) {
  auto t = parse(npy("{'descr': '|V2', 'fortran_order': False, 'shape': (1,), }", "ab", 2));
  ASSERT_TRUE(t.ok());
  EXPECT_EQ(t->dtype(), DType::u16);
  auto b = parse(
      npy("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", std::string("\x02\x00", 2)));
  ASSERT_TRUE(b.ok());
  EXPECT_EQ(b->bytes()[0], std::byte{1});
  EXPECT_EQ(b->bytes()[1], std::byte{0});
}

TEST_F(ArraysTest, EmptyAndScalarArrays) {
  auto empty = parse(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 7), }", ""));
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(empty->size(), 0);
  auto scalar = parse(npy("{'descr': '|i1', 'fortran_order': False, 'shape': (), }", "a"));
  ASSERT_TRUE(scalar.ok());
  EXPECT_EQ(scalar->rank(), 0);
}

TEST_F(ArraysTest, BadHeadersAreNamed) {
  struct {
    std::string dict, elements, text;
  } cases[] = {
      {"[]", "", "not a dict"},
      {"{'descr': '<f4', 'fortran_order': False, }", "", "is missing"},
      {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (), }", "", "repeated"},
      {"{'descr': '<f4', 'fortran_order': 0, 'shape': (), }", "", "neither True nor False"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "", "non-negative"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", "",
       "too large"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 2), }", "",
       "error[limit]"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "abcd", "needs 8"},
      {"{'descr': '<c8', 'fortran_order': False, 'shape': (), }", "", "'<c8'"},
      {"{'descr': '|O', 'fortran_order': False, 'shape': (), }", "", "'|O'"},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (), }", "", "records"},
      {"{'descr': '<f4' 'shape': ()}", "", "comma"},
      {"{'descr': '<f4", "", "not supported"},
  };
  for (const auto& c : cases) {
    EXPECT_NE(message(npy(c.dict, c.elements)).find(c.text), std::string::npos)
        << c.dict << " gave " << message(npy(c.dict, c.elements));
  }
  EXPECT_NE(message("PK").find("magic"), std::string::npos);
  EXPECT_NE(message(npy("{}", "", 9)).find("version 9"), std::string::npos);
}

TEST_F(ArraysTest, EveryTruncationAndByteFlipIsHandled) {
  std::string file =
      npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }", std::string(16, 'x'));
  for (size_t n = 0; n < file.size(); ++n) EXPECT_FALSE(parse(file.substr(0, n)).ok()) << n;
  for (size_t i = 0; i < file.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string broken = file;
      broken[i] = static_cast<char>(broken[i] ^ (1 << bit));
      (void)parse(broken);
    }
  }
}

TEST_F(ArraysTest, NpzRoundTripsAndIsDeterministic) {
  float values[] = {1, 2, 3};
  std::vector<NamedArray> arrays;
  arrays.push_back({"in_0", Tensor::of<float>(DType::f32, {3}, values)});
  arrays.push_back({"other", Tensor(DType::i64, {2, 0})});
  ASSERT_TRUE(write_npz(path("a.npz"), arrays).ok());
  ASSERT_TRUE(write_npz(path("b.npz"), arrays).ok());
  EXPECT_EQ(*read_text(path("a.npz")), *read_text(path("b.npz")));
  auto back = read_npz(path("a.npz"));
  ASSERT_TRUE(back.ok()) << render(back.diag());
  ASSERT_EQ(back->size(), 2u);
  EXPECT_EQ((*back)[0].name, "in_0");
  EXPECT_TRUE((*back)[0].tensor.identical(arrays[0].tensor));
  EXPECT_TRUE((*back)[1].tensor.identical(arrays[1].tensor));
  std::remove(path("a.npz").c_str());
  std::remove(path("b.npz").c_str());
}

TEST_F(ArraysTest, StreamsGiveTheElementsOfWholeArraysInOrder) {
  for (const char* file : {"tests/models/digits.npz", "examples/digits/test.npz"}) {
    auto whole = read_npz(file);
    auto streams = ArrayStream::open_npz(file);
    ASSERT_TRUE(whole.ok() && streams.ok()) << file;
    ASSERT_EQ(whole->size(), streams->size());
    for (size_t i = 0; i < whole->size(); ++i) {
      const Tensor& t = (*whole)[i].tensor;
      ArrayStream& stream = (*streams)[i];
      EXPECT_EQ(stream.name(), (*whole)[i].name);
      ASSERT_EQ(stream.shape(), t.shape());
      ASSERT_EQ(stream.dtype(), t.dtype());
      std::vector<int64_t> sample = t.shape();
      sample[0] = 1;
      std::vector<std::byte> all;
      for (int64_t k = 0; k < t.shape()[0]; ++k) {
        auto next = stream.next(sample);
        ASSERT_TRUE(next.ok()) << render(next.diag());
        all.insert(all.end(), next->bytes().begin(), next->bytes().end());
      }
      EXPECT_TRUE(std::equal(all.begin(), all.end(), t.bytes().begin(), t.bytes().end()));
    }
  }
}

TEST_F(ArraysTest, DamagedDeflateStreamsAreNoticedWhileReading) {
  std::string file = *read_text("examples/digits/test.npz");
  file[file.size() / 2] = static_cast<char>(file[file.size() / 2] ^ 0x55);
  ASSERT_TRUE(write_file(path("broken.npz"), file).ok());
  auto streams = ArrayStream::open_npz(path("broken.npz"));
  bool noticed = !streams.ok();
  for (size_t i = 0; !noticed && i < streams->size(); ++i) {
    std::vector<int64_t> sample = (*streams)[i].shape();
    const int64_t count = sample[0];
    sample[0] = 1;
    for (int64_t k = 0; k < count && !noticed; ++k) noticed = !(*streams)[i].next(sample).ok();
  }
  EXPECT_TRUE(noticed);
  std::remove(path("broken.npz").c_str());
}

TEST_F(ArraysTest, NumpysStoredAndDeflatedFilesAreRead) {
  auto stored = read_npz("tests/models/digits.npz");
  ASSERT_TRUE(stored.ok()) << render(stored.diag());
  EXPECT_EQ((*stored)[0].name, "in_0");
  EXPECT_EQ((*stored)[0].tensor.shape(), (std::vector<int64_t>{1, 1, 8, 8}));
  auto deflated = read_npz("examples/digits/test.npz");
  ASSERT_TRUE(deflated.ok()) << render(deflated.diag());
  EXPECT_EQ((*deflated)[0].name, "images");
  EXPECT_EQ((*deflated)[1].tensor.dtype(), DType::u8);
  EXPECT_EQ((*deflated)[0].tensor.shape()[0], (*deflated)[1].tensor.shape()[0]);
}

TEST_F(ArraysTest, DamagedNpzIsAnErrorOrReadsButNeverCrashes) {
  std::string file = *read_text("examples/digits/test.npz");
  for (size_t n = 0; n < file.size(); n += 97) {
    EXPECT_FALSE(parse_npz(as_bytes(file.substr(0, n)), "a.npz").ok()) << n;
  }
  for (size_t i = 0; i < file.size(); i += (i < 200 || i + 400 > file.size()) ? 1 : 61) {
    std::string broken = file;
    broken[i] = static_cast<char>(broken[i] ^ 0x55);
    (void)parse_npz(as_bytes(broken), "a.npz");
  }
}

Tensor floats(std::vector<float> values) {
  auto n = static_cast<int64_t>(values.size());
  return Tensor::of<float>(DType::f32, {n}, values);
}

TEST(Compare, ToleranceIsRelativeToTheExpectedValue) {
  Tensor want = floats({100, 0}), near = floats({100.05f, 0}), far = floats({100.2f, 0});
  EXPECT_TRUE(compare(near, want, {1e-3, 0}).within);
  Difference d = compare(far, want, {1e-3, 0});
  EXPECT_FALSE(d.within);
  EXPECT_EQ(d.worst, 0);
  EXPECT_EQ(d.misses, 1);
  EXPECT_NEAR(d.max_abs, 0.2, 1e-4);
  EXPECT_NE(describe(d, far, want).find("1 of 2 elements differ"), std::string::npos);
}

TEST(Compare, NanAndInfinityOnlyEqualThemselves) {
  float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(compare(floats({nan, inf, -inf}), floats({nan, inf, -inf}), {}).within);
  EXPECT_FALSE(compare(floats({nan}), floats({1}), {1, 1}).within);
  EXPECT_FALSE(compare(floats({inf}), floats({-inf}), {1, 1}).within);
  EXPECT_FALSE(compare(floats({1}), floats({inf}), {1, 1}).within);
}

TEST(Compare, TypesShapesAndBits) {
  Tensor a = floats({0}), b = floats({-0.0f});
  EXPECT_TRUE(compare(a, b, {}).within);
  EXPECT_FALSE(compare(a, b, {}).bits_equal);
  EXPECT_FALSE(compare(a, Tensor(DType::f64, {1}), {}).same_type);
  EXPECT_FALSE(compare(a, Tensor(DType::f32, {1, 1}), {1, 1}).within);
  EXPECT_EQ(describe(compare(a, Tensor(DType::i64, {2}), {}), a, Tensor(DType::i64, {2})),
            "f32[1], expected i64[2]");
}

}  // namespace
}  // namespace qc
