#include "ir/guard_text.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace qc {
namespace {

struct Words {
  DimGuard::Op op, swapped;  // `swapped` is the same relation with its sides exchanged
  const char* text;
};
using Op = DimGuard::Op;
constexpr Words kWords[] = {{Op::eq, Op::eq, "is"},           {Op::ne, Op::ne, "is not"},
                            {Op::le, Op::ge, "is at most"},   {Op::ge, Op::le, "is at least"},
                            {Op::lt, Op::gt, "is less than"}, {Op::gt, Op::lt, "is more than"}};

const Words& row(Op op) {
  for (const Words& w : kWords) {
    if (w.op == op) return w;
  }
  return kWords[0];
}

}  // namespace

std::string words(const DimGuard& guard) {
  const Words& w = row(guard.op);
  if (guard.left.is_static() && !guard.right.is_static())
    return words(DimGuard{guard.right, w.swapped, guard.left});
  return fmt::format("{} {} {}", guard.left.str(), w.text, guard.right.str());
}

std::string broken(const DimGuard& guard, const Bindings& sizes) {
  const DimGuard known = guard.substitute(sizes);
  std::string here;
  for (const auto& [side, value] :
       {std::pair{&guard.left, &known.left}, {&guard.right, &known.right}}) {
    if (side->is_static() || *side == *value) continue;
    here += fmt::format("{} {} is {}", here.empty() ? "; here" : " and", side->str(), value->str());
  }
  return fmt::format("the model holds only where {}{}", words(guard), here);
}

std::string words(const DimRange& range) {
  const bool open = range.max == std::numeric_limits<int64_t>::max();
  return open ? fmt::format("{} and more", range.min)
              : fmt::format("{} to {}", range.min, range.max);
}

}  // namespace qc
