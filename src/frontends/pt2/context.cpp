#include "frontends/pt2/context.h"

namespace qc::pt2 {

Result<Type> Context::type_of(const std::string& name, const Loc& loc) const {
  auto it = plan.flat.tensors.find(name);
  if (it == plan.flat.tensors.end()) return error(Code::graph, loc, "value '{}' has no type", name);
  auto dtype = to_dtype(it->second.dtype);
  if (!dtype) {
    return error(Code::unsupported, loc, "values of type {} are not supported",
                 scalar_type_name(it->second.dtype));
  }
  QC_ASSIGN(Dims dims, symbols.dims(it->second.sizes, loc));
  return Type(*dtype, std::move(dims));
}

const TensorMeta* Context::meta_of(const std::string& name) const {
  auto it = plan.flat.tensors.find(name);
  return it == plan.flat.tensors.end() ? nullptr : &it->second;
}

Result<Ok> Context::define(const std::string& name, CellId cell, const Loc& loc) {
  if (!cells.emplace(name, cell).second) {
    return error(Code::graph, loc, "value '{}' is defined twice", name);
  }
  return Ok{};
}

Result<Value*> Context::read(const std::string& name, const Loc& loc) {
  auto it = cells.find(name);
  if (it == cells.end()) {
    return error(Code::graph, loc, "value '{}' is used before it is defined", name);
  }
  return memory.read(it->second);
}

Result<Ok> Context::import_nodes() {
  for (size_t i = 0; i < plan.flat.nodes.size(); ++i) {
    if (plan.liveness.live(i)) QC_TRY(import_node(*this, plan.flat.nodes[i], plan.locs[i]));
  }
  return Ok{};
}

Result<std::optional<Arg>> convert(Context& context, const Argument& arg, const Loc& loc) {
  auto wrap = [](Arg value) { return std::optional<Arg>(std::move(value)); };
  auto collect = [&](auto list, auto field) {
    for (const Item& item : arg.items) list.push_back(item.*field);
    return wrap(std::move(list));
  };
  switch (arg.kind) {
    case ArgKind::none:
      return wrap(std::monostate{});
    case ArgKind::tensor: {
      QC_ASSIGN(Value * value, context.read(arg.items[0].text, loc));
      return wrap(value);
    }
    case ArgKind::tensors:
    case ArgKind::optional_tensors: {
      Values values;
      for (const Item& item : arg.items) {
        Value* value = nullptr;
        if (item.kind == Item::Kind::name) {
          QC_ASSIGN(value, context.read(item.text, loc));
        }
        values.push_back(value);
      }
      return wrap(std::move(values));
    }
    case ArgKind::integer:
      return wrap(arg.items[0].integer);
    case ArgKind::real:
      return wrap(arg.items[0].real);
    case ArgKind::boolean:
      return wrap(arg.items[0].integer != 0);
    case ArgKind::text:
      return wrap(arg.items[0].text);
    case ArgKind::integers:
    case ArgKind::booleans:
      return collect(Ints{}, &Item::integer);
    case ArgKind::reals:
      return collect(Floats{}, &Item::real);
    case ArgKind::texts:
      return collect(Strings{}, &Item::text);
    case ArgKind::sym_int:
    case ArgKind::sym_float:
    case ArgKind::sym_bool: {
      QC_ASSIGN(Arg number, context.symbols.number(arg.items[0], loc));
      return wrap(std::move(number));
    }
    case ArgKind::sym_ints: {
      Dims dims;
      for (const Item& item : arg.items) {
        QC_ASSIGN(Dim dim, context.symbols.size(item, loc));
        dims.push_back(std::move(dim));
      }
      if (all_static(dims)) return wrap(static_dims(dims));
      return wrap(std::move(dims));
    }
    case ArgKind::scalar_type: {
      auto dtype = to_dtype(arg.items[0].integer);
      if (!dtype) {
        return error(Code::unsupported, loc, "values of type {} are not supported",
                     scalar_type_name(arg.items[0].integer));
      }
      return wrap(*dtype);
    }
    case ArgKind::memory_format:
    case ArgKind::layout:
    case ArgKind::device:
      return std::optional<Arg>();
    default:
      return error(Code::unsupported, loc, "arguments of kind '{}' are not supported", arg.member);
  }
}

}  // namespace qc::pt2
