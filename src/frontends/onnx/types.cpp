#include "frontends/onnx/types.h"

#include <fmt/format.h>

#include <cctype>

#include "frontends/common/unknown_dim.h"
#include "frontends/onnx/tensor.h"

namespace qc::onnx {
namespace {

const char* kind_name(TypeProto::Kind kind) {
  switch (kind) {
    case TypeProto::Kind::none:
      return "nothing";
    case TypeProto::Kind::tensor:
      return "a tensor";
    case TypeProto::Kind::sequence:
      return "a sequence";
    case TypeProto::Kind::map:
      return "a map";
    case TypeProto::Kind::opaque:
      return "an opaque value";
    case TypeProto::Kind::sparse_tensor:
      return "a sparse tensor";
    case TypeProto::Kind::optional:
      return "an optional";
  }
  return "unknown";
}

/// A name the text form of dims can hold: letters, digits and underscores.
std::string identifier(std::string_view text) {
  std::string out(text.substr(0, 64));
  for (char& c : out) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0]))) out.insert(0, "d_");
  return out;
}

/// The dim a text stands for, if it is an expression.
std::optional<Dim> expression(std::string_view text) {
  if (text.empty() || text.size() > 256) return std::nullopt;
  auto parsed = Dim::parse(text);
  return parsed.ok() ? std::optional<Dim>(*parsed) : std::nullopt;
}

}  // namespace

TypeReader::TypeReader(const Bindings& dims, const std::vector<ValueInfo>& inputs)
    : bindings_(dims) {
  for (const ValueInfo& info : inputs) {
    for (const DimProto& d : info.type.shape) {
      if (auto parsed = expression(d.param)) parsed->collect_symbols(symbols_);
    }
  }
}

Dim TypeReader::param(std::string_view text) {
  if (auto parsed = expression(text)) return *parsed;
  auto found = renamed_.find(text);
  if (found == renamed_.end()) {
    std::string symbol = identifier(text);
    while (symbols_.contains(symbol)) symbol += "_";
    found = renamed_.emplace(std::string(text), symbol).first;
  }
  return Dim::symbol(found->second);
}

Result<Type> TypeReader::read(const ValueInfo& info, const Loc& loc) {
  const TypeProto& t = info.type;
  if (t.kind != TypeProto::Kind::tensor) {
    return error(Code::unsupported, loc, "input '{}' is {}; only tensors are supported", info.name,
                 kind_name(t.kind));
  }
  const auto dtype = dtype_of(t.elem_type);
  if (!dtype) {
    return error(Code::unsupported, loc, "input '{}' has elements of type {}", info.name,
                 data_type_name(t.elem_type));
  }
  if (!t.has_shape) {
    return error(Code::unsupported, loc, "input '{}' has no shape; its rank must be known",
                 info.name);
  }
  Type out(*dtype, {});
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < t.shape.size(); ++i) {
    const DimProto& d = t.shape[i];
    Dim dim = d.value;
    if (d.kind == DimProto::Kind::param && !d.param.empty()) {
      dim = param(d.param);
    } else if (d.kind != DimProto::Kind::value || d.value < 0) {
      dim = Dim::symbol(fmt::format("{}_dim{}", identifier(info.name), i));
    }
    dim.collect_symbols(symbols_);
    out.shape.push_back(dim.substitute(bindings_));
    if (out.shape.back().is_static()) sizes.push_back(out.shape.back().value());
  }
  if (auto total = checked_bytes(*dtype, sizes); !total.ok()) {
    return error(Code::limit, loc, "input '{}' of {} is larger than 2^40 bytes", info.name,
                 str(out));
  }
  return out;
}

Result<Ok> TypeReader::check_bindings(const Loc& loc) const {
  for (const auto& [name, number] : bindings_) {
    if (symbols_.contains(name)) continue;
    const std::vector<std::string> known(symbols_.begin(), symbols_.end());
    return unknown_dim(loc, name, known, known);
  }
  return Ok{};
}

Result<Ok> check_declared(const ValueInfo& info, const Type& type, const Loc& loc) {
  if (info.type.kind != TypeProto::Kind::tensor || info.type.elem_type == 0) return Ok{};
  if (dtype_of(info.type.elem_type) != type.dtype) {
    return error(Code::type, loc, "value '{}' is declared {} but is {}", info.name,
                 data_type_name(info.type.elem_type), name(type.dtype));
  }
  return Ok{};
}

}  // namespace qc::onnx
