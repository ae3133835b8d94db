#include "frontends/fx/plain_python.h"

#include <algorithm>

namespace qc::fx {
namespace {

Thing size_list(const Dims& shape) {
  Things out;
  for (const Dim& d : shape) out.push_back(Thing{d});
  return Thing{std::move(out)};
}

/// Python's index of an axis or item; nothing when there is none.
std::optional<size_t> index_of(int64_t index, size_t count) {
  const auto size = static_cast<int64_t>(count);
  if (index < -size || index >= size) return std::nullopt;
  return static_cast<size_t>(index < 0 ? index + size : index);
}

Result<Thing> item_of(const Things& list, const Thing& at, const Loc& loc) {
  if (const Dim* index = at.as<Dim>(); index && index->is_static()) {
    const auto found = index_of(index->value(), list.size());
    if (!found) return error(Code::graph, loc, "item {} of {}", index->value(), list.size());
    return list[*found];
  }
  const auto* slice = at.as<std::shared_ptr<const Slice>>();
  if (!slice || !(*slice)->step.none())
    return error(Code::unsupported, loc, "an index of a list that is no number");
  const auto end_of = [&](const Thing& t, size_t fallback) -> size_t {
    const Dim* d = t.as<Dim>();
    if (!d || !d->is_static()) return fallback;
    const int64_t size = static_cast<int64_t>(list.size());
    const int64_t v = d->value() < 0 ? d->value() + size : d->value();
    return static_cast<size_t>(std::clamp<int64_t>(v, 0, size));
  };
  const size_t begin = end_of((*slice)->begin, 0), end = end_of((*slice)->end, list.size());
  if (begin >= end) return Thing{Things{}};
  return Thing{
      Things(list.begin() + static_cast<int64_t>(begin), list.begin() + static_cast<int64_t>(end))};
}

/// x[...] of a tensor, index after index.
class Indexing {
 public:
  Indexing(Scope& scope, Thing tensor, const Loc& loc)
      : scope_(scope), tensor_(std::move(tensor)), loc_(loc) {}

  Result<Thing> run(const Thing& index) {
    Things all = index.as<Things>() ? *index.as<Things>() : Things{index};
    QC_ASSIGN(const Value* value, scope_.tensor(tensor_, loc_));
    int64_t used = 0;
    for (const Thing& t : all) used += !t.none() && !t.as<Ellipsis>();
    int64_t axis = 0;
    const int64_t rank = value->rank();
    for (const Thing& t : all) {
      if (t.as<Ellipsis>()) {
        axis += rank - used;
      } else if (t.none()) {
        QC_TRY(apply("unsqueeze.default", {{"dim", Thing{Dim(axis++)}}}));
      } else if (t.as<Dim>()) {
        QC_TRY(apply("select.int", {{"dim", Thing{Dim(axis)}}, {"index", t}}));
      } else if (const auto* slice = t.as<std::shared_ptr<const Slice>>()) {
        const Slice& s = **slice;
        if (!s.begin.none() || !s.end.none() || !s.step.none()) {
          QC_TRY(apply(
              "slice.Tensor",
              {{"dim", Thing{Dim(axis)}}, {"start", s.begin}, {"end", s.end}, {"step", s.step}}));
        }
        ++axis;
      } else if (t.as<CellId>() && all.size() == 1) {
        QC_TRY(apply("index.Tensor", {{"indices", Thing{Things{t}}}}));
      } else {
        return error(Code::unsupported, loc_, "an index of this kind");
      }
    }
    return tensor_;
  }

 private:
  Result<Ok> apply(const char* target, NamedThings args) {
    args.insert(args.begin(), {"self", tensor_});
    QC_ASSIGN(tensor_, scope_.call(target, args, {}, loc_));
    return Ok{};
  }

  Scope& scope_;
  Thing tensor_;
  const Loc& loc_;
};

Result<std::optional<Thing>> attribute(Scope& scope, const Thing& of, const std::string& name,
                                       const Loc& loc) {
  QC_ASSIGN(const Value* value, scope.tensor(of, loc));
  if (name == "shape") return std::optional(size_list(value->shape()));
  if (name == "ndim") return std::optional(Thing{Dim(value->rank())});
  if (name == "dtype") return std::optional(Thing{value->dtype()});
  if (name == "device" || name == "layout") return std::optional(Thing{Ignored{}});
  const char* op = name == "T" ? "numpy_T.default" : name == "mT" ? "mT.default" : nullptr;
  if (!op) return error(Code::unsupported, loc, "attribute '{}' of a tensor", name);
  QC_ASSIGN(Thing out, scope.call(op, {{"self", of}}, {}, loc));
  return std::optional(std::move(out));
}

/// Sizes and numbers; nothing where an operand is something else.
std::optional<Thing> arithmetic(std::string_view op, const Thing& a, const Thing& b) {
  const Dim *x = a.as<Dim>(), *y = b.as<Dim>();
  if (!x || !y) return std::nullopt;
  const bool known = x->is_static() && y->is_static();
  if (op == "add" || op == "iadd") return Thing{*x + *y};
  if (op == "sub" || op == "isub") return Thing{*x - *y};
  if (op == "mul" || op == "imul") return Thing{*x * *y};
  if (!known || y->value() == 0) return std::nullopt;
  const int64_t quotient = x->value() / y->value(), rest = x->value() % y->value();
  const bool below = rest != 0 && (rest < 0) != (y->value() < 0);
  if (op == "floordiv" || op == "ifloordiv") return Thing{Dim(quotient - below)};
  if (op == "mod") return Thing{Dim(below ? rest + y->value() : rest)};
  if (op == "truediv")
    return Thing{static_cast<double>(x->value()) / static_cast<double>(y->value())};
  return std::nullopt;
}

Result<std::optional<Thing>> method(Scope& scope, const std::string& name, const Things& args,
                                    const Loc& loc) {
  QC_ASSIGN(const Value* value, scope.tensor(args[0], loc));
  if (name == "size") {
    if (args.size() == 1) return std::optional(size_list(value->shape()));
    const Dim* axis = args[1].as<Dim>();
    const auto at = axis && axis->is_static()
                        ? index_of(axis->value(), static_cast<size_t>(value->rank()))
                        : std::nullopt;
    if (!at) return error(Code::graph, loc, "the size of an axis that is not there");
    return std::optional(Thing{value->shape()[*at]});
  }
  if (name == "dim" || name == "ndimension") return std::optional(Thing{Dim(value->rank())});
  if (name == "numel") {
    Dim count(1);
    for (const Dim& d : value->shape()) count = count * d;
    return std::optional(Thing{count});
  }
  constexpr std::pair<std::string_view, DType> kCasts[] = {
      {"float", DType::f32},     {"double", DType::f64}, {"half", DType::f16},
      {"bfloat16", DType::bf16}, {"int", DType::i32},    {"long", DType::i64},
      {"bool", DType::boolean}};
  std::optional<DType> to;
  for (const auto& [word, dtype] : kCasts) {
    if (word == name) to = dtype;
  }
  if (name == "to") {
    for (const Thing& t : args) {
      if (t.as<DType>()) to = *t.as<DType>();
      if (const CellId* like = t.as<CellId>(); like && &t != &args[0]) {
        QC_ASSIGN(const Value* other, scope.tensor(t, loc));
        to = other->dtype();
      }
    }
    if (!to) return std::optional(args[0]);  // only the device changes
  }
  if (!to) return std::optional<Thing>();
  QC_ASSIGN(Thing out, scope.call("to.dtype", {{"self", args[0]}, {"dtype", Thing{*to}}}, {}, loc));
  return std::optional(std::move(out));
}

}  // namespace

Result<std::optional<Thing>> plain_python(Scope& scope, const DumpNode& node, const Things& args,
                                          const Loc& loc) {
  constexpr std::string_view kOperator = "_operator.";
  if (args.empty()) return std::optional<Thing>();
  if (node.op == "call_method") {
    if (!args[0].as<CellId>()) return std::optional<Thing>();
    return method(scope, node.target, args, loc);
  }
  if (node.target == "builtins.getattr" && args.size() >= 2 && args[1].as<std::string>()) {
    // What max and min of an axis return is a list with names.
    const Things* list = args[0].as<Things>();
    const std::string& name = *args[1].as<std::string>();
    if (list && list->size() == 2 && (name == "values" || name == "indices"))
      return std::optional((*list)[name == "values" ? 0 : 1]);
    return attribute(scope, args[0], name, loc);
  }
  if (node.target == "builtins.len" && args[0].as<Things>())
    return std::optional(Thing{Dim(static_cast<int64_t>(args[0].as<Things>()->size()))});
  if (!node.target.starts_with(kOperator) || args.size() != 2) return std::optional<Thing>();
  const std::string_view op = std::string_view(node.target).substr(kOperator.size());
  if (op != "getitem") return arithmetic(op, args[0], args[1]);
  if (const Things* list = args[0].as<Things>()) {
    QC_ASSIGN(Thing item, item_of(*list, args[1], loc));
    return std::optional(std::move(item));
  }
  QC_ASSIGN(Thing part, Indexing(scope, args[0], loc).run(args[1]));
  return std::optional(std::move(part));
}

bool known_to_python(std::string_view spelling) {
  constexpr std::string_view kKnown[] = {"builtins.getattr",
                                         "builtins.len",
                                         "_operator.getitem",
                                         ".size",
                                         ".dim",
                                         ".ndimension",
                                         ".numel",
                                         ".float",
                                         ".double",
                                         ".half",
                                         ".bfloat16",
                                         ".int",
                                         ".long",
                                         ".bool",
                                         ".to",
                                         "torch.einsum"};
  return std::find(std::begin(kKnown), std::end(kKnown), spelling) != std::end(kKnown);
}

}  // namespace qc::fx
