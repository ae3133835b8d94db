// Runs single ops in the interpreter and through their kernels.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "interp/interpreter.h"
#include "ir/op_table.h"
#include "ops/common/registration.h"
#include "program/lowering.h"
#include "program/run.h"
#include "program/select_kernels.h"

namespace qc {

inline Tensor random_tensor(DType dtype, Ints shape, uint32_t seed) {
  std::mt19937 rng(seed);
  Tensor t(dtype, std::move(shape));
  for (int64_t i = 0; i < t.size(); ++i) {
    const double u = static_cast<double>(rng()) / 4294967296.0;
    if (dtype == DType::boolean)
      t.set_int(i, u < 0.5);
    else if (is_float(dtype))
      t.set_double(i, i % 13 == 5 ? -0.0 : (u - 0.4) * 6);
    else
      t.set_int(i, static_cast<int64_t>(u * 14) - (is_signed(dtype) ? 6 : 0));
  }
  return t;
}

/// Row-major elements in the order of a channels-last value, or back.
inline Tensor reordered(const Tensor& t, bool to_channels_last) {
  const Ints& s = t.shape();
  Tensor out(t.dtype(), s);
  const int64_t channels = s[1];
  int64_t inner = 1;
  for (size_t i = 2; i < s.size(); ++i) inner *= s[i];
  const auto size = static_cast<int64_t>(bytes(t.dtype()));
  for (int64_t n = 0; n < s[0]; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t i = 0; i < inner; ++i) {
        int64_t from = (n * channels + c) * inner + i, to = (n * inner + i) * channels + c;
        if (!to_channels_last) std::swap(from, to);
        std::memcpy(out.mutable_bytes().data() + to * size, t.bytes().data() + from * size,
                    static_cast<size_t>(size));
      }
    }
  }
  return out;
}

struct Operand {
  Tensor tensor;
  bool channels_last = false;
};

/// Runs one op in the interpreter and through its kernels; both must give the same bits.
inline Result<std::vector<Tensor>> run_all(std::string_view op,
                                           const std::vector<Operand>& operands,
                                           const AttrMap& attrs = {}) {
  const auto build = [&](Graph& graph, bool with_layout) -> Result<Node*> {
    std::vector<Value*> values;
    for (const Operand& o : operands) {
      Type type(o.tensor.dtype(), to_dims(o.tensor.shape()));
      if (with_layout && o.channels_last) type.layout = Layout::channels_last;
      values.push_back(graph.add_input("x", type));
    }
    QC_ASSIGN(Value * y, graph.emit(op, values, attrs, {}));
    for (size_t i = 0; i < y->def()->output_count(); ++i)
      graph.add_output("y", y->def()->output(i));
    return y->def();
  };
  std::vector<Tensor> inputs, physical;
  for (const Operand& o : operands) {
    inputs.push_back(o.tensor);
    physical.push_back(o.channels_last ? reordered(o.tensor, true) : o.tensor);
  }
  Graph plain;
  QC_TRY(build(plain, false));
  QC_ASSIGN(RunResult expected, interpret(plain, inputs));
  Graph laid_out(plain.shared_pool());
  QC_ASSIGN(Node * node, build(laid_out, true));
  QC_ASSIGN(Program program, lower(laid_out));
  QC_TRY(select_kernels(program));
  QC_ASSIGN(ProgramResult result, run_program(program, physical));
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    const Tensor& want = expected.outputs[i];
    const Type& type = node->output(i)->type();
    const bool moved = type.layout == Layout::channels_last && type.rank() > 2;
    const Tensor got = moved ? reordered(result.outputs[i], false) : result.outputs[i];
    EXPECT_EQ(got.dtype(), want.dtype());
    const auto a = got.bytes(), b = want.bytes();
    EXPECT_TRUE(a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0)
        << op << " of " << name(operands[0].tensor.dtype()) << ", output " << i;
  }
  return std::move(expected.outputs);
}

inline Result<Tensor> run_both(std::string_view op, const std::vector<Operand>& operands,
                               const AttrMap& attrs = {}) {
  QC_ASSIGN(std::vector<Tensor> outputs, run_all(op, operands, attrs));
  return outputs[0];
}

inline std::vector<double> values_of(const Result<Tensor>& t) {
  std::vector<double> out;
  if (!t.ok()) return out;
  for (int64_t i = 0; i < t->size(); ++i) out.push_back(t->as_double(i));
  return out;
}

/// A tensor of the given values.
inline Operand list(DType dtype, std::vector<double> values, Ints shape = {}) {
  if (shape.empty()) shape = {static_cast<int64_t>(values.size())};
  Tensor t(dtype, std::move(shape));
  for (size_t i = 0; i < values.size(); ++i) t.set_double(static_cast<int64_t>(i), values[i]);
  return {t};
}

inline Code code_of(const Result<Tensor>& r) { return r.ok() ? Code::bug : r.diag().code; }

}  // namespace qc
