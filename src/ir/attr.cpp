#include "ir/attr.h"

#include "ir/text_reader.h"
#include "support/escape.h"

namespace qc {
namespace {

template <class T, class F>
std::string list_text(const std::vector<T>& items, F text) {
  std::string out = "[";
  for (size_t i = 0; i < items.size(); ++i) out += (i ? ", " : "") + text(items[i]);
  return out + "]";
}

std::string dim_text(const Dim& d) { return d.is_static() ? d.str() : "#(" + d.str() + ")"; }

}  // namespace

AttrValue::AttrValue() = default;
AttrValue::AttrValue(const AttrValue&) = default;
AttrValue::AttrValue(AttrValue&&) noexcept = default;
AttrValue& AttrValue::operator=(const AttrValue&) = default;
AttrValue& AttrValue::operator=(AttrValue&&) noexcept = default;
AttrValue::~AttrValue() = default;

AttrMap::AttrMap() = default;
AttrMap::AttrMap(std::initializer_list<value_type> entries) : map(entries) {}
AttrMap::AttrMap(const AttrMap&) = default;
AttrMap::AttrMap(AttrMap&&) noexcept = default;
AttrMap& AttrMap::operator=(const AttrMap&) = default;
AttrMap& AttrMap::operator=(AttrMap&&) noexcept = default;
AttrMap::~AttrMap() = default;

template <class T>
void AttrVisitor::operator()(const char* name, T& member) {
  AttrValue value(member);
  visit(name, value, nullptr);
  if (T* v = std::get_if<T>(&value)) member = std::move(*v);
}

template <class T>
void AttrVisitor::operator()(const char* name, T& member, T fallback) {
  AttrValue value(member), standard(std::move(fallback));
  visit(name, value, &standard);
  if (T* v = std::get_if<T>(&value)) member = std::move(*v);
}

#define QC_VISITS(T)                                         \
  template void AttrVisitor::operator()<T>(const char*, T&); \
  template void AttrVisitor::operator()<T>(const char*, T&, T)
QC_VISITS(bool);
QC_VISITS(int64_t);
QC_VISITS(double);
QC_VISITS(std::string);
QC_VISITS(DType);
QC_VISITS(Ints);
QC_VISITS(Floats);
QC_VISITS(Dim);
QC_VISITS(Dims);
QC_VISITS(QType);
#undef QC_VISITS

std::string str(const AttrValue& value) {
  struct Text {
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return float_text(v); }
    std::string operator()(const std::string& v) const { return ir_string(v); }
    std::string operator()(DType v) const { return std::string(name(v)); }
    std::string operator()(const Ints& v) const {
      return list_text(v, [](int64_t i) { return std::to_string(i); });
    }
    std::string operator()(const Floats& v) const {
      return list_text(v, [](double f) { return float_text(f); });
    }
    std::string operator()(const Dim& v) const { return dim_text(v); }
    std::string operator()(const Dims& v) const { return list_text(v, dim_text); }
    std::string operator()(const QType& v) const { return str(v); }
  };
  return std::visit(Text{}, static_cast<const AttrVariant&>(value));
}

bool convert_attr(AttrValue& value, const AttrValue& target) {
  if (value.index() == target.index()) return true;
  if (std::holds_alternative<double>(target)) {
    if (auto* i = std::get_if<int64_t>(&value)) return value = static_cast<double>(*i), true;
  }
  if (std::holds_alternative<QType>(target)) {
    if (auto* t = std::get_if<DType>(&value)) return value = QType{*t, nullptr}, true;
  }
  if (std::holds_alternative<bool>(target)) {
    if (auto* i = std::get_if<int64_t>(&value)) return value = *i != 0, true;
  }
  if (std::holds_alternative<int64_t>(target)) {
    if (auto* b = std::get_if<bool>(&value)) return value = static_cast<int64_t>(*b), true;
    if (auto* d = std::get_if<Dim>(&value); d && d->is_static()) return value = d->value(), true;
  }
  if (std::holds_alternative<Dim>(target)) {
    if (auto* i = std::get_if<int64_t>(&value)) return value = Dim(*i), true;
  }
  if (std::holds_alternative<Dims>(target)) {
    if (auto* i = std::get_if<Ints>(&value)) return value = to_dims(*i), true;
    if (auto* f = std::get_if<Floats>(&value); f && f->empty()) return value = Dims{}, true;
  }
  if (std::holds_alternative<Ints>(target)) {
    if (auto* d = std::get_if<Dims>(&value); d && all_static(*d))
      return value = static_dims(*d), true;
    if (auto* f = std::get_if<Floats>(&value); f && f->empty()) return value = Ints{}, true;
  }
  if (std::holds_alternative<Floats>(target)) {
    if (auto* i = std::get_if<Ints>(&value)) return value = Floats(i->begin(), i->end()), true;
    if (auto* d = std::get_if<Dims>(&value); d && d->empty()) return value = Floats{}, true;
  }
  return false;
}

}  // namespace qc
