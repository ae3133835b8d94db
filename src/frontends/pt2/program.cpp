#include "frontends/pt2/program.h"

#include <tuple>

#include "frontends/pt2/json.h"

namespace qc::pt2 {
namespace {

constexpr int kMaxGraphDepth = 16;

struct ScalarRow {
  ScalarType number;
  std::string_view name;
  std::optional<DType> dtype;
};
constexpr ScalarRow kScalars[] = {
    {1, "uint8", DType::u8},
    {2, "int8", DType::i8},
    {3, "int16", DType::i16},
    {4, "int32", DType::i32},
    {5, "int64", DType::i64},
    {6, "float16", DType::f16},
    {7, "float32", DType::f32},
    {8, "float64", DType::f64},
    {9, "complex32", {}},
    {10, "complex64", {}},
    {11, "complex128", {}},
    {12, "bool", DType::boolean},
    {13, "bfloat16", DType::bf16},
    {28, "uint16", DType::u16},
    {29, "float8_e4m3fn", DType::f8e4m3},
    {30, "float8_e5m2", DType::f8e5m2},
    {31, "float8_e4m3fnuz", DType::f8e4m3fnuz},
    {32, "float8_e5m2fnuz", DType::f8e5m2fnuz},
    {33, "float8_e8m0fnu", DType::f8e8m0},
    {34, "uint32", DType::u32},
    {35, "uint64", DType::u64},
};

struct MemberRow {
  std::string_view name;
  ArgKind kind;
};
constexpr MemberRow kMembers[] = {
    {"as_none", ArgKind::none},
    {"as_tensor", ArgKind::tensor},
    {"as_tensors", ArgKind::tensors},
    {"as_optional_tensor", ArgKind::tensor},
    {"as_optional_tensors", ArgKind::optional_tensors},
    {"as_int", ArgKind::integer},
    {"as_ints", ArgKind::integers},
    {"as_float", ArgKind::real},
    {"as_floats", ArgKind::reals},
    {"as_bool", ArgKind::boolean},
    {"as_bools", ArgKind::booleans},
    {"as_string", ArgKind::text},
    {"as_strings", ArgKind::texts},
    {"as_sym_int", ArgKind::sym_int},
    {"as_sym_ints", ArgKind::sym_ints},
    {"as_sym_float", ArgKind::sym_float},
    {"as_sym_floats", ArgKind::sym_floats},
    {"as_sym_bool", ArgKind::sym_bool},
    {"as_sym_bools", ArgKind::sym_bools},
    {"as_scalar_type", ArgKind::scalar_type},
    {"as_memory_format", ArgKind::memory_format},
    {"as_layout", ArgKind::layout},
    {"as_device", ArgKind::device},
    {"as_graph", ArgKind::graph},
    {"as_complex", ArgKind::complex},
    {"as_custom_obj", ArgKind::custom_obj},
    {"as_operator", ArgKind::op},
    {"as_nested_tensors", ArgKind::other},
    {"as_int_lists", ArgKind::other},
    {"as_float_lists", ArgKind::other},
    {"as_string_to_argument", ArgKind::other},
};

/// Parses each element of a list with `parse`.
template <class T, class Parse>
Result<std::vector<T>> list(const Json& json, Parse parse) {
  QC_ASSIGN(auto array, json.array());
  std::vector<T> out;
  for (auto element : array) {
    QC_ASSIGN(T value, parse(json.with(element)));
    out.push_back(std::move(value));
  }
  return out;
}

/// Parses each value of an object with `parse`.
template <class T, class Parse>
Result<std::map<std::string, T, std::less<>>> dictionary(const Json& json, Parse parse) {
  QC_ASSIGN(auto object, json.object());
  std::map<std::string, T, std::less<>> out;
  for (auto field : object) {
    QC_ASSIGN(T value, parse(json.with(field.value, field.key)));
    if (!out.emplace(std::string(field.key), std::move(value)).second) {
      return json.broken(fmt::format("an object with one member '{}'", field.key));
    }
  }
  return out;
}

/// as_int / as_float / as_bool, or as_expr with its hint.
Result<SymInt> sym_value(const Json& json) {
  QC_ASSIGN(Json member, json.only_member());
  SymInt out;
  if (member.key() == "as_expr") {
    QC_ASSIGN(Json expr, member.at("expr_str"));
    QC_ASSIGN(out.expr, expr.text());
    if (auto hint = member.find("hint")) {
      if (auto number = hint->find("as_int")) {
        QC_ASSIGN(out.hint, number->integer());
      }
    }
  } else if (member.key() == "as_int") {
    QC_ASSIGN(out.value, member.integer());
  } else if (member.key() == "as_bool") {
    QC_ASSIGN(bool value, member.boolean());
    out.value = value;
  } else if (member.key() == "as_float") {
    QC_ASSIGN(out.real, member.real());
  } else {
    return json.broken("a size");
  }
  return out;
}

Result<TensorMeta> tensor_meta(const Json& json) {
  TensorMeta meta;
  QC_ASSIGN(Json dtype, json.at("dtype"));
  QC_ASSIGN(meta.dtype, dtype.integer());
  QC_ASSIGN(Json sizes, json.at("sizes"));
  QC_ASSIGN(meta.sizes, list<SymInt>(sizes, sym_value));
  QC_ASSIGN(Json strides, json.at("strides"));
  QC_ASSIGN(meta.strides, list<SymInt>(strides, sym_value));
  meta.storage_offset.value = 0;
  if (auto offset = json.find("storage_offset")) {
    QC_ASSIGN(meta.storage_offset, sym_value(*offset));
  }
  if (auto device = json.find("device")) {
    QC_ASSIGN(Json type, device->at("type"));
    QC_ASSIGN(meta.device, type.text());
    if (auto index = device->find("index")) {
      QC_ASSIGN(int64_t number, index->integer());
      meta.device += fmt::format(":{}", number);
    }
  }
  return meta;
}

Item make_item(Item::Kind kind, std::string text) { return {kind, std::move(text), 0, 0}; }

Result<Item> name_item(const Json& json) {
  QC_ASSIGN(Json name, json.at("name"));
  QC_ASSIGN(std::string text, name.text());
  return make_item(Item::Kind::name, std::move(text));
}
Result<Item> text_item(const Json& json) {
  QC_ASSIGN(std::string text, json.text());
  return make_item(Item::Kind::text, std::move(text));
}
Result<Item> integer_item(const Json& json) {
  QC_ASSIGN(int64_t value, json.integer());
  return Item{Item::Kind::integer, {}, value, 0};
}
Result<Item> real_item(const Json& json) {
  QC_ASSIGN(double value, json.real());
  return Item{Item::Kind::real, {}, 0, value};
}
Result<Item> boolean_item(const Json& json) {
  QC_ASSIGN(bool value, json.boolean());
  return Item{Item::Kind::boolean, {}, value, 0};
}
Result<Item> optional_tensor_item(const Json& json) {
  QC_ASSIGN(Json member, json.only_member());
  if (member.key() == "as_none") return Item{};
  if (member.key() != "as_tensor") return json.broken("an optional tensor");
  return name_item(member);
}
/// as_name, or a literal.
Result<Item> symbolic_item(const Json& json) {
  QC_ASSIGN(Json member, json.only_member());
  if (member.key() == "as_name") {
    QC_ASSIGN(std::string text, member.text());
    return make_item(Item::Kind::name, std::move(text));
  }
  if (member.key() == "as_int") return integer_item(member);
  if (member.key() == "as_float") return real_item(member);
  if (member.key() == "as_bool") return boolean_item(member);
  return json.broken("a symbolic number");
}

Result<ExportedGraph> graph(const Json& json, int depth);

Result<Argument> one(Argument out, Result<Item> item) {
  QC_ASSIGN(Item value, std::move(item));
  out.items.push_back(std::move(value));
  return out;
}
template <class Parse>
Result<Argument> many(Argument out, const Json& json, Parse parse) {
  QC_ASSIGN(out.items, list<Item>(json, parse));
  return out;
}

Result<Argument> graph_argument(Argument out, const Json& json, int depth) {
  QC_ASSIGN(Item name, name_item(json));
  out.items.push_back(std::move(name));
  QC_ASSIGN(Json body, json.at("graph"));
  QC_ASSIGN(ExportedGraph parsed, graph(body, depth + 1));
  out.graph = std::make_shared<const ExportedGraph>(std::move(parsed));
  return out;
}

Result<Argument> argument(const Json& json, int depth) {
  QC_ASSIGN(Json member, json.only_member());
  const MemberRow* row = nullptr;
  for (const MemberRow& r : kMembers) {
    if (r.name == member.key()) row = &r;
  }
  if (row == nullptr) return json.broken(fmt::format("an argument: '{}' is unknown", member.key()));
  Argument out;
  out.kind = row->kind;
  out.member = row->name;
  if (member.key() == "as_optional_tensor") {
    QC_ASSIGN(out, one(std::move(out), optional_tensor_item(member)));
    if (out.items[0].kind == Item::Kind::none) out = Argument{};
    return out;
  }
  switch (row->kind) {
    case ArgKind::none:
    case ArgKind::other:
      return out;
    case ArgKind::tensor:
    case ArgKind::custom_obj:
      return one(std::move(out), name_item(member));
    case ArgKind::tensors:
      return many(std::move(out), member, name_item);
    case ArgKind::optional_tensors:
      return many(std::move(out), member, optional_tensor_item);
    case ArgKind::integer:
    case ArgKind::scalar_type:
    case ArgKind::memory_format:
    case ArgKind::layout:
      return one(std::move(out), integer_item(member));
    case ArgKind::integers:
      return many(std::move(out), member, integer_item);
    case ArgKind::real:
      return one(std::move(out), real_item(member));
    case ArgKind::reals:
      return many(std::move(out), member, real_item);
    case ArgKind::boolean:
      return one(std::move(out), boolean_item(member));
    case ArgKind::booleans:
      return many(std::move(out), member, boolean_item);
    case ArgKind::text:
    case ArgKind::op:
      return one(std::move(out), text_item(member));
    case ArgKind::texts:
      return many(std::move(out), member, text_item);
    case ArgKind::sym_int:
    case ArgKind::sym_float:
    case ArgKind::sym_bool:
      return one(std::move(out), symbolic_item(member));
    case ArgKind::sym_ints:
    case ArgKind::sym_floats:
    case ArgKind::sym_bools:
      return many(std::move(out), member, symbolic_item);
    case ArgKind::device: {
      QC_ASSIGN(Json type, member.at("type"));
      return one(std::move(out), text_item(type));
    }
    case ArgKind::complex: {
      QC_ASSIGN(Json real, member.at("real"));
      QC_ASSIGN(Json imag, member.at("imag"));
      QC_ASSIGN(out, one(std::move(out), real_item(real)));
      return one(std::move(out), real_item(imag));
    }
    case ArgKind::graph:
      return graph_argument(std::move(out), member, depth);
  }
  return out;
}

Result<ExportedNode> node(const Json& json, int depth) {
  ExportedNode out;
  QC_ASSIGN(Json target, json.at("target"));
  QC_ASSIGN(out.target, target.text());
  QC_ASSIGN(Json inputs, json.at("inputs"));
  auto named = [depth](const Json& j) -> Result<NamedArgument> {
    NamedArgument a;
    if (auto name = j.find("name")) {
      QC_ASSIGN(a.name, name->text());
    }
    QC_ASSIGN(Json arg, j.at("arg"));
    QC_ASSIGN(a.arg, argument(arg, depth));
    return a;
  };
  QC_ASSIGN(out.inputs, list<NamedArgument>(inputs, named));
  QC_ASSIGN(Json outputs, json.at("outputs"));
  auto positional = [depth](const Json& j) { return argument(j, depth); };
  QC_ASSIGN(out.outputs, list<Argument>(outputs, positional));
  if (auto name = json.find("name")) {
    QC_ASSIGN(out.name, name->text());
  }
  if (auto metadata = json.find("metadata")) {
    if (auto stack = metadata->find("nn_module_stack")) {
      QC_ASSIGN(std::string text, stack->text());
      out.module = innermost_module(text);
    }
  }
  return out;
}

Result<ExportedGraph> graph(const Json& json, int depth) {
  if (depth > kMaxGraphDepth) return json.broken("a graph: bodies are nested too deeply");
  ExportedGraph out;
  auto arg = [depth](const Json& j) { return argument(j, depth); };
  QC_ASSIGN(Json inputs, json.at("inputs"));
  QC_ASSIGN(out.inputs, list<Argument>(inputs, arg));
  QC_ASSIGN(Json outputs, json.at("outputs"));
  QC_ASSIGN(out.outputs, list<Argument>(outputs, arg));
  QC_ASSIGN(Json nodes, json.at("nodes"));
  QC_ASSIGN(out.nodes,
            list<ExportedNode>(nodes, [depth](const Json& j) { return node(j, depth); }));
  QC_ASSIGN(Json tensors, json.at("tensor_values"));
  QC_ASSIGN(out.tensors, dictionary<TensorMeta>(tensors, tensor_meta));
  for (auto [key, values] :
       {std::pair{"sym_int_values", &out.sym_ints}, std::pair{"sym_float_values", &out.sym_floats},
        std::pair{"sym_bool_values", &out.sym_bools}}) {
    if (auto found = json.find(key)) {
      QC_ASSIGN(*values, dictionary<SymInt>(*found, sym_value));
    }
  }
  return out;
}

/// The tensor, token or object a signature entry names.
Result<Argument> spec_argument(const Json& json) {
  QC_ASSIGN(Json arg, json.at("arg"));
  Argument out;
  out.kind = ArgKind::tensor;
  out.member = "as_tensor";
  return one(std::move(out), name_item(arg));
}

Result<InputSpec> input_spec(const Json& json) {
  QC_ASSIGN(Json member, json.only_member());
  InputSpec out;
  out.member = member.key();
  using Kind = InputSpec::Kind;
  constexpr std::tuple<std::string_view, Kind, std::string_view> kNamed[] = {
      {"parameter", Kind::parameter, "parameter_name"},
      {"buffer", Kind::buffer, "buffer_name"},
      {"tensor_constant", Kind::tensor_constant, "tensor_constant_name"},
  };
  for (auto [key, kind, target] : kNamed) {
    if (member.key() != key) continue;
    out.kind = kind;
    QC_ASSIGN(out.arg, spec_argument(member));
    QC_ASSIGN(Json name, member.at(target));
    QC_ASSIGN(out.target, name.text());
  }
  if (member.key() == "user_input") {
    out.kind = Kind::user_input;
    QC_ASSIGN(Json arg, member.at("arg"));
    QC_ASSIGN(out.arg, argument(arg, 0));
  } else if (member.key() == "constant_input") {
    out.kind = Kind::constant_input;
    QC_ASSIGN(Json name, member.at("name"));
    QC_ASSIGN(out.target, name.text());
    QC_ASSIGN(Json value, member.at("value"));
    QC_ASSIGN(out.arg, argument(value, 0));
  }
  return out;
}

Result<OutputSpec> output_spec(const Json& json) {
  QC_ASSIGN(Json member, json.only_member());
  OutputSpec out;
  out.member = member.key();
  using Kind = OutputSpec::Kind;
  if (member.key() == "user_output") {
    out.kind = Kind::user_output;
    QC_ASSIGN(Json arg, member.at("arg"));
    QC_ASSIGN(out.arg, argument(arg, 0));
  } else if (member.key() == "buffer_mutation" || member.key() == "user_input_mutation") {
    bool buffer = member.key() == "buffer_mutation";
    out.kind = buffer ? Kind::buffer_mutation : Kind::user_input_mutation;
    QC_ASSIGN(out.arg, spec_argument(member));
    QC_ASSIGN(Json name, member.at(buffer ? "buffer_name" : "user_input_name"));
    QC_ASSIGN(out.target, name.text());
  }
  return out;
}

/// Old files write huge numbers where new ones write null.
Result<Range> range(const Json& json) {
  constexpr int64_t kUnbounded = int64_t{1} << 62;
  Range out;
  if (auto min = json.find("min_val")) {
    QC_ASSIGN(int64_t v, min->integer());
    if (v > -kUnbounded) out.min = v;
  }
  if (auto max = json.find("max_val")) {
    QC_ASSIGN(int64_t v, max->integer());
    if (v < kUnbounded) out.max = v;
  }
  return out;
}

/// What the root module's forward returns. It only names outputs, so it may be missing or odd.
std::string out_spec(const Json& module) {
  const auto calls = module.find("module_call_graph");
  if (!calls) return {};
  const auto entries = calls->array();
  if (!entries.ok() || entries->size() == 0) return {};
  const auto signature = calls->with(entries->at(0)).find("signature");
  const auto spec = signature ? signature->find("out_spec") : std::nullopt;
  if (!spec) return {};
  auto text = spec->text();
  return text.ok() ? std::move(*text) : std::string();
}

Result<Ok> schema_version(const Json& json, ExportedProgram& out) {
  QC_ASSIGN(Json version, json.at("schema_version"));
  QC_ASSIGN(Json major, version.at("major"));
  QC_ASSIGN(out.schema_major, major.integer());
  QC_ASSIGN(Json minor, version.at("minor"));
  QC_ASSIGN(out.schema_minor, minor.integer());
  return Ok{};
}

}  // namespace

bool Argument::is_list() const {
  switch (kind) {
    case ArgKind::tensors:
    case ArgKind::optional_tensors:
    case ArgKind::integers:
    case ArgKind::reals:
    case ArgKind::booleans:
    case ArgKind::texts:
    case ArgKind::sym_ints:
    case ArgKind::sym_floats:
    case ArgKind::sym_bools:
      return true;
    default:
      return false;
  }
}

std::optional<DType> to_dtype(ScalarType type) {
  for (const ScalarRow& row : kScalars) {
    if (row.number == type) return row.dtype;
  }
  return std::nullopt;
}

std::string_view scalar_type_name(ScalarType type) {
  for (const ScalarRow& row : kScalars) {
    if (row.number == type) return row.name;
  }
  return "unknown";
}

ScalarType scalar_type_of(std::string_view name) {
  for (const ScalarRow& row : kScalars) {
    if (row.name == name) return row.number;
  }
  return 0;
}

std::string_view innermost_module(std::string_view stack) {
  // Entries are "key,path,class"; the class may hold further commas.
  std::string_view last = stack.substr(stack.rfind(';') + 1);
  size_t first = last.find(',');
  if (first == last.npos) return {};
  size_t second = last.find(',', first + 1);
  return second == last.npos ? std::string_view() : last.substr(first + 1, second - first - 1);
}

Result<ExportedProgram> parse_program(std::string_view text, const Loc& loc) {
  JsonFile file;
  QC_ASSIGN(Json json, file.parse(text, loc));
  ExportedProgram out;
  QC_TRY(schema_version(json, out));
  if (out.schema_major < 5 || out.schema_major > 8) {
    return error(Code::unsupported, loc,
                 "schema version {}.{} is not known; versions 5 to 8 (torch 2.4 to 2.13) are read",
                 out.schema_major, out.schema_minor);
  }
  if (auto version = json.find("torch_version")) {
    QC_ASSIGN(out.torch_version, version->text());
  }
  QC_ASSIGN(Json module, json.at("graph_module"));
  QC_ASSIGN(Json body, module.at("graph"));
  QC_ASSIGN(out.graph, graph(body, 0));
  QC_ASSIGN(Json signature, module.at("signature"));
  QC_ASSIGN(Json inputs, signature.at("input_specs"));
  QC_ASSIGN(out.input_specs, list<InputSpec>(inputs, input_spec));
  QC_ASSIGN(Json outputs, signature.at("output_specs"));
  QC_ASSIGN(out.output_specs, list<OutputSpec>(outputs, output_spec));
  out.out_spec = out_spec(module);
  if (auto ranges = json.find("range_constraints")) {
    QC_ASSIGN(out.ranges, dictionary<Range>(*ranges, range));
  }
  if (auto guards = json.find("guards_code")) {
    QC_ASSIGN(out.guards, list<std::string>(*guards, [](const Json& j) { return j.text(); }));
  }
  return out;
}

Result<WeightConfig> parse_weights_config(std::string_view text, const Loc& loc) {
  JsonFile file;
  QC_ASSIGN(Json json, file.parse(text, loc));
  QC_ASSIGN(Json config, json.at("config"));
  return dictionary<WeightEntry>(config, [](const Json& j) -> Result<WeightEntry> {
    WeightEntry entry;
    QC_ASSIGN(Json path, j.at("path_name"));
    QC_ASSIGN(entry.path, path.text());
    if (auto pickled = j.find("use_pickle")) {
      QC_ASSIGN(entry.use_pickle, pickled->boolean());
    }
    if (auto meta = j.find("tensor_meta")) {
      QC_ASSIGN(entry.meta, tensor_meta(*meta));
    } else if (!entry.use_pickle) {
      return j.broken("a tensor: it has no tensor_meta");
    }
    return entry;
  });
}

}  // namespace qc::pt2
