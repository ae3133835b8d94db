#include "frontends/common/foreign.h"

#include <algorithm>
#include <mutex>
#include <shared_mutex>

#include "frontends/common/known.h"

namespace qc {
namespace {

template <class T>
Result<T> read(const Import& import, std::string_view name, T fallback, const char* kind) {
  const Arg* arg = import.find(name);
  if (!arg) return fallback;
  if (const T* v = std::get_if<T>(arg)) return *v;
  if (auto* d = std::get_if<Dim>(arg)) {
    return import.fail(Code::dim, "argument '{}' is {}; bind its dimensions with --dim", name,
                       d->str());
  }
  if (auto* v = std::get_if<Value*>(arg); v && *v && (*v)->rank() == 0) {
    return import.fail(Code::unsupported,
                       "argument '{}' is computed at run time, expected {} known when compiling",
                       name, kind);
  }
  return import.fail(Code::attribute, "argument '{}' is not {}", name, kind);
}

int category(DType d) {  // bool < integers < floats
  if (d == DType::boolean) return 0;
  return is_float(d) ? 2 : 1;
}

}  // namespace

bool Import::wants(size_t i) const {
  if (i >= node_.outputs) return false;
  return i >= node_.output_used.size() || node_.output_used[i];
}

const Arg* Import::find(std::string_view name) const {
  for (const auto& [key, arg] : node_.args) {
    if (key == name) return std::holds_alternative<std::monostate>(arg) ? nullptr : &arg;
  }
  return nullptr;
}

Result<int64_t> Import::i(std::string_view name, int64_t fallback) const {
  if (const Arg* arg = find(name)) {
    if (auto* b = std::get_if<bool>(arg)) return static_cast<int64_t>(*b);
    if (auto* d = std::get_if<Dim>(arg); d && d->is_static()) return d->value();
    if (auto* l = std::get_if<Ints>(arg); l && l->size() == 1) return l->front();
  }
  return read<int64_t>(*this, name, fallback, "an integer");
}

Result<double> Import::f(std::string_view name, double fallback) const {
  if (const Arg* arg = find(name)) {
    if (auto* b = std::get_if<bool>(arg)) return static_cast<double>(*b);
    if (auto* i = std::get_if<int64_t>(arg)) return static_cast<double>(*i);
    if (auto* d = std::get_if<Dim>(arg); d && d->is_static())
      return static_cast<double>(d->value());
  }
  return read<double>(*this, name, fallback, "a number");
}

Result<bool> Import::b(std::string_view name, bool fallback) const {
  if (const Arg* arg = find(name)) {
    if (auto* i = std::get_if<int64_t>(arg)) return *i != 0;
  }
  return read<bool>(*this, name, fallback, "a boolean");
}

Result<std::string> Import::s(std::string_view name, std::string fallback) const {
  return read<std::string>(*this, name, std::move(fallback), "a string");
}

Result<Ints> Import::ints(std::string_view name, Ints fallback) const {
  if (const Arg* arg = find(name)) {
    if (auto* i = std::get_if<int64_t>(arg)) return Ints{*i};
    if (auto* d = std::get_if<Dims>(arg)) {
      if (all_static(*d)) return static_dims(*d);
      return fail(Code::dim, "argument '{}' is {}; bind its dimensions with --dim", name, str(*d));
    }
    if (auto* v = std::get_if<Values>(arg); v && v->empty()) return Ints{};
    if (auto* f = std::get_if<Floats>(arg); f && f->empty()) return Ints{};
  }
  return read<Ints>(*this, name, std::move(fallback), "a list of integers");
}

Result<Floats> Import::floats(std::string_view name, Floats fallback) const {
  if (const Arg* arg = find(name)) {
    if (auto* f = std::get_if<double>(arg)) return Floats{*f};
    if (auto* i = std::get_if<Ints>(arg)) return Floats(i->begin(), i->end());
  }
  return read<Floats>(*this, name, std::move(fallback), "a list of numbers");
}

Result<Dims> Import::dims(std::string_view name) const {
  const Arg* arg = find(name);
  if (!arg) return fail(Code::attribute, "argument '{}' is missing", name);
  if (auto* i = std::get_if<Ints>(arg)) return to_dims(*i);
  if (auto* i = std::get_if<int64_t>(arg)) return Dims{*i};
  if (auto* v = std::get_if<Values>(arg); v && v->empty()) return Dims{};
  return read<Dims>(*this, name, Dims{}, "a list of sizes");
}

Result<Dim> Import::dim(std::string_view name, Dim fallback) const {
  if (const Arg* arg = find(name)) {
    if (auto* i = std::get_if<int64_t>(arg)) return Dim(*i);
  }
  return read<Dim>(*this, name, fallback, "a size");
}

Result<DType> Import::dtype(std::string_view name, DType fallback) const {
  return read<DType>(*this, name, fallback, "an element type");
}

Result<Value*> Import::tensor(std::string_view name) const {
  QC_ASSIGN(Value * v, optional_tensor(name));
  if (!v) return fail(Code::attribute, "argument '{}' is missing", name);
  return v;
}

Result<Value*> Import::optional_tensor(std::string_view name) const {
  const Arg* arg = find(name);
  if (!arg) return static_cast<Value*>(nullptr);
  if (auto* v = std::get_if<Value*>(arg)) return *v;
  if (auto* d = std::get_if<double>(arg)) return scalar(*d, DType::f32);
  if (auto* i = std::get_if<int64_t>(arg)) return scalar_int(*i, DType::i64);
  if (auto* b = std::get_if<bool>(arg)) return scalar_int(*b, DType::boolean);
  if (auto* d = std::get_if<Dim>(arg)) {
    if (d->is_static()) return scalar_int(d->value(), DType::i64);
    return emit("dims", {}, {{"values", Dims{*d}}, {"scalar", true}});
  }
  return fail(Code::attribute, "argument '{}' is not a tensor", name);
}

Result<Value*> Import::tensor_as(std::string_view name, DType dtype) const {
  if (const Arg* arg = find(name)) {
    if (auto* number = std::get_if<double>(arg)) return scalar(*number, dtype);
  }
  QC_ASSIGN(Value * v, tensor(name));
  return cast(v, dtype);
}

Result<Values> Import::tensors(std::string_view name) const {
  if (const Arg* arg = find(name)) {
    if (auto* v = std::get_if<Value*>(arg)) return Values{*v};
    if (auto* i = std::get_if<Ints>(arg); i && i->empty()) return Values{};
  }
  return read<Values>(*this, name, Values{}, "a list of tensors");
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (category(a) != category(b)) return category(a) > category(b) ? a : b;
  if (is_float(a)) {
    if (bits(a) == bits(b)) return DType::f32;  // f16 with bf16
    return bits(a) > bits(b) ? a : b;
  }
  if (is_signed(a) == is_signed(b)) return bits(a) > bits(b) ? a : b;
  const DType s = is_signed(a) ? a : b, u = is_signed(a) ? b : a;
  if (bits(s) > bits(u)) return s;
  return bits(u) == 8 ? DType::i16 : bits(u) == 16 ? DType::i32 : DType::i64;
}

Result<DType> Import::promoted_type(std::string_view a, std::string_view b) const {
  QC_ASSIGN(Value * va, tensor(a));
  QC_ASSIGN(Value * vb, tensor(b));
  // A number, and less so a rank-0 tensor, does not raise the type within its category.
  auto weight = [&](Value* v, std::string_view name) {
    return !std::holds_alternative<Value*>(*find(name)) ? 0 : v->rank() == 0 ? 1 : 2;
  };
  const int wa = weight(va, a), wb = weight(vb, b);
  DType type = promote(va->dtype(), vb->dtype());
  if (wa != wb) {
    const DType strong = wa > wb ? va->dtype() : vb->dtype();
    const DType weak = wa > wb ? vb->dtype() : va->dtype();
    type = category(weak) > category(strong) ? weak : strong;
  }
  return type;
}

Result<std::pair<Value*, Value*>> Import::promoted(std::string_view a, std::string_view b) const {
  QC_ASSIGN(const DType type, promoted_type(a, b));
  QC_ASSIGN(Value * va, tensor_as(a, type));
  QC_ASSIGN(Value * vb, tensor_as(b, type));
  return std::pair{va, vb};
}

Result<Dims> Import::known(Value* value, std::string_view what) const {
  if (!value) return fail(Code::graph, "{} is missing", what);
  if (auto contents = known_ints(value)) return *contents;
  return fail(Code::unsupported, "{} is computed at run time; quantc needs it when compiling",
              what);
}

Result<Ints> Import::known_static(Value* value, std::string_view what) const {
  QC_ASSIGN(Dims dims, known(value, what));
  if (!all_static(dims)) {
    return fail(Code::dim, "{} depends on a symbolic dimension; bind it with --dim", what);
  }
  return static_dims(dims);
}

Result<Tensor> Import::constant(Value* value, std::string_view what) const {
  if (!value) return fail(Code::graph, "{} is missing", what);
  if (value->is_constant()) return graph_.pool().get(value->constant());
  if (auto decoded = known_tensor(graph_, value)) return std::move(*decoded);
  return fail(Code::unsupported, "{} is computed at run time; quantc needs it when compiling",
              what);
}

Result<Value*> Import::emit(std::string_view op, Values inputs, const AttrMap& attrs) const {
  return graph_.emit(op, std::move(inputs), attrs, node_.loc);
}

Result<Values> Import::emit_all(std::string_view op, Values inputs, const AttrMap& attrs) const {
  QC_ASSIGN(Value * first, graph_.emit(op, std::move(inputs), attrs, node_.loc));
  Values out;
  for (size_t i = 0; i < first->def()->output_count(); ++i) out.push_back(first->def()->output(i));
  return out;
}

Value* Import::scalar(double value, DType dtype) const {
  Tensor t(dtype, {});
  t.set_double(0, value);
  return graph_.constant(std::move(t));
}

Value* Import::scalar_int(int64_t value, DType dtype) const {
  Tensor t(dtype, {});
  t.set_int(0, value);
  return graph_.constant(std::move(t));
}

Value* Import::int_list(const Ints& values) const {
  return graph_.constant(
      Tensor::of<int64_t>(DType::i64, {static_cast<int64_t>(values.size())}, values));
}

Result<Value*> Import::cast(Value* value, DType dtype) const {
  if (!value) return fail(Code::graph, "an operand is missing");
  if (value->dtype() == dtype) return value;
  if (value->is_constant() && value->rank() == 0) {
    QC_ASSIGN(Tensor t, graph_.pool().get(value->constant()));
    Tensor out(dtype, {});
    if (is_float(t.dtype()))
      out.set_double(0, t.as_double(0));
    else
      out.set_int(0, t.as_int(0));
    return graph_.constant(std::move(out));
  }
  return emit("cast", {value}, {{"to", dtype}});
}

/// Rows of new names may be added while other threads look for some; rows stay where they are.
static std::shared_mutex& table_mutex() {
  static std::shared_mutex mutex;
  return mutex;
}

void ImportTable::add(std::span<const ImportRow> rows) {
  const std::unique_lock lock(table_mutex());
  for (const ImportRow& row : rows) {
    auto& list = rows_[{std::string(row.domain), std::string(row.op)}];
    list.push_back(row);
    std::sort(list.begin(), list.end(),
              [](const ImportRow& a, const ImportRow& b) { return a.since < b.since; });
  }
}

const ImportRow* ImportTable::find(std::string_view domain, std::string_view op,
                                   int version) const {
  const std::shared_lock lock(table_mutex());
  auto it = rows_.find({std::string(domain), std::string(op)});
  if (it == rows_.end()) return nullptr;
  const ImportRow* best = nullptr;
  for (const ImportRow& row : it->second) {
    if (version == 0 || row.since <= version) best = &row;
  }
  return best;
}

ImportTable& import_table() {
  static ImportTable table;
  return table;
}

}  // namespace qc
