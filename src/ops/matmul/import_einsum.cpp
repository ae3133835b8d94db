// Einsum as permutations, reshapes and batched matrix products, two operands at a time.
#include "ops/common/importing.h"
#include "ops/common/range.h"
#include "ops/matmul/product.h"

namespace qc {
namespace {

/// One operand and the label of each of its axes. Axes under an ellipsis have labels from 256 on,
/// counted from the right.
struct Labelled {
  Value* value = nullptr;
  Ints labels;
};

bool has_label(const Ints& labels, int64_t label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

/// Labels of one term; `hidden` axes stand for its ellipsis.
Result<Ints> parse_term(const Import& m, std::string_view term, int64_t hidden) {
  Ints labels;
  for (size_t i = 0; i < term.size(); ++i) {
    const char c = term[i];
    if (c == ' ') continue;
    if (c == '.') {
      if (term.substr(i, 3) != "...") return m.fail(Code::attribute, "einsum term '{}'", term);
      for (int64_t d = hidden; d-- > 0;) labels.push_back(256 + d);
      i += 2;
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      labels.push_back(c);
    } else {
      return m.fail(Code::attribute, "einsum term '{}'", term);
    }
  }
  return labels;
}

int64_t count_letters(std::string_view term) {
  return std::count_if(term.begin(), term.end(), [](char c) { return c != '.' && c != ' '; });
}

Result<Value*> permuted(const Import& m, Value* v, const Ints& perm) {
  for (size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != static_cast<int64_t>(i)) return m.emit("transpose", {v}, {{"perm", perm}});
  }
  return v;
}

/// The operand with its axes in the order of `order`, which names all of them.
Result<Value*> ordered(const Import& m, const Labelled& x, const Ints& order) {
  Ints perm;
  for (int64_t label : order) {
    perm.push_back(std::find(x.labels.begin(), x.labels.end(), label) - x.labels.begin());
  }
  return permuted(m, x.value, perm);
}

/// Replaces a label that occurs twice in an operand by one axis along the diagonal.
Result<Labelled> without_repeats(const Import& m, Labelled x) {
  for (size_t i = 0; i < x.labels.size(); ++i) {
    for (size_t j = i + 1; j < x.labels.size(); ++j) {
      if (x.labels[i] != x.labels[j]) continue;
      const int64_t label = x.labels[i];
      const Dim n = x.value->shape()[i];
      if (!(n == x.value->shape()[j]) || !n.is_static()) {
        return m.fail(Code::shape, "einsum takes the diagonal of {}", str(x.value->shape()));
      }
      Ints perm, labels;
      Dims shape;
      for (size_t d = 0; d < x.labels.size(); ++d) {
        if (d == i || d == j) continue;
        perm.push_back(static_cast<int64_t>(d));
        labels.push_back(x.labels[d]);
        shape.push_back(x.value->shape()[d]);
      }
      perm.push_back(static_cast<int64_t>(i));
      perm.push_back(static_cast<int64_t>(j));
      labels.push_back(label);
      shape.push_back(n * n);
      QC_ASSIGN(Value * v, permuted(m, x.value, perm));
      QC_ASSIGN(v, reshaped(m, v, shape));
      Dims size = shape, step(shape.size(), Dim(1));
      size.back() = n;
      step.back() = n + Dim(1);
      QC_ASSIGN(v, m.emit("slice", {v},
                          {{"start", Dims(shape.size(), Dim(0))}, {"size", size}, {"step", step}}));
      return without_repeats(m, {v, labels});
    }
  }
  return x;
}

/// Sums the axes whose labels `keep` does not name.
Result<Labelled> summed(const Import& m, Labelled x, const Ints& keep) {
  Ints axes, labels;
  for (size_t i = 0; i < x.labels.size(); ++i) {
    if (has_label(keep, x.labels[i])) {
      labels.push_back(x.labels[i]);
    } else {
      axes.push_back(static_cast<int64_t>(i));
    }
  }
  if (axes.empty()) return x;
  QC_ASSIGN(Value * v, m.emit("reduce_sum", {x.value}, {{"axes", axes}, {"keepdims", false}}));
  return Labelled{v, labels};
}

/// Contracts two operands; labels in `keep` stay.
Result<Labelled> contract(const Import& m, Labelled a, Labelled b, const Ints& keep) {
  Ints keep_a = keep, keep_b = keep;
  keep_a.insert(keep_a.end(), b.labels.begin(), b.labels.end());
  keep_b.insert(keep_b.end(), a.labels.begin(), a.labels.end());
  QC_ASSIGN(a, summed(m, a, keep_a));
  QC_ASSIGN(b, summed(m, b, keep_b));
  Ints batch, rows, inner, columns;
  Dims batch_shape, rows_shape, columns_shape;
  Dim k(1);
  for (size_t i = 0; i < a.labels.size(); ++i) {
    const int64_t label = a.labels[i];
    const Dim& size = a.value->shape()[i];
    if (!has_label(b.labels, label)) {
      rows.push_back(label);
      rows_shape.push_back(size);
    } else if (has_label(keep, label)) {
      batch.push_back(label);
      const auto at = std::find(b.labels.begin(), b.labels.end(), label) - b.labels.begin();
      const Dim& other = b.value->shape()[static_cast<size_t>(at)];
      if (differ(size, other))
        return m.fail(Code::unsupported, "einsum that broadcasts {} against {}", size.str(),
                      other.str());
      batch_shape.push_back(size);
    } else {
      inner.push_back(label);
      k = k * size;
    }
  }
  for (size_t i = 0; i < b.labels.size(); ++i) {
    if (has_label(a.labels, b.labels[i])) continue;
    columns.push_back(b.labels[i]);
    columns_shape.push_back(b.value->shape()[i]);
  }
  auto joined = [](Ints x, const Ints& y, const Ints& z) {
    x.insert(x.end(), y.begin(), y.end());
    x.insert(x.end(), z.begin(), z.end());
    return x;
  };
  QC_ASSIGN(Value * va, ordered(m, a, joined(batch, rows, inner)));
  QC_ASSIGN(Value * vb, ordered(m, b, joined(batch, inner, columns)));
  Dims shape_a{product(rows_shape), k}, shape_b{k, product(columns_shape)};
  if (!batch.empty()) {
    shape_a.insert(shape_a.begin(), product(batch_shape));
    shape_b.insert(shape_b.begin(), product(batch_shape));
  } else if (!rows.empty()) {
    shape_a = rows_shape;  // rows stay as they lie: this is how linear layers are written
    shape_a.push_back(k);
  }
  QC_ASSIGN(va, reshaped(m, va, shape_a));
  QC_ASSIGN(vb, reshaped(m, vb, shape_b));
  QC_ASSIGN(Value * y, m.emit("matmul", {va, vb}));
  Dims shape = batch_shape;
  shape.insert(shape.end(), rows_shape.begin(), rows_shape.end());
  shape.insert(shape.end(), columns_shape.begin(), columns_shape.end());
  QC_ASSIGN(y, reshaped(m, y, shape));
  return Labelled{y, joined(batch, rows, columns)};
}

/// `wide_sums`: the sum of one operand of integers is i64, as PyTorch's.
Result<Values> einsum(const Import& m, const std::string& equation, const Values& operands,
                      bool wide_sums) {
  if (operands.empty()) return m.fail(Code::graph, "einsum without operands");
  const size_t arrow = equation.find("->");
  std::vector<std::string> terms(1);
  for (char c : equation.substr(0, arrow)) {
    if (c == ',') {
      terms.emplace_back();
    } else {
      terms.back().push_back(c);
    }
  }
  if (terms.size() != operands.size()) {
    return m.fail(Code::attribute, "einsum '{}' names {} operands, got {}", equation, terms.size(),
                  operands.size());
  }
  std::vector<Labelled> list;
  int64_t hidden_most = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    const int64_t hidden = operands[i]->rank() - count_letters(terms[i]);
    QC_ASSIGN(Ints labels, parse_term(m, terms[i], std::max<int64_t>(hidden, 0)));
    if (static_cast<int64_t>(labels.size()) != operands[i]->rank()) {
      return m.fail(Code::shape, "einsum term '{}' for an operand of shape {}", terms[i],
                    str(operands[i]->shape()));
    }
    if (terms[i].find('.') != std::string::npos) hidden_most = std::max(hidden_most, hidden);
    QC_ASSIGN(Labelled x, without_repeats(m, {operands[i], labels}));
    list.push_back(std::move(x));
  }
  Ints result;
  if (arrow != std::string::npos) {
    QC_ASSIGN(result, parse_term(m, std::string_view(equation).substr(arrow + 2), hidden_most));
  } else {
    for (int64_t d = hidden_most; d-- > 0;) result.push_back(256 + d);
    for (int64_t c = 'A'; c <= 'z'; ++c) {
      const auto uses = std::count(equation.begin(), equation.end(), static_cast<char>(c));
      if (uses == 1) result.push_back(c);
    }
  }
  Labelled y = list[0];
  for (size_t i = 1; i < list.size(); ++i) {
    Ints keep = result;
    for (size_t j = i + 1; j < list.size(); ++j)
      keep.insert(keep.end(), list[j].labels.begin(), list[j].labels.end());
    QC_ASSIGN(y, contract(m, y, list[i], keep));
  }
  if (wide_sums && list.size() == 1 && y.labels.size() > result.size() &&
      !is_float(y.value->dtype())) {
    QC_ASSIGN(y.value, m.cast(y.value, DType::i64));
  }
  QC_ASSIGN(y, summed(m, y, result));
  for (int64_t label : result) {
    if (!has_label(y.labels, label))
      return m.fail(Code::attribute, "einsum '{}' has an unknown output label", equation);
  }
  return one(ordered(m, y, result));
}

Result<Values> onnx_einsum(Import& m) {
  QC_ASSIGN(std::string equation, m.s("equation", ""));
  return einsum(m, equation, m.node().inputs, false);
}

Result<Values> aten_einsum(Import& m) {
  QC_ASSIGN(std::string equation, m.s("equation", ""));
  QC_ASSIGN(Values operands, m.tensors("tensors"));
  return einsum(m, equation, operands, true);
}

}  // namespace
}  // namespace qc
