// Ops that say they run on codes: f(dequantize(c)) == dequantize(f(c)) to the bit, for every one of
// them, on operands its sampler makes.
#include <gtest/gtest.h>

#include <map>

#include "interp/eval.h"
#include "ir/op_table.h"
#include "tests/random/sampling.h"

namespace qc {
namespace {

bool runs_on_codes(const OpInfo& info) {
  return info.has(kOnCodes) || info.has(kMovesElements) || info.has(kReshapes);
}

Tensor random_ints(Sampling& s, DType dtype, const Ints& shape, int64_t lo, int64_t hi) {
  Tensor t(dtype, shape);
  for (int64_t i = 0; i < t.size(); ++i) t.set_int(i, s.between(lo, hi));
  return t;
}

Result<Tensor> decode(const Type& type, const Tensor& codes) {
  Graph g;
  QC_ASSIGN(Value * y, g.emit("dequantize", {g.add_input("", type)}, {}, {}));
  QC_ASSIGN(auto results, eval_node(*y->def(), {&codes}));
  return results[0];
}

/// Whether `node` took codes in place of its f32 operands; where it did, its results must decode to
/// those of the float node.
Result<bool> agrees(Sampling& s, const Node& node, const QType& format) {
  Graph floats(s.graph().shared_pool()), coded(s.graph().shared_pool());
  std::vector<Value*> float_inputs, coded_inputs;
  std::vector<Tensor> float_tensors, coded_tensors;
  float_tensors.reserve(node.input_count());
  coded_tensors.reserve(node.input_count());
  std::vector<const Tensor*> float_list, coded_list;
  for (size_t i = 0; i < node.input_count(); ++i) {
    const Value* v = node.input(i);
    if (!v) {
      for (auto* list : {&float_inputs, &coded_inputs}) list->push_back(nullptr);
      for (auto* list : {&float_list, &coded_list}) list->push_back(nullptr);
      continue;
    }
    const Ints shape = static_dims(v->shape());
    Type type = v->type();
    if (v->dtype() == DType::f32) {
      type = Type(format, v->shape());
      coded_tensors.push_back(
          random_ints(s, format.dtype, shape, format.format->qmin, format.format->qmax));
      QC_ASSIGN(Tensor decoded, decode(type, coded_tensors.back()));
      float_tensors.push_back(std::move(decoded));
    } else {
      Tensor t = random_ints(s, v->dtype(), shape, 0, 1);
      if (v->is_constant()) {
        QC_ASSIGN(t, s.graph().pool().get(v->constant()));
      }
      coded_tensors.push_back(t);
      float_tensors.push_back(t);
    }
    float_inputs.push_back(floats.add_input("", v->type()));
    coded_inputs.push_back(coded.add_input("", type));
    float_list.push_back(&float_tensors.back());
    coded_list.push_back(&coded_tensors.back());
  }
  QC_ASSIGN(Node * plain, floats.add(node.clone(), float_inputs, {}));
  Result<Node*> made = coded.add(node.clone(), coded_inputs, {});
  if (!made.ok()) return false;
  QC_ASSIGN(auto want, eval_node(*plain, float_list));
  QC_ASSIGN(auto got, eval_node(**made, coded_list));
  for (size_t i = 0; i < want.size(); ++i) {
    const Type& type = (*made)->output(i)->type();
    if (want[i].dtype() == DType::f32) {
      if (!type.format) return false;
      if (!(type.quant() == format)) return error(Code::type, "result {} is {}", i, str(type));
      QC_ASSIGN(got[i], decode(type, got[i]));
    }
    if (!got[i].identical(want[i])) return error(Code::graph, "result {} differs", i);
  }
  return true;
}

// arithmetic.md: Q17, Q18
TEST(OnCodes, EveryOpThatMovesOrOrdersElementsKeepsTheirMeaning) {
  std::map<std::string, int> taken;
  for (const auto& [name, entry] : op_table().all()) {
    const std::string op(name);
    if (!runs_on_codes(*entry.info) || samplers().skipped().contains(op) ||
        entry.folder == "quantize") {
      continue;
    }
    ASSERT_TRUE(samplers().all().contains(op)) << op;
    int& count = taken[op];
    for (uint64_t seed = 1; seed <= 60 && count < 12; ++seed) {
      Sampling s(seed);
      s.input(DType::f32, s.shape(s.between(1, 4), 500));
      samplers().all().at(op)(s);
      for (const Node* n : s.graph().nodes()) {
        bool floats = false;
        for (const Value* v : n->inputs()) floats = floats || (v && v->dtype() == DType::f32);
        if (n->op() != op || !floats) continue;
        const QType format = s.format();
        auto done = agrees(s, *n, format);
        ASSERT_TRUE(done.ok()) << op << ", seed " << seed << ", " << str(format) << ": "
                               << render(done.diag());
        count += *done;
      }
    }
  }
  EXPECT_GE(taken.size(), 20u);
  for (const auto& [op, count] : taken) EXPECT_GT(count, 0) << op << " never took codes";
}

TEST(OnCodes, AScalePerIndexIsNotKeptWhereItNoLongerFits) {
  auto format = std::make_shared<Format>();
  format->granularity = Granularity::axis;
  format->axis = 1;
  const float scales[] = {1.0f, 2.0f, 3.0f};
  format->scale = Component::of(Tensor::of<float>(DType::f32, {3}, scales));
  const QType fine{DType::i8, format};
  Graph g;
  Value* x = g.add_input("x", Type(fine, {Dim(2), Dim(3), Dim(4)}));
  auto reshaped = g.emit("reshape", {x}, {{"shape", Dims{Dim(6), Dim(4)}}}, {});
  ASSERT_TRUE(reshaped.ok());
  EXPECT_EQ((*reshaped)->type().format, nullptr);
  auto transposed = g.emit("transpose", {x}, {{"perm", Ints{1, 2, 0}}}, {});
  ASSERT_TRUE(transposed.ok());
  ASSERT_NE((*transposed)->type().format, nullptr);
  EXPECT_EQ((*transposed)->type().format->axis, 0);
}

}  // namespace
}  // namespace qc
