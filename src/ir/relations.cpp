#include "ir/relations.h"

#include <utility>

namespace qc {
namespace {

thread_local std::vector<DimGuard>* noted = nullptr;

void note(const Dim& a, DimGuard::Op op, const Dim& b) {
  if (noted) noted->push_back({a, op, b});
}

}  // namespace

NotedRelations::NotedRelations(std::vector<DimGuard>& to) : outer_(std::exchange(noted, &to)) {}
NotedRelations::~NotedRelations() { noted = outer_; }

bool differ(const Dim& a, const Dim& b) {
  if (a == b) return false;
  if (a.is_static() && b.is_static()) return true;
  note(a, DimGuard::Op::eq, b);
  return false;
}

bool exceeds(const Dim& a, const Dim& b) {
  const Dim more = a - b;
  if (more.is_static()) return more.value() > 0;
  note(a, DimGuard::Op::le, b);
  return false;
}

std::optional<bool> proved(const DimGuard& relation, const SymbolBounds& symbols) {
  const Bounds b = (relation.left.within(symbols) - relation.right.within(symbols)).bounds(symbols);
  const auto decided = [](bool always, bool never) -> std::optional<bool> {
    return always ? std::optional(true) : never ? std::optional(false) : std::nullopt;
  };
  const bool zero = b.min == 0 && b.max == 0, apart = b.min > 0 || b.max < 0;
  switch (relation.op) {
    case DimGuard::Op::eq:
      return decided(zero, apart);
    case DimGuard::Op::ne:
      return decided(apart, zero);
    case DimGuard::Op::le:
      return decided(b.max <= 0, b.min > 0);
    case DimGuard::Op::ge:
      return decided(b.min >= 0, b.max < 0);
    case DimGuard::Op::lt:
      return decided(b.max < 0, b.min >= 0);
    case DimGuard::Op::gt:
      return decided(b.min > 0, b.max <= 0);
  }
  return std::nullopt;
}

}  // namespace qc
