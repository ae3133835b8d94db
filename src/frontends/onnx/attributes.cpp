// Attributes as arguments of foreign nodes, and Constant nodes.
#include <algorithm>

#include "frontends/onnx/importer.h"

namespace qc::onnx {
namespace {

using Type = AttributeProto::Type;

// Integer attributes that hold a number of ONNX's DataType; rows see a DType.
constexpr std::string_view kTypeAttributes[] = {
    "to",       "dtype", "output_dtype", "output_datatype", "stash_type", "softmax_precision",
    "precision"};

}  // namespace

Result<Arg> Importer::argument(const AttributeProto& a, const Loc& loc) {
  switch (a.type) {
    case Type::f:
      return Arg(static_cast<double>(a.f));
    case Type::s:
      return Arg(std::string(a.s));
    case Type::floats:
      return Arg(Floats(a.floats.begin(), a.floats.end()));
    case Type::ints:
      return Arg(a.ints);
    case Type::strings:
      return Arg(Strings(a.strings.begin(), a.strings.end()));
    case Type::i: {
      const bool is_type = std::ranges::find(kTypeAttributes, a.name) != std::end(kTypeAttributes);
      if (!is_type) return Arg(a.i);
      if (a.i == 0) return Arg();
      const bool small = a.i > 0 && a.i < 1000;
      const auto dtype = small ? dtype_of(static_cast<int32_t>(a.i)) : std::nullopt;
      if (dtype) return Arg(*dtype);
      return error(Code::unsupported, loc, "attribute '{}' names elements of type {}", a.name,
                   small ? data_type_name(static_cast<int32_t>(a.i)) : fmt::format("{}", a.i));
    }
    case Type::t: {
      if (!a.t) return error(Code::format, loc, "attribute '{}' has no tensor", a.name);
      QC_ASSIGN(Tensor tensor, reader_->read(*a.t));
      return Arg(std::move(tensor));
    }
    default:
      return error(Code::unsupported, loc, "attribute '{}' is of a kind that is not supported",
                   a.name);
  }
}

Result<Value*> Importer::constant_node(const NodeProto& node, Scope& scope, const Env& env) {
  const Loc at = loc(node, env);
  const std::string name =
      node.outputs.empty() ? std::string() : env.prefix + std::string(node.outputs[0]);
  const AttributeProto* value = nullptr;
  std::string_view key;
  for (const AttributeProto& a : node.attributes) {
    if (!a.name.starts_with("value") && a.name != "sparse_value") continue;
    if (const AttributeProto* resolved = env.resolve(a)) {
      value = resolved;
      key = a.name;
    }
  }
  auto add = [&](Tensor t) { return scope.graph().constant(std::move(t), name); };
  if (!value) return error(Code::attribute, at, "a constant without a value");
  if (key == "value" && value->t) {
    QC_ASSIGN(Tensor t, reader_->read(*value->t));
    return add(std::move(t));
  }
  if (key == "sparse_value" && value->sparse_tensor) {
    QC_ASSIGN(Tensor t, reader_->read(*value->sparse_tensor));
    return add(std::move(t));
  }
  if (key == "value_float") return add(Tensor::of<float>(DType::f32, {}, {{value->f}}));
  if (key == "value_int") return add(Tensor::of<int64_t>(DType::i64, {}, {{value->i}}));
  if (key == "value_floats") {
    const int64_t n = static_cast<int64_t>(value->floats.size());
    return add(Tensor::of<float>(DType::f32, {n}, value->floats));
  }
  if (key == "value_ints") {
    const int64_t n = static_cast<int64_t>(value->ints.size());
    return add(Tensor::of<int64_t>(DType::i64, {n}, value->ints));
  }
  return error(Code::unsupported, at, "a constant given as '{}' is not supported", key);
}

}  // namespace qc::onnx
