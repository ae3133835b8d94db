#include "ir/guard.h"

namespace qc {
namespace {

struct Relation {
  std::string_view symbol;  // of two with a common start the longer one stands first
  DimGuard::Op op;
  bool (*holds)(int64_t, int64_t);
};
constexpr Relation kRelations[] = {
    {"==", DimGuard::Op::eq, [](int64_t a, int64_t b) { return a == b; }},
    {"!=", DimGuard::Op::ne, [](int64_t a, int64_t b) { return a != b; }},
    {"<=", DimGuard::Op::le, [](int64_t a, int64_t b) { return a <= b; }},
    {">=", DimGuard::Op::ge, [](int64_t a, int64_t b) { return a >= b; }},
    {"<", DimGuard::Op::lt, [](int64_t a, int64_t b) { return a < b; }},
    {">", DimGuard::Op::gt, [](int64_t a, int64_t b) { return a > b; }},
};

const Relation& row(DimGuard::Op op) { return kRelations[static_cast<size_t>(op)]; }

}  // namespace

std::optional<bool> DimGuard::holds() const {
  if (left == right) return row(op).holds(0, 0);
  if (!left.is_static() || !right.is_static()) return std::nullopt;
  return row(op).holds(left.value(), right.value());
}

DimGuard DimGuard::substitute(const Bindings& bindings) const {
  return {left.substitute(bindings), op, right.substitute(bindings)};
}

std::string_view DimGuard::relation() const { return row(op).symbol; }

std::string DimGuard::str() const {
  return left.str() + " " + std::string(relation()) + " " + right.str();
}

Result<DimGuard> DimGuard::parse(std::string_view text) {
  for (const Relation& r : kRelations) {
    const size_t at = text.find(r.symbol);
    if (at == text.npos) continue;
    QC_ASSIGN(Dim left, Dim::parse(text.substr(0, at)));
    QC_ASSIGN(Dim right, Dim::parse(text.substr(at + r.symbol.size())));
    return DimGuard{std::move(left), r.op, std::move(right)};
  }
  return error(Code::format, "'{}' compares no sizes", text);
}

}  // namespace qc
