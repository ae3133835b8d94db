#include <gtest/gtest.h>

#include <filesystem>

#include "frontends/onnx/proto.h"
#include "frontends/onnx/tensor.h"
#include "onnx_bytes.h"

namespace qc::onnx {
namespace {
using namespace onnx_bytes;

Result<Model> parse(const std::string& bytes) { return parse_model(as_bytes(bytes), "m.onnx"); }

std::string small_model() {
  return model(
      {.nodes = {node("Relu", {"x"}, {"y"}, "act", {attribute_i("k", -3)}, "ai.onnx")},
       .initializers = {tensor({2}, 1, [](pbf_writer& w) { w.add_string(9, "12345678"); })},
       .inputs = {value_info("x", 1, {"batch", 3})},
       .outputs = {value_info("y", 1, {"batch", 3})}});
}

TEST(OnnxRead, ReadsEveryPartOfASmallModel) {
  const std::string bytes = small_model();
  auto r = parse(bytes);
  ASSERT_TRUE(r.ok()) << render(r.diag());
  const Model& m = *r;
  EXPECT_EQ(m.ir_version, 10);
  ASSERT_EQ(m.opsets.size(), 1u);
  EXPECT_EQ(m.opsets[0].version, 21);
  ASSERT_EQ(m.graph.nodes.size(), 1u);
  const NodeProto& n = m.graph.nodes[0];
  EXPECT_EQ(n.op_type, "Relu");
  EXPECT_EQ(n.name, "act");
  EXPECT_EQ(n.domain, "") << "ai.onnx is the default domain";
  ASSERT_EQ(n.attributes.size(), 1u);
  EXPECT_EQ(n.attributes[0].type, AttributeProto::Type::i);
  EXPECT_EQ(n.attributes[0].i, -3);
  ASSERT_EQ(m.graph.inputs.size(), 1u);
  const TypeProto& t = m.graph.inputs[0].type;
  ASSERT_EQ(t.shape.size(), 2u);
  EXPECT_EQ(t.shape[0].param, "batch");
  EXPECT_EQ(t.shape[1].value, 3);
  ASSERT_EQ(m.graph.initializers.size(), 1u);
  const std::string_view raw = *m.graph.initializers[0].raw_data;
  EXPECT_EQ(raw, "12345678");
  EXPECT_TRUE(raw.data() > bytes.data() && raw.data() < bytes.data() + bytes.size())
      << "raw data is a view into the file";
}

TEST(OnnxRead, AcceptsPackedAndUnpackedRepeats) {
  auto attr = [](bool packed) {
    return attribute("a", 7, [&](pbf_writer& w) {
      const int64_t v[] = {1, -2, 3};
      const float f[] = {0.5f, 2.0f};
      if (packed) w.add_packed_int64(8, std::begin(v), std::end(v));
      if (packed) w.add_packed_float(7, std::begin(f), std::end(f));
      for (int64_t x : v) {
        if (!packed) w.add_int64(8, x);
      }
      for (float x : f) {
        if (!packed) w.add_float(7, x);
      }
    });
  };
  for (bool packed : {false, true}) {
    std::string bytes = model(
        {.nodes = {node("X", {}, {"y"}, "", {attr(packed)})}, .outputs = {value_info("y", 1, {})}});
    auto r = parse(bytes);
    ASSERT_TRUE(r.ok());
    EXPECT_EQ(r->graph.nodes[0].attributes[0].ints, (std::vector<int64_t>{1, -2, 3}));
    EXPECT_EQ(r->graph.nodes[0].attributes[0].floats, (std::vector<float>{0.5f, 2.0f}));
  }
}

TEST(OnnxRead, LastSingularFieldWins) {
  std::string bytes = small_model() + message([](pbf_writer& w) { w.add_int64(1, 7); });
  auto r = parse(bytes);
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r->ir_version, 7);
}

TEST(OnnxRead, DerivesTheAttributeTypeOldFilesLeaveOut) {
  std::string attr = message([](pbf_writer& w) {
    w.add_string(1, "alpha");
    w.add_float(2, 0.5f);
  });
  std::string bytes =
      model({.nodes = {node("X", {}, {"y"}, "", {attr})}, .outputs = {value_info("y", 1, {})}});
  auto r = parse(bytes);
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r->graph.nodes[0].attributes[0].type, AttributeProto::Type::f);
}

TEST(OnnxRead, SkipsUnknownFieldsAndWrongWireTypes) {
  std::string bytes = small_model() + message([](pbf_writer& w) {
                        w.add_string(1, "an ir_version as a string");
                        w.add_string(999, "unknown");
                        w.add_fixed64(1000, 1);
                      });
  auto r = parse(bytes);
  ASSERT_TRUE(r.ok()) << render(r.diag());
  EXPECT_EQ(r->ir_version, 10);
}

TEST(OnnxRead, ReadsNestedTypes) {
  std::string inner = message(
      [](pbf_writer& w) { w.add_message(1, message([](pbf_writer& t) { t.add_int32(1, 7); })); });
  std::string seq = message([&](pbf_writer& w) {
    w.add_message(4, message([&](pbf_writer& s) { s.add_message(1, inner); }));
  });
  std::string info = message([&](pbf_writer& w) {
    w.add_string(1, "y");
    w.add_message(2, seq);
  });
  std::string bytes = model({.outputs = {info}});
  auto r = parse(bytes);
  ASSERT_TRUE(r.ok());
  const TypeProto& t = r->graph.outputs[0].type;
  EXPECT_EQ(t.kind, TypeProto::Kind::sequence);
  ASSERT_TRUE(t.element);
  EXPECT_EQ(t.element->kind, TypeProto::Kind::tensor);
  EXPECT_EQ(t.element->elem_type, 7);
  EXPECT_FALSE(t.element->has_shape) << "no shape means unknown rank";
}

TEST(OnnxRead, ReadsTheTestNetworks) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("tests/models")) {
    if (entry.path().extension() != ".onnx") continue;
    auto model = read_model(entry.path().string());
    ASSERT_TRUE(model.ok()) << render(model.diag());
    TensorReader reader(model->file);
    for (const TensorProto& t : model->graph.initializers) {
      auto tensor = reader.read(t);
      ASSERT_TRUE(tensor.ok()) << render(tensor.diag());
    }
    EXPECT_FALSE(model->graph.nodes.empty());
    ++count;
  }
  EXPECT_GE(count, 11);
}

TEST(OnnxReadErrors, EveryTruncationIsRefusedOrReadsLess) {
  const std::string bytes = small_model();
  for (size_t n = 0; n < bytes.size(); ++n) {
    const std::string part = bytes.substr(0, n);
    auto r = parse(part);
    // Only the opset import, the last field, can be missing from what still parses.
    if (r.ok()) {
      EXPECT_TRUE(r->opsets.empty()) << n;
    } else {
      EXPECT_EQ(r.diag().code, Code::format) << n;
    }
  }
}

TEST(OnnxReadErrors, EveryFlippedByteIsSurvived) {
  const std::string good = small_model();
  for (size_t n = 0; n < good.size(); ++n) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bytes = good;
      bytes[n] = static_cast<char>(bytes[n] ^ (1 << bit));
      (void)parse(bytes);
    }
  }
}

TEST(OnnxReadErrors, NamesTheMessageAndThePlace) {
  std::string bytes =
      model({.nodes = {std::string("\x0a\x7f", 2)}, .outputs = {value_info("y", 1, {})}});
  auto r = parse(bytes);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(render(r.diag()),
            "m.onnx: error[format]: malformed protobuf in the node at byte 6: end of buffer "
            "exception");
}

TEST(OnnxReadErrors, RefusesWhatIsNotAModel) {
  for (const auto& bytes : {std::string(), std::string(12, '\0'), std::string("hello")}) {
    auto r = parse(bytes);
    ASSERT_FALSE(r.ok());
    EXPECT_EQ(r.diag().code, Code::format);
  }
  EXPECT_EQ(render(parse("").diag()),
            "m.onnx: error[format]: not an ONNX model: it has no IR version");
  const std::string no_outputs = model({});
  EXPECT_EQ(render(parse(no_outputs).diag()),
            "m.onnx: error[format]: not an ONNX model: its graph has no outputs");
}

TEST(OnnxReadErrors, BoundsNesting) {
  std::string g = graph({.nodes = {node("Relu", {"x"}, {"y"})}});
  for (int i = 0; i < 30; ++i) {
    std::string attr = attribute("body", 5, [&](pbf_writer& w) { w.add_message(6, g); });
    g = graph(
        {.nodes = {node("If", {"x"}, {"y"}, "", {attr})}, .outputs = {value_info("y", 1, {})}});
  }
  std::string bytes = message([&](pbf_writer& w) {
    w.add_int64(1, 10);
    w.add_message(7, g);
  });
  auto r = parse(bytes);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(render(r.diag()), "m.onnx: error[limit]: messages are nested more than 64 deep");
}

TEST(OnnxReadErrors, BoundsTheNumberOfMessages) {
  std::string node;
  for (int64_t i = 0; i <= kMaxMessages; ++i) node += std::string("\x0a\x00", 2);
  std::string bytes = model({.nodes = {node}});
  auto r = parse(bytes);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.diag().code, Code::limit);
}

TEST(OnnxReadErrors, MissingFileIsAFileError) {
  auto r = read_model("/nonexistent/model.onnx");
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.diag().code, Code::file);
}

}  // namespace
}  // namespace qc::onnx
