// The .pt2 container: archive layouts, stored tensors, pickles, size expressions, broken files.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "frontends/pt2/archive.h"
#include "frontends/pt2/pickle.h"
#include "frontends/pt2/symexpr.h"

namespace qc::pt2 {
namespace {

const std::string kData = "tests/data/pt2/";

std::span<const std::byte> as_bytes(const std::string& s) {
  return {reinterpret_cast<const std::byte*>(s.data()), s.size()};
}

Result<Archive> read(const std::string& bytes) {
  auto owner = std::make_shared<const std::string>(bytes);
  return Archive::read(as_bytes(*owner), "test.pt2", owner);
}

std::string message(const Diag& diag) {
  return std::string(info(diag.code).name) + ": " + diag.text;
}

class Layouts : public testing::TestWithParam<const char*> {};

TEST_P(Layouts, ReadTheSameProgramAndTensors) {
  auto archive = Archive::open(kData + GetParam());
  ASSERT_TRUE(archive.ok()) << render(archive.diag());
  auto newest = Archive::open(kData + "torch_2_13.pt2");
  ASSERT_TRUE(newest.ok());
  const ExportedProgram& p = archive->program();
  const ExportedProgram& q = newest->program();
  ASSERT_EQ(p.graph.nodes.size(), q.graph.nodes.size());
  for (size_t i = 0; i < p.graph.nodes.size(); ++i) {
    EXPECT_EQ(p.graph.nodes[i].target, q.graph.nodes[i].target);
    EXPECT_EQ(p.graph.nodes[i].module, q.graph.nodes[i].module);
  }
  EXPECT_EQ(p.graph.nodes[0].module, "conv");
  ASSERT_EQ(p.ranges.count("s77") + p.ranges.size(), 2u);
  EXPECT_EQ(p.ranges.at("s77").min, 1);
  EXPECT_EQ(p.ranges.at("s77").max, 16);
  size_t tensors = 0;
  for (const InputSpec& spec : p.input_specs) {
    if (spec.kind == InputSpec::Kind::user_input) continue;
    auto a = archive->weight(spec.target), b = newest->weight(spec.target);
    ASSERT_TRUE(a.ok()) << render(a.diag());
    ASSERT_TRUE(b.ok()) << render(b.diag());
    EXPECT_TRUE(a->identical(*b)) << spec.target;
    ++tensors;
  }
  EXPECT_EQ(tensors, 8u);
}

INSTANTIATE_TEST_SUITE_P(Pt2, Layouts,
                         testing::Values("torch_2_13.pt2", "torch_2_8.pt2", "torch_2_6.pt2",
                                         "torch_2_4.pt2", "pickled_weight.pt2"));

TEST(Pt2Archive, StridedTensorsShareAStorage) {
  auto archive = Archive::open(kData + "torch_2_13.pt2");
  ASSERT_TRUE(archive.ok());
  Tensor rows = *archive->weight("rows"), cols = *archive->weight("cols");
  EXPECT_EQ(rows.shape(), (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(cols.shape(), (std::vector<int64_t>{4, 3}));
  // rows[0] is row 2 of the shared storage, cols[:, 2] is the same row.
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(rows.data<float>()[i], cols.data<float>()[i * 3 + 2]);
  }
}

struct Refused {
  const char* file;
  Code code;
  const char* text;
};
class Refusals : public testing::TestWithParam<Refused> {};

TEST_P(Refusals, SayWhy) {
  auto archive = Archive::open(kData + GetParam().file);
  ASSERT_FALSE(archive.ok());
  EXPECT_EQ(archive.diag().code, GetParam().code);
  EXPECT_NE(archive.diag().text.find(GetParam().text), std::string::npos) << archive.diag().text;
}

INSTANTIATE_TEST_SUITE_P(
    Pt2, Refusals,
    testing::Values(Refused{"incomplete.pt2", Code::format, "incomplete export"},
                    Refused{"aotinductor.pt2", Code::unsupported, "AOTInductor"},
                    Refused{"small.npz", Code::format, "no models/*.json"},
                    Refused{"absent.pt2", Code::file, "cannot open"}));

TEST(Pt2Archive, TruncatedFilesAreRefused) {
  std::string whole = *read_text(kData + "torch_2_13.pt2");
  for (size_t size = 0; size + 1 < whole.size(); size += 97) {
    auto archive = read(whole.substr(0, size));
    ASSERT_FALSE(archive.ok()) << size;
    EXPECT_EQ(info(archive.diag().code).kind, Kind::user) << message(archive.diag());
  }
}

TEST(Pt2Archive, FlippedBytesNeverCrash) {
  for (const char* name : {"torch_2_13.pt2", "torch_2_4.pt2"}) {
    std::string whole = *read_text(kData + name);
    std::mt19937 random(5);
    for (size_t i = 0; i < whole.size(); i += 3) {
      std::string broken = whole;
      broken[i] = static_cast<char>(broken[i] ^ (1 << (random() % 8)));
      auto archive = read(broken);
      if (!archive.ok()) continue;
      for (const InputSpec& spec : archive->program().input_specs) {
        if (!spec.target.empty()) (void)archive->weight(spec.target);
      }
    }
  }
}

std::string pickle(std::string_view body) { return std::string("\x80\x02") + std::string(body); }

TEST(Pt2Pickle, DecodesPlainObjects) {
  using namespace std::string_view_literals;
  std::string text = pickle("}q\0(X\1\0\0\0aK\7X\1\0\0\0b\x8a\1\xffX\1\0\0\0cNX\1\0\0\0d\x88u."sv);
  auto p = read_pickle(as_bytes(text), {});
  ASSERT_TRUE(p.ok()) << render(p.diag());
  const PickleValue& root = p->at(p->root);
  ASSERT_EQ(root.kind, PickleValue::Kind::dict);
  ASSERT_EQ(root.pairs.size(), 4u);
  EXPECT_EQ(p->at(root.pairs[0].first).text, "a");
  EXPECT_EQ(p->at(root.pairs[0].second).integer, 7);
  EXPECT_EQ(p->at(root.pairs[1].second).integer, -1);
  EXPECT_EQ(p->at(root.pairs[2].second).kind, PickleValue::Kind::none);
  EXPECT_EQ(p->at(root.pairs[3].second).kind, PickleValue::Kind::boolean);
}

TEST(Pt2Pickle, RefusesEverythingThatIsNotATensor) {
  using namespace std::string_view_literals;
  const std::pair<std::string_view, const char*> kCases[] = {
      {"cos\nsystem\nX\2\0\0\0ls\x85R."sv, "unsupported: pickle refers to 'os.system'"},
      {"X\2\0\0\0osX\6\0\0\0system\x93."sv, "unsupported: pickle refers to 'os.system'"},
      {"cbuiltins\neval\n."sv, "unsupported: pickle refers to 'builtins.eval'"},
      {"ctorch\nFloatStorage\n)R."sv, "unsupported: pickle calls 'torch.FloatStorage'"},
      {"(i__main__\nX\n."sv, "unsupported: pickle uses opcode 0x69"},
      {"h\0."sv, "format: malformed pickle"},
      {"X\xff\xff\xff\xff"sv, "format: malformed pickle"},
      {"K"sv, "format: malformed pickle"},
      {"."sv, "format: malformed pickle"},
      {"(."sv, "format: malformed pickle"},
      {"e."sv, "format: malformed pickle"},
      {"K\1K\2s."sv, "format: malformed pickle"},
      {"N)R."sv, "format: malformed pickle"},
      {"NQ."sv, "format: malformed pickle"},
      {"\x8a\x09\0\0\0\0\0\0\0\0\1."sv, "format: malformed pickle"},
      {"ctorch._utils\n_rebuild_tensor_v2\nN\x85R."sv, "format: malformed pickle"},
      {"ctorch._utils\n_rebuild_parameter\n)R."sv, "format: malformed pickle"},
  };
  for (auto [body, expected] : kCases) {
    std::string text = pickle(body);
    auto p = read_pickle(as_bytes(text), {});
    ASSERT_FALSE(p.ok()) << expected;
    EXPECT_EQ(message(p.diag()).substr(0, std::strlen(expected)), expected);
  }
}

TEST(Pt2Pickle, ManyReferencesToOneLongTupleAreBounded) {
  std::string body = "ccollections\nOrderedDict\nq\x01(";
  for (int i = 0; i < 5000; ++i) body += 'N';
  body += "tq\x02";
  for (int i = 0; i < 5000; ++i) body += "h\x01h\x02R";
  std::string text = pickle(body + ".");
  EXPECT_FALSE(read_pickle(as_bytes(text), {}).ok());
}

StoredTensor stored(std::vector<int64_t> sizes, std::vector<int64_t> strides, int64_t offset,
                    const std::vector<float>& storage) {
  return {7,    std::move(sizes), std::move(strides), offset, std::as_bytes(std::span(storage)),
          false};
}

TEST(Pt2Weights, WindowsBecomeRowMajor) {
  std::vector<float> storage(24);
  for (int i = 0; i < 24; ++i) storage[i] = static_cast<float>(i);
  auto t = materialise(stored({2, 3}, {6, 2}, 6, storage), nullptr, {});
  ASSERT_TRUE(t.ok()) << render(t.diag());
  const float expected[] = {6, 8, 10, 12, 14, 16};
  EXPECT_EQ(std::memcmp(t->data<float>(), expected, sizeof expected), 0);
  auto borrowed = materialise(stored({2, 4}, {4, 1}, 8, storage), nullptr, {});
  ASSERT_TRUE(borrowed.ok());
  EXPECT_EQ(borrowed->data<float>(), storage.data() + 8);
  auto expanded = materialise(stored({2, 2, 1}, {0, 1, 5}, 3, storage), nullptr, {});
  ASSERT_TRUE(expanded.ok());
  const float twice[] = {3, 4, 3, 4};
  EXPECT_EQ(std::memcmp(expanded->data<float>(), twice, sizeof twice), 0);
}

TEST(Pt2Weights, BoundsAreChecked) {
  std::vector<float> storage(24), none;
  const std::pair<StoredTensor, const char*> kCases[] = {
      {stored({2, 13}, {12, 1}, 0, storage), "format: a tensor reaches beyond its storage"},
      {stored({4}, {1}, 21, storage), "format: a tensor reaches beyond its storage"},
      {stored({2}, {INT64_MAX}, 1, storage), "format: a tensor reaches beyond its storage"},
      {stored({2}, {-1}, 4, storage), "format: a stored tensor has a negative stride"},
      {stored({2}, {1}, -4, storage), "format: a stored tensor has 1 sizes, 1 strides, offset -4"},
      {stored({2}, {1, 1}, 0, storage), "format: a stored tensor has 1 sizes, 2 strides"},
      {stored({-2}, {1}, 0, storage), "limit: "},
      {stored({int64_t{1} << 40, int64_t{1} << 40}, {0, 0}, 0, storage), "limit: "},
      {stored({int64_t{1} << 35}, {0}, 0, storage), "limit: an expanded tensor"},
      {stored({2}, {1}, 0, none), "unsupported: the file holds no data"},
  };
  for (const auto& [tensor, expected] : kCases) {
    auto t = materialise(tensor, nullptr, {});
    ASSERT_FALSE(t.ok()) << expected;
    EXPECT_EQ(message(t.diag()).substr(0, std::strlen(expected)), expected);
  }
  StoredTensor complex = stored({2}, {1}, 0, storage);
  complex.dtype = 10;
  EXPECT_EQ(message(materialise(complex, nullptr, {}).diag()),
            "unsupported: tensors of type complex64 are not supported");
}

TEST(Pt2Symexpr, ParsesBothSpellings) {
  const std::pair<const char*, const char*> kCases[] = {
      {"Symbol('s15', positive=True, integer=True)", "s15"},
      {"Integer(-3)", "-3"},
      {"Add(Symbol('s15', positive=True, integer=True), Integer(1))", "s15 + 1"},
      {"Mul(Integer(-1), Symbol('u0', integer=True))", "-1*u0"},
      {"FloorDiv(Symbol('s1'), Integer(2))", "s1//2"},
      {"Mod(Symbol('s1'), Integer(4))", "Mod(s1, 4)"},
      {"Max(Integer(4), Symbol('s1'))", "Max(4, s1)"},
      {"Min(Integer(4), Symbol('s1'))", "Min(4, s1)"},
      {"Pow(Symbol('s1'), Integer(2))", "s1**2"},
      {"Identity(Symbol('s1'))", "s1"},
      {"CeilDiv(Integer(7), Integer(2))", "4"},
      {"ModularIndexing(Integer(17), Integer(3), Integer(4))", "1"},
  };
  for (auto [srepr, infix] : kCases) {
    auto a = parse_symexpr(srepr, {}), b = parse_symexpr(infix, {});
    ASSERT_TRUE(a.ok()) << render(a.diag());
    ASSERT_TRUE(b.ok()) << render(b.diag());
    EXPECT_EQ(a->str(), b->str());
  }
}

TEST(Pt2Symexpr, RefusesOthers) {
  for (const char* text :
       {"", "Add(", "Symbol('')", "Symbol('a b')", "Integer(99999999999999999999)",
        "FloorDiv(Symbol('s'), Integer(0))", "Pow(Symbol('s'), Integer(99))", "Add(Integer(1)) x",
        "FloorDiv(Integer(1))"}) {
    auto d = parse_symexpr(text, {});
    ASSERT_FALSE(d.ok()) << text;
    EXPECT_EQ(d.diag().code, Code::format);
  }
  auto piecewise = parse_symexpr(
      "Piecewise(ExprCondPair(Integer(1), Equality(Symbol('u4', integer=True), Integer(1))), "
      "ExprCondPair(Integer(0), true))",
      {});
  ASSERT_FALSE(piecewise.ok());
  EXPECT_EQ(piecewise.diag().code, Code::unsupported);
  std::string deep;
  for (int i = 0; i < 5000; ++i) deep += "Add(";
  EXPECT_FALSE(parse_symexpr(deep, {}).ok());
}

TEST(Pt2Program, ModuleNames) {
  EXPECT_EQ(innermost_module("L__self__,,M;L__self__a,a,N"), "a");
  EXPECT_EQ(innermost_module("L__self__,,M"), "");
  EXPECT_EQ(innermost_module("L__self__,,M;L__self__b.0,b.0,Gen[x, y]"), "b.0");
  EXPECT_EQ(innermost_module("garbage"), "");
}

TEST(Pt2Program, RefusesWrongShapesOfJson) {
  const std::pair<const char*, const char*> kCases[] = {
      {"{", "format: not valid JSON"},
      {"[]", "format: 'document' has no member 'schema_version'"},
      {R"({"schema_version": {"major": 9, "minor": 0}})", "unsupported: schema version 9.0"},
      {R"({"schema_version": {"major": 8, "minor": 0}})",
       "format: 'document' has no member 'graph_module'"},
      {R"({"schema_version": {"major": 8, "minor": 0}, "graph_module": {"graph": {"inputs":
          [{"as_tensor": {"name": "x"}, "as_int": 1}]}}})",
       "format: 'inputs' is not a union with exactly one member"},
      {R"({"schema_version": {"major": 8, "minor": 0}, "graph_module": {"graph": {"inputs":
          [{"as_surprise": 1}]}}})",
       "format: 'inputs' is not an argument: 'as_surprise' is unknown"},
  };
  for (auto [json, expected] : kCases) {
    auto p = parse_program(json, {});
    ASSERT_FALSE(p.ok());
    EXPECT_EQ(message(p.diag()).substr(0, std::strlen(expected)), expected);
  }
}

}  // namespace
}  // namespace qc::pt2
