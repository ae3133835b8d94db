#include "ops/common/importing.h"
#include "ops/common/narrow.h"
#include "ops/common/range.h"
#include "ops/common/registration.h"
#include "ops/matmul/matmul.h"
#include "ops/matmul/product.h"
#include "ops/matmul/qmatmul.h"

namespace qc {
namespace {

Result<Value*> swap_last(const Import& m, Value* v) {
  if (v->rank() < 2) return v;
  Ints perm(static_cast<size_t>(v->rank()));
  for (size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<int64_t>(i);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  // A transpose of a transpose: the operand itself.
  if (v->def()) {
    const auto* before = dynamic_cast<const IsTranspose*>(v->def());
    if (before && before->permutation() == perm) return v->def()->input(0);
  }
  return m.emit("transpose", {v}, {{"perm", perm}});
}

Result<Value*> scaled(const Import& m, Value* v, double factor) {
  if (factor == 1) return v;
  Value* number = is_float(v->dtype()) ? m.scalar(factor, v->dtype())
                                       : m.scalar_int(static_cast<int64_t>(factor), v->dtype());
  return m.emit("mul", {v, number});
}

Result<Values> onnx_matmul(Import& m) { return one(m.emit("matmul", {m.in(0), m.in(1)})); }

/// Swaps the first axis after the batch into place, as transBatchA and transBatchB ask for.
Result<Value*> batch_last(const Import& m, Value* v) {
  Ints perm;
  for (int64_t i = 1; i + 1 < v->rank(); ++i) perm.push_back(i);
  perm.push_back(0);
  perm.push_back(v->rank() - 1);
  return m.emit("transpose", {v}, {{"perm", perm}});
}

Result<Values> fused_matmul(Import& m) {
  QC_ASSIGN(bool trans_a, m.b("transA", false));
  QC_ASSIGN(bool trans_b, m.b("transB", false));
  QC_ASSIGN(bool batch_a, m.b("transBatchA", false));
  QC_ASSIGN(bool batch_b, m.b("transBatchB", false));
  QC_ASSIGN(double alpha, m.f("alpha", 1));
  Value *a = m.in(0), *b = m.in(1);
  if (batch_a) {
    QC_ASSIGN(a, batch_last(m, a));
  }
  if (batch_b) {
    QC_ASSIGN(b, batch_last(m, b));
  }
  if (trans_a) {
    QC_ASSIGN(a, swap_last(m, a));
  }
  QC_ASSIGN(Value * y, m.emit("matmul", {a, b}, {{"transpose_b", trans_b && b->rank() > 1}}));
  return one(scaled(m, y, alpha));
}

/// Whether c can be the bias of a linear layer with n results: one row of them.
bool is_bias(const Value* c, const Dim& n, DType dtype) {
  const bool row = c && (c->rank() == 1 || (c->rank() == 2 && c->shape()[0] == Dim(1)));
  return row && c->shape().back() == n && c->dtype() == dtype;
}

/// alpha * a * w^T + beta * c with w [n, k]: one linear where nothing is scaled and c is a bias.
Result<Value*> gemm(const Import& m, Value* a, Value* w, Value* c, double alpha, double beta) {
  const Dim& n = w->shape()[0];
  if (beta == 1 && alpha == 1 && is_bias(c, n, a->dtype())) {
    if (c->rank() == 2) {
      QC_ASSIGN(c, m.emit("reshape", {c}, {{"shape", Dims{n}}}));
    }
    return m.emit("linear", {a, w, c});
  }
  QC_ASSIGN(Value * y, m.emit("linear", {a, w}));
  QC_ASSIGN(y, scaled(m, y, alpha));
  if (!c || beta == 0) return y;
  QC_ASSIGN(c, scaled(m, c, beta));
  return m.emit("add", {y, c});
}

Result<Value*> onnx_gemm_value(Import& m) {
  QC_ASSIGN(double alpha, m.f("alpha", 1));
  QC_ASSIGN(double beta, m.f("beta", 1));
  QC_ASSIGN(bool trans_a, m.b("transA", false));
  QC_ASSIGN(bool trans_b, m.b("transB", false));
  Value *a = m.in(0), *w = m.in(1), *c = m.in(2);
  if (!a || !w || a->rank() != 2 || w->rank() != 2)
    return m.fail(Code::shape, "Gemm needs two matrices");
  if (trans_a) {
    QC_ASSIGN(a, swap_last(m, a));
  }
  if (!trans_b) {
    QC_ASSIGN(w, swap_last(m, w));
  }
  return gemm(m, a, w, c, alpha, beta);
}

Result<Values> onnx_gemm(Import& m) { return one(onnx_gemm_value(m)); }

Result<Values> fused_gemm(Import& m) {
  QC_ASSIGN(Value * y, onnx_gemm_value(m));
  QC_ASSIGN(const std::string given, m.s("activation", ""));
  const std::string_view name = given;
  if (name == "Relu") return one(m.emit("clamp", {y}, {{"lo", 0.0}}));
  if (name == "Tanh") return one(m.emit("tanh", {y}));
  if (name == "Sigmoid") return one(m.emit("sigmoid", {y}));
  if (name == "LeakyRelu") {
    QC_ASSIGN(double alpha, m.f("activation_alpha", 0.01));
    return one(m.emit("leaky_relu", {y}, {{"alpha", alpha}}));
  }
  if (name == "HardSigmoid") {
    QC_ASSIGN(double alpha, m.f("activation_alpha", 0.2));
    QC_ASSIGN(double beta, m.f("activation_beta", 0.5));
    return one(m.emit("hard_sigmoid", {y}, {{"alpha", alpha}, {"beta", beta}}));
  }
  if (name.empty()) return Values{y};
  return m.fail(Code::unsupported, "fused activation '{}'", name);
}

/// linear(input, weight [n, k] or [k], bias)
Result<Values> aten_linear(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("input"));
  QC_ASSIGN(Value * w, m.tensor("weight"));
  QC_ASSIGN(Value * b, m.optional_tensor("bias"));
  if (w->rank() == 1) {
    QC_ASSIGN(Value * y, m.emit("matmul", {x, w}));
    return b ? one(m.emit("add", {y, b})) : Result<Values>(Values{y});
  }
  return b ? one(m.emit("linear", {x, w, b})) : one(m.emit("linear", {x, w}));
}

template <const char* kA, const char* kB>
Result<Values> aten_product(Import& m) {
  QC_ASSIGN(Value * a, m.tensor(kA));
  QC_ASSIGN(Value * b, m.tensor(kB));
  return one(m.emit("matmul", {a, b}));
}
constexpr char kSelf[] = "self", kMat2[] = "mat2", kOther[] = "other", kVec[] = "vec",
               kTensor[] = "tensor";

Result<Values> addmm_steps(Import& m) {
  QC_ASSIGN(Value * c, m.tensor("self"));
  QC_ASSIGN(Value * a, m.tensor("mat1"));
  QC_ASSIGN(Value * b, m.tensor("mat2"));
  QC_ASSIGN(double alpha, m.f("alpha", 1));
  QC_ASSIGN(double beta, m.f("beta", 1));
  if (a->rank() != 2 || b->rank() != 2) return m.fail(Code::shape, "addmm needs two matrices");
  QC_ASSIGN(Value * w, swap_last(m, b));
  return one(gemm(m, a, w, c, alpha, beta));
}

/// Several steps unless it is one linear layer.
Result<Values> aten_addmm(Import& m) {
  QC_ASSIGN(const Value* c, m.tensor("self"));
  QC_ASSIGN(const Value* w, m.tensor("mat2"));
  QC_ASSIGN(const double alpha, m.f("alpha", 1));
  QC_ASSIGN(const double beta, m.f("beta", 1));
  const bool linear =
      alpha == 1 && beta == 1 && w->rank() == 2 && is_bias(c, w->shape()[1], w->dtype());
  return linear ? addmm_steps(m) : in_f32<addmm_steps>(m);
}

/// alpha * y + beta * c, without c where beta is 0.
Result<Values> plus_scaled(const Import& m, Value* y, double alpha, Value* c, double beta) {
  QC_ASSIGN(y, scaled(m, y, alpha));
  if (beta == 0) return Values{y};
  QC_ASSIGN(c, scaled(m, c, beta));
  return one(m.emit("add", {y, c}));
}

/// beta * self + alpha * (a @ b)
Result<Values> add_product(const Import& m, const char* a_name, const char* b_name) {
  QC_ASSIGN(Value * c, m.tensor("self"));
  QC_ASSIGN(Value * a, m.tensor(a_name));
  QC_ASSIGN(Value * b, m.tensor(b_name));
  QC_ASSIGN(double alpha, m.f("alpha", 1));
  QC_ASSIGN(double beta, m.f("beta", 1));
  QC_ASSIGN(Value * y, m.emit("matmul", {a, b}));
  return plus_scaled(m, y, alpha, c, beta);
}
Result<Values> aten_baddbmm(Import& m) { return add_product(m, "batch1", "batch2"); }
/// beta * self + alpha * (the sum of all products of the batch): one product with their columns
/// and rows joined.
Result<Values> aten_addbmm(Import& m) {
  QC_ASSIGN(Value * c, m.tensor("self"));
  QC_ASSIGN(Value * a, m.tensor("batch1"));
  QC_ASSIGN(Value * b, m.tensor("batch2"));
  QC_ASSIGN(const double alpha, m.f("alpha", 1));
  QC_ASSIGN(const double beta, m.f("beta", 1));
  if (a->rank() != 3 || b->rank() != 3)
    return m.fail(Code::shape, "addbmm of {} and {}", str(a->shape()), str(b->shape()));
  const Dim joined = a->shape()[0] * a->shape()[2];
  QC_ASSIGN(a, m.emit("transpose", {a}, {{"perm", Ints{1, 0, 2}}}));
  QC_ASSIGN(a, m.emit("reshape", {a}, {{"shape", Dims{a->shape()[0], joined}}}));
  QC_ASSIGN(b, m.emit("reshape", {b}, {{"shape", Dims{joined, b->shape()[2]}}}));
  QC_ASSIGN(Value * y, m.emit("matmul", {a, b}));
  return plus_scaled(m, y, alpha, c, beta);
}

/// beta * self + alpha * (vec1 as a column times vec2 as a row). Of bools a number of bytes 0
/// and 1.
Result<Values> aten_addr(Import& m) {
  QC_ASSIGN(Value * c, m.tensor("self"));
  QC_ASSIGN(auto vectors, m.promoted("vec1", "vec2"));
  QC_ASSIGN(double alpha, m.f("alpha", 1));
  QC_ASSIGN(double beta, m.f("beta", 1));
  const DType result = promote(c->dtype(), vectors.first->dtype());
  const bool flags = result == DType::boolean;
  const DType type = flags ? DType::u8 : result;
  if (flags) alpha = alpha != 0, beta = beta != 0;
  QC_ASSIGN(c, m.cast(c, type));
  QC_ASSIGN(Value * column, m.cast(vectors.first, type));
  QC_ASSIGN(Value * row, m.cast(vectors.second, type));
  QC_ASSIGN(column,
            m.emit("reshape", {column}, {{"shape", Dims{product(column->shape()), Dim(1)}}}));
  QC_ASSIGN(Value * y, m.emit("mul", {column, row}));
  QC_ASSIGN(Values sum, plus_scaled(m, y, alpha, c, beta));
  return one(m.cast(sum[0], result));
}

Result<Values> aten_addmv(Import& m) { return add_product(m, "mat", "vec"); }

Result<Values> aten_outer(Import& m) {
  QC_ASSIGN(Value * a, m.tensor("self"));
  QC_ASSIGN(Value * b, m.tensor(m.given("vec2") ? "vec2" : "other"));
  QC_ASSIGN(a, reshaped(m, a, {product(a->shape()), Dim(1)}));
  return one(m.emit(a->dtype() == DType::boolean ? "logical_and" : "mul", {a, b}));
}

/// The last axes of both operands meet; all others stay.
Result<Values> aten_inner(Import& m) {
  QC_ASSIGN(Value * a, m.tensor("self"));
  QC_ASSIGN(Value * b, m.tensor("other"));
  if (a->rank() == 0 || b->rank() == 0) return one(m.emit("mul", {a, b}));
  Dims shape(a->shape().begin(), a->shape().end() - 1);
  const Dim rows = product(shape);
  Dims others(b->shape().begin(), b->shape().end() - 1);
  shape.insert(shape.end(), others.begin(), others.end());
  QC_ASSIGN(a, reshaped(m, a, {rows, a->shape().back()}));
  QC_ASSIGN(b, reshaped(m, b, {product(others), b->shape().back()}));
  QC_ASSIGN(Value * y, m.emit("linear", {a, b}));
  return one(reshaped(m, y, shape));
}

Result<Values> aten_tensordot(Import& m) {
  QC_ASSIGN(Value * a, m.tensor("self"));
  QC_ASSIGN(Value * b, m.tensor("other"));
  QC_ASSIGN(Ints dims_a, m.ints("dims_self", {}));
  QC_ASSIGN(Ints dims_b, m.ints("dims_other", {}));
  if (dims_a.size() != dims_b.size())
    return m.fail(Code::attribute, "tensordot over unequal axis lists");
  Dims shape;
  Dim rows(1), columns(1), inner(1);
  Ints perm_a, perm_b;
  for (int64_t& d : dims_a) {
    QC_ASSIGN(d, resolve_axis(d, a->rank(), m.loc()));
  }
  for (int64_t& d : dims_b) {
    QC_ASSIGN(d, resolve_axis(d, b->rank(), m.loc()));
  }
  // An axis of one element is repeated: the other operand is summed along its axis.
  auto summed = [&](Value* x, int64_t axis) {
    return m.emit("reduce_sum", {x}, {{"axes", Ints{axis}}, {"keepdims", true}});
  };
  for (size_t i = 0; i < dims_a.size(); ++i) {
    const Dim na = a->shape()[static_cast<size_t>(dims_a[i])],
              nb = b->shape()[static_cast<size_t>(dims_b[i])];
    if (na == nb) continue;
    if (na == Dim(1)) {
      QC_ASSIGN(b, summed(b, dims_b[i]));
    } else if (nb == Dim(1)) {
      QC_ASSIGN(a, summed(a, dims_a[i]));
    }
  }
  for (int64_t d : dims_a) inner = inner * a->shape()[static_cast<size_t>(d)];
  auto contains = [](const Ints& list, int64_t v) {
    return std::find(list.begin(), list.end(), v) != list.end();
  };
  for (int64_t i = 0; i < a->rank(); ++i) {
    if (contains(dims_a, i)) continue;
    perm_a.push_back(i);
    shape.push_back(a->shape()[static_cast<size_t>(i)]);
    rows = rows * shape.back();
  }
  perm_a.insert(perm_a.end(), dims_a.begin(), dims_a.end());
  perm_b = dims_b;
  for (int64_t i = 0; i < b->rank(); ++i) {
    if (contains(dims_b, i)) continue;
    perm_b.push_back(i);
    shape.push_back(b->shape()[static_cast<size_t>(i)]);
    columns = columns * shape.back();
  }
  QC_ASSIGN(a, m.emit("transpose", {a}, {{"perm", perm_a}}));
  QC_ASSIGN(b, m.emit("transpose", {b}, {{"perm", perm_b}}));
  QC_ASSIGN(a, reshaped(m, a, {rows, inner}));
  QC_ASSIGN(b, reshaped(m, b, {inner, columns}));
  QC_ASSIGN(Value * y, m.emit("matmul", {a, b}));
  return one(reshaped(m, y, shape));
}

/// out[b, o] = x1[b, :] w[o] x2[b, :] + bias[o]
Result<Values> aten_bilinear(Import& m) {
  QC_ASSIGN(Value * x1, m.tensor("input1"));
  QC_ASSIGN(Value * x2, m.tensor("input2"));
  QC_ASSIGN(Value * w, m.tensor("weight"));
  QC_ASSIGN(Value * b, m.optional_tensor("bias"));
  if (w->rank() != 3 || x1->rank() < 1 || x2->rank() != x1->rank()) {
    return m.fail(Code::shape, "bilinear of {} and {} with weights {}", str(x1->shape()),
                  str(x2->shape()), str(w->shape()));
  }
  Dims lead(x1->shape().begin(), x1->shape().end() - 1);
  const Dim rows = product(lead), o = w->shape()[0], i1 = w->shape()[1], i2 = w->shape()[2];
  QC_ASSIGN(x1, reshaped(m, x1, {rows, i1}));
  QC_ASSIGN(x2, reshaped(m, x2, {rows, i2, Dim(1)}));
  QC_ASSIGN(w, m.emit("transpose", {w}, {{"perm", Ints{1, 0, 2}}}));
  QC_ASSIGN(w, reshaped(m, w, {i1, o * i2}));
  QC_ASSIGN(Value * y, m.emit("matmul", {x1, w}));
  QC_ASSIGN(y, reshaped(m, y, {rows, o, i2}));
  QC_ASSIGN(y, m.emit("matmul", {y, x2}));
  lead.push_back(o);
  QC_ASSIGN(y, reshaped(m, y, lead));
  return b ? one(m.emit("add", {y, b})) : Result<Values>(Values{y});
}

/// The product of three operands, each with axes of size 1 put in, summed over some axes.
Result<Values> aten_trilinear(Import& m) {
  Value* y = nullptr;
  const char* const operands[3][2] = {{"i1", "expand1"}, {"i2", "expand2"}, {"i3", "expand3"}};
  for (const auto& [operand, expand] : operands) {
    QC_ASSIGN(Value * v, m.tensor(operand));
    QC_ASSIGN(Ints axes, m.ints(expand, {}));
    std::sort(axes.begin(), axes.end());
    Dims shape = v->shape();
    for (int64_t axis : axes) {
      if (axis < 0 || axis > static_cast<int64_t>(shape.size()))
        return m.fail(Code::attribute, "axis {} of {}", axis, expand);
      shape.insert(shape.begin() + axis, Dim(1));
    }
    QC_ASSIGN(v, reshaped(m, v, shape));
    if (y) {
      QC_ASSIGN(v, m.emit("mul", {y, v}));
    }
    y = v;
  }
  QC_ASSIGN(Ints sums, m.ints("sumdim", {}));
  return sums.empty() ? Result<Values>(Values{y})
                      : one(m.emit("reduce_sum", {y}, {{"axes", sums}, {"keepdims", false}}));
}

Result<Values> aten_multi_dot(Import& m) {
  QC_ASSIGN(Values list, m.tensors("tensors"));
  if (list.empty()) return m.fail(Code::attribute, "a product of no matrices");
  Value* y = list[0];
  for (size_t i = 1; i < list.size(); ++i) {
    QC_ASSIGN(y, m.emit("matmul", {y, list[i]}));
  }
  return Values{y};
}

Result<Values> grouped_mm(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("input"));
  QC_ASSIGN(Value * w, m.tensor("weight"));
  QC_ASSIGN(Value * offsets, m.tensor("offs"));
  return one(m.emit("grouped_matmul", {x, w, offsets}));
}

/// Rows up to offs[e] times the matrix of e, as PyTorch itself has it for bf16.
Result<Values> aten_grouped_mm(Import& m) {
  QC_ASSIGN(Value * x, m.tensor("self"));
  QC_ASSIGN(Value * w, m.tensor("mat2"));
  if (!m.given("offs") || m.given("bias") || m.given("out_dtype") || x->rank() != 2 ||
      w->rank() != 3) {
    return m.fail(Code::unsupported, "only groups of rows by offsets, without a bias or a type");
  }
  QC_ASSIGN(Value * offsets, m.tensor("offs"));
  return one(m.emit("grouped_matmul", {x, w, offsets}));
}

Result<Values> onnx_einsum(Import& m);
Result<Values> aten_einsum(Import& m);

constexpr ImportRow kRows[] = {
    {"", "MatMul", onnx_matmul},
    {"", "Gemm", onnx_gemm},
    {"", "Einsum", onnx_einsum},
    {"com.microsoft", "FusedMatMul", fused_matmul},
    {"com.microsoft", "TransposeMatMul", fused_matmul},
    {"com.microsoft", "FusedGemm", fused_gemm},
    {"aten", "linear.default", aten_linear},
    {"aten", "matmul.default", aten_product<kSelf, kOther>},
    {"aten", "linalg_matmul.default", aten_product<kSelf, kOther>},
    {"aten", "mm.default", aten_product<kSelf, kMat2>},
    {"aten", "bmm.default", aten_product<kSelf, kMat2>},
    {"aten", "mv.default", aten_product<kSelf, kVec>},
    {"aten", "dot.default", aten_product<kSelf, kTensor>},
    {"aten", "vdot.default", aten_product<kSelf, kOther>},
    {"aten", "addmm.default", aten_addmm},
    {"aten", "addmv.default", in_f32<aten_addmv>},
    {"aten", "addbmm.default", in_f32<aten_addbmm>},
    {"aten", "addr.default", in_f32<aten_addr>},
    {"aten", "baddbmm.default", in_f32<aten_baddbmm>},
    {"aten", "outer.default", aten_outer},
    {"aten", "ger.default", aten_outer},
    {"aten", "inner.default", aten_inner},
    {"aten", "tensordot.default", aten_tensordot},
    {"aten", "bilinear.default", aten_bilinear},
    {"aten", "_trilinear.default", aten_trilinear},
    {"aten", "linalg_multi_dot.default", aten_multi_dot},
    {"aten", "einsum.default", aten_einsum},
    {"aten", "_grouped_mm.default", aten_grouped_mm},
    {"transformers", "grouped_mm_fallback.default", grouped_mm},
};

}  // namespace

void register_matmul(Registration& r) {
  r.op<MatMul>();
  r.op<Linear>();
  r.op<QLinear>();
  r.op<QMatMul>();
  r.op<GroupedMatMul>();
  r.op<QGroupedMatMul>();
  r.imports(kRows);
  r.rewrites(matmul_rewrites());
}

}  // namespace qc
