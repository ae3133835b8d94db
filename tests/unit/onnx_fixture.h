// Imports models made byte by byte and runs them.
#pragma once

#include <gtest/gtest.h>

#include "frontends/onnx/import.h"
#include "interp/interpreter.h"
#include "onnx_bytes.h"
#include "ops/common/registration.h"
#include "program/lowering.h"
#include "program/run.h"
#include "program/select_kernels.h"

namespace qc::onnx {
using namespace onnx_bytes;

class OnnxImport : public testing::Test {
 protected:
  static void SetUpTestSuite() { register_all_ops(); }

  Result<std::unique_ptr<Graph>> import(std::string bytes, const ImportOptions& options = {}) {
    bytes_ = std::move(bytes);
    QC_ASSIGN(Model model, parse_model(as_bytes(bytes_), "m.onnx"));
    QC_ASSIGN(auto graph, import_model(model, options));
    QC_TRY(verify(*graph));
    return graph;
  }
  std::string message_of(std::string bytes, const ImportOptions& options = {}) {
    auto r = import(std::move(bytes), options);
    return r.ok() ? "ok" : render(r.diag());
  }
  /// Outputs as floats, from the interpreter and, bit-equal, from the lowered program.
  std::vector<std::vector<float>> run(std::string bytes, std::vector<Tensor> inputs,
                                      const ImportOptions& options = {}) {
    auto graph = import(std::move(bytes), options);
    EXPECT_TRUE(graph.ok()) << render(graph.diag());
    if (!graph.ok()) return {};
    auto result = interpret(**graph, inputs);
    EXPECT_TRUE(result.ok()) << render(result.diag());
    if (!result.ok()) return {};
    auto program = lower(**graph);
    EXPECT_TRUE(program.ok()) << render(program.diag());
    if (!program.ok()) return {};
    EXPECT_TRUE(select_kernels(*program).ok());
    auto compiled = run_program(*program, inputs);
    EXPECT_TRUE(compiled.ok()) << render(compiled.diag());
    std::vector<std::vector<float>> out;
    for (size_t i = 0; i < result->outputs.size(); ++i) {
      const Tensor& t = result->outputs[i];
      EXPECT_TRUE(compiled.ok() && t.identical(compiled->outputs[i])) << i;
      out.emplace_back();
      for (int64_t k = 0; k < t.size(); ++k)
        out.back().push_back(static_cast<float>(t.as_double(k)));
    }
    return out;
  }
  std::string bytes_;
};

inline Tensor floats(std::vector<float> v) {
  return Tensor::of<float>(DType::f32, {static_cast<int64_t>(v.size())}, v);
}
inline Tensor boolean(bool v) {
  Tensor t(DType::boolean, {});
  t.set_int(0, v);
  return t;
}
inline std::string x2() { return value_info("x", 1, {2}); }
inline std::string y2() { return value_info("y", 1, {2}); }
inline std::string attribute_f(std::string_view name, float v) {
  return attribute(name, 1, [&](pbf_writer& w) { w.add_float(2, v); });
}
inline std::string attribute_g(std::string_view name, const GraphParts& g) {
  return attribute(name, 5, [&](pbf_writer& w) { w.add_message(6, graph(g)); });
}
inline std::string attribute_t(std::string_view name, const std::string& t) {
  return attribute(name, 4, [&](pbf_writer& w) { w.add_message(5, t); });
}
inline std::string clip(std::string in, std::string out, float lo, float hi,
                        std::string name = "") {
  return node("Clip", {in}, {out}, name, {attribute_f("min", lo), attribute_f("max", hi)});
}
inline std::string int64s(std::string_view name, std::initializer_list<int64_t> v) {
  return tensor(
      {static_cast<int64_t>(v.size())}, 7, [&](pbf_writer& w) { w.add_string(9, raw(v)); }, name);
}

}  // namespace qc::onnx
