#include "frontends/pt2/symbols.h"

#include <cmath>
#include <set>

#include "frontends/pt2/functionalise.h"
#include "frontends/pt2/liveness.h"
#include "frontends/pt2/symexpr.h"

namespace qc::pt2 {
namespace {

/// A static dim as a plain number.
Arg simplest(Dim dim) {
  if (dim.is_static()) return dim.value();
  return dim;
}

std::optional<Dim> as_dim(const Arg& arg) {
  if (auto* i = std::get_if<int64_t>(&arg)) return Dim(*i);
  if (auto* d = std::get_if<Dim>(&arg)) return *d;
  return std::nullopt;
}

std::optional<double> as_double(const Arg& arg) {
  if (auto* i = std::get_if<int64_t>(&arg)) return static_cast<double>(*i);
  if (auto* d = std::get_if<double>(&arg)) return *d;
  return std::nullopt;
}

std::optional<Dim> integer_op(std::string_view op, const Dim& a, const Dim& b) {
  if (op == "add") return a + b;
  if (op == "sub") return a - b;
  if (op == "mul") return a * b;
  if (op == "sym_max") return max(a, b);
  if (op == "sym_min") return min(a, b);
  if (b.is_static() && b.value() == 0) return std::nullopt;
  if (op == "floordiv") return floordiv(a, b);
  if (op == "mod") return mod(a, b);
  return std::nullopt;
}

std::optional<double> real_op(std::string_view op, double a, double b) {
  if (op == "add") return a + b;
  if (op == "sub") return a - b;
  if (op == "mul") return a * b;
  if (op == "truediv") return a / b;
  if (op == "pow") return std::pow(a, b);
  if (op == "sym_max") return std::fmax(a, b);
  if (op == "sym_min") return std::fmin(a, b);
  if (b == 0) return std::nullopt;
  if (op == "floordiv") return std::floor(a / b);
  if (op == "mod") {
    const double rest = std::fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  return std::nullopt;
}

/// The ATen op that computes the same on rank-0 tensors.
std::string_view tensor_op(std::string_view op) {
  if (op == "add") return "add.Tensor";
  if (op == "sub") return "sub.Tensor";
  if (op == "mul") return "mul.Tensor";
  if (op == "truediv") return "div.Tensor";
  if (op == "pow") return "pow.Tensor_Tensor";
  if (op == "sym_max") return "maximum.default";
  if (op == "sym_min") return "minimum.default";
  if (op == "mod") return "remainder.Tensor";
  if (op == "floordiv") return "floor_divide.default";
  return {};
}

}  // namespace

bool is_unbacked(const Dim& dim) {
  std::set<std::string> symbols;
  dim.collect_symbols(symbols);
  for (const std::string& s : symbols) {
    if (s.size() > 1 && s[0] == 'u' && s.find_first_not_of("0123456789", 1) == s.npos) return true;
  }
  return false;
}

bool is_symbolic(const ExportedNode& node) {
  if (node.outputs.size() != 1) return false;
  ArgKind kind = node.outputs[0].kind;
  return kind == ArgKind::sym_int || kind == ArgKind::sym_float || kind == ArgKind::sym_bool;
}

Result<Dim> Symbols::dim(const SymInt& size, const Loc& loc) const {
  if (size.value) return Dim(*size.value);
  QC_ASSIGN(Dim dim, parse_symexpr(size.expr, loc));
  return bindings_.empty() ? dim : dim.substitute(bindings_);
}

Result<Dims> Symbols::dims(const std::vector<SymInt>& sizes, const Loc& loc) const {
  Dims out;
  for (const SymInt& size : sizes) {
    QC_ASSIGN(Dim d, dim(size, loc));
    out.push_back(std::move(d));
  }
  return out;
}

Result<Arg> Symbols::number(const Item& item, const Loc& loc) const {
  switch (item.kind) {
    case Item::Kind::integer:
      return Arg(item.integer);
    case Item::Kind::boolean:
      return Arg(item.integer != 0);
    case Item::Kind::real:
      return Arg(item.real);
    case Item::Kind::name:
      break;
    default:
      return error(Code::format, loc, "a symbolic number is missing");
  }
  if (auto known = known_.find(item.text); known != known_.end()) return known->second;
  if (auto it = graph_.sym_ints.find(item.text); it != graph_.sym_ints.end()) {
    QC_ASSIGN(Dim d, dim(it->second, loc));
    if (is_unbacked(d)) {
      return error(Code::unsupported, loc,
                   "'{}' is a number computed at run time, needed when compiling", item.text);
    }
    return simplest(std::move(d));
  }
  if (auto it = graph_.sym_floats.find(item.text); it != graph_.sym_floats.end()) {
    if (it->second.real) return Arg(*it->second.real);
  }
  return error(Code::unsupported, loc, "'{}' is a symbolic number that cannot be computed",
               item.text);
}

Result<Dim> Symbols::size(const Item& item, const Loc& loc) const {
  QC_ASSIGN(Arg arg, number(item, loc));
  if (auto d = as_dim(arg)) return *d;
  return error(Code::unsupported, loc, "size '{}' is computed at run time, needed when compiling",
               item.text);
}

Result<Arg> Symbols::arithmetic(Graph& graph, std::string_view op, const std::vector<Arg>& args,
                                const Loc& loc) const {
  if (args.empty()) return error(Code::format, loc, "{} has no operand", op);
  const Arg& a = args[0];
  if (op == "neg") return arithmetic(graph, "sub", {Arg(int64_t{0}), a}, loc);
  if (op.ends_with("sqrt")) return arithmetic(graph, "pow", {a, Arg(0.5)}, loc);
  if (op == "sym_float") {
    if (auto number = as_double(a)) return Arg(*number);
    ForeignNode node;
    node.args = {{"self", a}};
    node.loc = loc;
    Import import(graph, node);
    QC_ASSIGN(Value * value, import.tensor("self"));
    QC_ASSIGN(value, import.cast(value, DType::f32));
    return Arg(value);
  }
  if (args.size() != 2) return error(Code::format, loc, "{} does not have two operands", op);
  const Arg& b = args[1];
  if (op != "truediv" && op != "pow") {
    auto da = as_dim(a), db = as_dim(b);
    if (da && db) {
      if (auto d = integer_op(op, *da, *db)) return simplest(*d);
    }
  }
  if (auto fa = as_double(a), fb = as_double(b); fa && fb) {
    if (auto r = real_op(op, *fa, *fb)) return Arg(*r);
  }
  std::string_view aten = tensor_op(op);
  if (aten.empty()) return error(Code::unsupported, loc, "{} of sizes is not supported", op);
  NamedArgs operands;
  for (const Arg* operand : {&a, &b}) {
    QC_ASSIGN(Arg real, arithmetic(graph, "sym_float", {*operand}, loc));
    const char* name = operand == &a ? "self" : op == "pow" ? "exponent" : "other";
    operands.emplace_back(name, std::move(real));
  }
  QC_ASSIGN(Value * value, call_aten(graph, aten, std::move(operands), loc));
  return Arg(value);
}

Result<Ok> Symbols::evaluate(Graph& graph, const ExportedNode& node, const std::vector<Arg>& args,
                             const Loc& loc) {
  const Item& result = node.outputs[0].items[0];
  if (result.kind != Item::Kind::name) return Ok{};
  Target target = split_target(node.target);
  if (target.op == "item.default" || target.op == "_local_scalar_dense.default") {
    auto* value = args.empty() ? nullptr : std::get_if<Value*>(&args[0]);
    if (value == nullptr) return error(Code::format, loc, "item has no tensor");
    auto ints = known_ints(*value);
    if (ints && ints->size() == 1) {
      known_[result.text] = simplest((*ints)[0]);
    } else {
      known_[result.text] = *value;
    }
    return Ok{};
  }
  if (node.outputs[0].kind == ArgKind::sym_bool) return Ok{};
  // Sizes have their expression in the file; what is left are floats and numbers from tensors.
  bool has_expression = false;
  if (node.outputs[0].kind == ArgKind::sym_int) {
    auto it = graph_.sym_ints.find(result.text);
    if (it != graph_.sym_ints.end()) {
      auto parsed = dim(it->second, loc);
      has_expression = parsed.ok() && !is_unbacked(*parsed);
    }
  }
  if (has_expression || target.op.starts_with("sym_")) return Ok{};
  std::string_view op = target.op.substr(target.op.rfind('.') + 1);
  auto value = arithmetic(graph, op, args, loc);
  if (value.ok()) known_[result.text] = std::move(*value);
  return Ok{};
}

}  // namespace qc::pt2
