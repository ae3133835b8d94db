#include "frontends/fx/dump.h"

#include "frontends/fx/safetensors.h"
#include "frontends/pt2/json.h"
#include "support/budget.h"

namespace qc::fx {
namespace {

constexpr int kMaxNesting = 16;
constexpr int64_t kVersion = 1;

class Reader {
 public:
  explicit Reader(const Loc& loc) : loc_(loc) {}

  Result<Dump> read(const pt2::Json& root) {
    Dump out;
    const auto format = root.find("format");
    if (!format) return error(Code::format, loc_, "not an FX dump: it has no 'format'");
    QC_ASSIGN(const std::string name, format->text());
    QC_ASSIGN(const pt2::Json version, root.at("version"));
    QC_ASSIGN(const int64_t number, version.integer());
    if (name != "quantc.fx") return error(Code::format, loc_, "format '{}' is no FX dump", name);
    if (number != kVersion) {
      return error(Code::unsupported, loc_, "version {} of FX dumps; {} is known", number,
                   kVersion);
    }
    if (const auto file = root.find("tensors")) {
      QC_ASSIGN(out.tensors, file->text());
    }
    QC_ASSIGN(const pt2::Json inputs, root.at("inputs"));
    QC_TRY(each_member(inputs, [&](const std::string& key, const pt2::Json& value) -> Result<Ok> {
      QC_ASSIGN(out.inputs[key], input(value));
      return Ok{};
    }));
    if (const auto modules = root.find("modules")) {
      QC_TRY(
          each_member(*modules, [&](const std::string& key, const pt2::Json& value) -> Result<Ok> {
            QC_ASSIGN(out.modules[key], module(value));
            return Ok{};
          }));
    }
    QC_ASSIGN(const pt2::Json nodes, root.at("nodes"));
    QC_ASSIGN(auto list, nodes.array());
    for (const auto node : list) {
      spend(Cost::work, kNodeWork);
      QC_ASSIGN(DumpNode read, this->node(nodes.with(node)));
      out.nodes.push_back(std::move(read));
    }
    return out;
  }

 private:
  template <class F>
  Result<Ok> each_member(const pt2::Json& json, F&& f) {
    QC_ASSIGN(auto members, json.object());
    for (const auto& [key, value] : members) {
      spend(Cost::work, kNodeWork);
      QC_TRY(f(std::string(key), json.with(value, key)));
    }
    return Ok{};
  }

  Result<DType> dtype(const pt2::Json& json) {
    QC_ASSIGN(const std::string name, json.text());
    const auto known = dtype_named(name);
    if (!known) return error(Code::unsupported, loc_, "values of type {} are not supported", name);
    return *known;
  }

  Result<DumpInput> input(const pt2::Json& json) {
    DumpInput out;
    QC_ASSIGN(const pt2::Json type, json.at("dtype"));
    QC_ASSIGN(out.dtype, dtype(type));
    QC_ASSIGN(const pt2::Json shape, json.at("shape"));
    QC_ASSIGN(auto sizes, shape.array());
    for (const auto size : sizes) {
      if (size.is_string()) {
        QC_ASSIGN(const std::string symbol, shape.with(size).text());
        QC_ASSIGN(Dim dim, Dim::parse(symbol));
        out.shape.push_back(std::move(dim));
        continue;
      }
      QC_ASSIGN(const int64_t number, shape.with(size).integer());
      if (number < 0) return shape.broken("a list of sizes");
      out.shape.emplace_back(number);
    }
    return out;
  }

  Result<DumpModule> module(const pt2::Json& json) {
    DumpModule out;
    QC_ASSIGN(const pt2::Json type, json.at("class"));
    QC_ASSIGN(out.type, type.text());
    if (const auto attributes = json.find("attributes")) {
      QC_ASSIGN(out.attributes, named(*attributes));
    }
    if (const auto children = json.find("children")) {
      QC_ASSIGN(auto list, children->array());
      for (const auto child : list) {
        QC_ASSIGN(std::string name, children->with(child).text());
        out.children.push_back(std::move(name));
      }
    }
    return out;
  }

  Result<DumpNode> node(const pt2::Json& json) {
    DumpNode out;
    const std::pair<const char*, std::string*> texts[] = {
        {"name", &out.name}, {"op", &out.op}, {"target", &out.target}};
    for (const auto& [key, to] : texts) {
      QC_ASSIGN(const pt2::Json member, json.at(key));
      QC_ASSIGN(*to, member.text());
    }
    if (const auto module = json.find("module")) {
      QC_ASSIGN(out.module, module->text());
    }
    if (const auto list = json.find("returns_list")) {
      QC_ASSIGN(out.returns_list, list->boolean());
    }
    if (const auto args = json.find("args")) {
      QC_ASSIGN(auto list, args->array());
      for (const auto arg : list) {
        QC_ASSIGN(Item read, item(args->with(arg), arg, 0));
        out.args.push_back(std::move(read));
      }
    }
    if (const auto kwargs = json.find("kwargs")) {
      QC_ASSIGN(out.kwargs, named(*kwargs));
    }
    return out;
  }

  Result<NamedItems> named(const pt2::Json& json) {
    NamedItems out;
    QC_ASSIGN(auto members, json.object());
    for (const auto& [key, value] : members) {
      QC_ASSIGN(Item read, item(json.with(value, key), value, 0));
      out.emplace_back(std::string(key), std::move(read));
    }
    return out;
  }

  Result<std::vector<Item>> items(const pt2::Json& json, const simdjson::dom::array& list,
                                  int depth) {
    if (depth > kMaxNesting) return json.broken("nested less deeply");
    std::vector<Item> out;
    for (const auto element : list) {
      QC_ASSIGN(Item read, item(json.with(element), element, depth + 1));
      out.push_back(std::move(read));
    }
    return out;
  }

  Result<Item> item(const pt2::Json& json, const simdjson::dom::element& e, int depth) {
    using simdjson::dom::element_type;
    Item out;
    switch (e.type()) {
      case element_type::NULL_VALUE:
        return out;
      case element_type::BOOL:
        out.kind = Item::Kind::boolean;
        out.boolean = bool(e);
        return out;
      case element_type::INT64:
        out.kind = Item::Kind::integer;
        out.integer = int64_t(e);
        return out;
      case element_type::DOUBLE:
        out.kind = Item::Kind::real;
        out.real = double(e);
        return out;
      case element_type::STRING: {
        out.kind = Item::Kind::text;
        QC_ASSIGN(out.text, json.text());
        return out;
      }
      case element_type::ARRAY: {
        out.kind = Item::Kind::list;
        QC_ASSIGN(out.items, items(json, simdjson::dom::array(e), depth));
        return out;
      }
      case element_type::OBJECT:
        return marked(json, depth);
      default:
        return json.broken("an argument");
    }
  }

  /// {"node": "x"}, {"float": "inf"}, {"dtype": "int8"}, {"slice": [...]}, ...
  Result<Item> marked(const pt2::Json& json, int depth) {
    QC_ASSIGN(const pt2::Json only, json.only_member());
    const std::string_view mark = only.key();
    Item out;
    if (mark == "node") {
      out.kind = Item::Kind::node;
      QC_ASSIGN(out.text, only.text());
    } else if (mark == "float") {
      out.kind = Item::Kind::real;
      QC_ASSIGN(out.real, only.real());
    } else if (mark == "dtype") {
      out.kind = Item::Kind::dtype;
      QC_ASSIGN(out.dtype, dtype(only));
    } else if (mark == "slice") {
      out.kind = Item::Kind::slice;
      QC_ASSIGN(auto list, only.array());
      QC_ASSIGN(out.items, items(only, list, depth));
      if (out.items.size() != 3) return only.broken("three items");
    } else if (mark == "ellipsis") {
      out.kind = Item::Kind::ellipsis;
    } else if (mark == "device" || mark == "layout" || mark == "memory_format") {
      out.kind = Item::Kind::ignored;
    } else {
      return error(Code::format, loc_, "an argument is marked '{}'", mark);
    }
    return out;
  }

  const Loc& loc_;
};

}  // namespace

Result<Dump> parse_dump(std::string_view json, const Loc& loc) {
  pt2::JsonFile file;
  QC_ASSIGN(const pt2::Json root, file.parse(json, loc));
  return Reader(loc).read(root);
}

}  // namespace qc::fx
