#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <unordered_map>

#include "ir/op_table.h"
#include "ir/text.h"
#include "support/escape.h"

namespace qc {

namespace {

template <class T>
std::string shortest(T v) {
  if (std::isnan(v)) return std::signbit(v) ? "-nan" : "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", v);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string element_text(const Tensor& t, int64_t i) {
  if (t.dtype() == DType::f32) {
    float v;
    std::memcpy(&v, t.bytes().data() + i * 4, 4);
    return float_text(v);
  }
  if (is_float(t.dtype())) return float_text(t.as_double(i));
  if (t.dtype() == DType::boolean) return t.as_int(i) ? "true" : "false";
  if (t.dtype() == DType::u64) {
    uint64_t v;
    std::memcpy(&v, t.bytes().data() + i * 8, 8);
    return std::to_string(v);
  }
  return std::to_string(t.as_int(i));
}

}  // namespace

std::string float_text(double v) { return shortest(v); }
std::string float_text(float v) { return shortest(v); }

std::string elements_text(const Tensor& tensor) {
  std::string out = "[";
  for (int64_t i = 0; i < tensor.size(); ++i) out += (i ? ", " : "") + element_text(tensor, i);
  return out + "]";
}

std::string hex_text(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const std::byte b : bytes) {
    out += kDigits[std::to_integer<size_t>(b >> 4)];
    out += kDigits[std::to_integer<size_t>(b & std::byte{15})];
  }
  return out;
}

std::string content_hash(const Tensor& tensor) {
  uint64_t h = 0x9e3779b97f4a7c15u;
  auto mix = [&](uint64_t v) {
    h = (h ^ v) * 0xff51afd7ed558ccdu;
    h ^= h >> 32;
  };
  mix(static_cast<uint64_t>(tensor.dtype()));
  for (int64_t d : tensor.shape()) mix(static_cast<uint64_t>(d));
  const std::span<const std::byte> bytes = tensor.bytes();
  for (size_t i = 0; i < bytes.size(); i += 8) {
    uint64_t v = 0;
    std::memcpy(&v, bytes.data() + i, std::min<size_t>(8, bytes.size() - i));
    mix(v);
  }
  return fmt::format("{:016x}", h);
}

namespace {

class Printer {
 public:
  explicit Printer(const PrintOptions& options) : options_(options) {}

  std::string run(const Graph& top) {
    collect(top);
    constants(top.pool());
    graph(top, "");
    return std::move(out_);
  }

 private:
  void graph(const Graph& graph, const std::string& indent) {
    std::unordered_map<const Value*, size_t> outer;
    std::swap(outer, numbers_);
    auto number = [&](const Value* v) {
      return numbers_.emplace(v, numbers_.size()).first->second;
    };
    out_ += indent + "graph ";
    if (!graph.name.empty()) out_ += ir_string(graph.name) + " ";
    out_ += "(";
    for (const Value* v : graph.inputs()) {
      out_ += fmt::format("{}%{} {} : ", number(v) ? ", " : "", number(v), ir_string(v->name()));
      out_ += str(v->type());
    }
    out_ += ") {\n";
    const std::string inner = indent + "  ";
    if (indent.empty() && graph.dot != DotStep::fma)
      out_ += fmt::format("{}dot {}\n", inner, name(graph.dot));
    for (const auto& [name, range] : graph.dim_ranges) {
      out_ += fmt::format("{}dim {} = {}..", inner, ir_string(name), range.min);
      if (range.max != std::numeric_limits<int64_t>::max()) out_ += std::to_string(range.max);
      if (range.hint) out_ += fmt::format(" hint {}", *range.hint);
      out_ += "\n";
    }
    for (const DimGuard& guard : graph.guards)
      out_ += fmt::format("{}guard {}\n", inner, ir_string(guard.str()));
    for (const State& s : graph.states()) {
      out_ += fmt::format("{}state %{} {} : ", inner, number(s.in), ir_string(s.name));
      out_ += str(s.in->type());
      out_ += " = " + names_.at({s.initial, ""}) + "\n";
    }
    for (const Node* n = graph.first(); n; n = n->next()) {
      node(*n, inner);
      for (size_t i = 0; i < n->output_count(); ++i) number(n->output(i));
    }
    for (const State& s : graph.states()) {
      if (s.out != s.in)
        out_ += fmt::format("{}next {} = {}\n", inner, operand(s.in), operand(s.out));
    }
    out_ += inner + "return";
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      const Output& o = graph.outputs()[i];
      out_ += (i ? ", " : " ") + operand(o.value);
      if (!o.name.empty()) out_ += " " + ir_string(o.name);
    }
    out_ += "\n" + indent + "}\n";
    std::swap(outer, numbers_);
  }

  void node(const Node& n, const std::string& indent) {
    out_ += indent;
    for (size_t i = 0; i < n.output_count(); ++i) {
      out_ += fmt::format("{}%{}", i ? ", " : "", numbers_.size() + i);
    }
    for (size_t i = 0; i < n.output_count(); ++i) {
      out_ += i ? ", " : " : ";
      out_ += str(n.output(i)->type());
    }
    out_ += fmt::format(" = {}(", n.op());
    for (size_t i = 0; i < n.input_count(); ++i) out_ += (i ? ", " : "") + operand(n.input(i));
    out_ += ")";
    const auto attributes = get_attrs(n, false);
    for (size_t i = 0; i < attributes.size(); ++i) {
      out_ +=
          fmt::format("{}{} = {}", i ? ", " : " {", attributes[i].first, str(attributes[i].second));
    }
    if (!attributes.empty()) out_ += "}";
    if (!n.regions().empty()) {
      out_ += " regions {\n";
      for (const auto& region : n.regions()) graph(*region, indent + "  ");
      out_ += indent + "}";
    }
    if (!n.loc().names.empty()) {
      out_ += "  loc(";
      for (size_t i = 0; i < n.loc().names.size(); ++i)
        out_ += (i ? ", " : "") + ir_string(n.loc().names[i]);
      out_ += ")";
    }
    out_ += "\n";
  }

  std::string operand(const Value* v) const {
    if (!v) return "_";
    if (v->is_constant()) return names_.at(key(v));
    return "%" + std::to_string(numbers_.at(v));
  }

  // Constants of the graph and all regions, named in the order of their first use.
  void collect(const Graph& g) {
    for (const State& s : g.states()) use(g, {s.initial, ""});
    for (const Node* n = g.first(); n; n = n->next()) {
      for (size_t i = 0; i < n->input_count(); ++i) {
        if (n->input(i) && n->input(i)->is_constant()) use(g, key(n->input(i)));
      }
      for (const auto& region : n->regions()) collect(*region);
    }
    for (const Output& o : g.outputs()) {
      if (o.value->is_constant()) use(g, key(o.value));
    }
  }

  // A constant is what it holds and, for codes, what they mean.
  using ConstKey = std::pair<ConstId, std::string>;
  static ConstKey key(const Value* v) {
    return {v->constant(), v->type().format ? str(v->type().quant()) : ""};
  }

  void use(const Graph& g, const ConstKey& id) {
    if (names_.contains(id)) return;
    order_.push_back(id);
    const std::string& own = g.pool().name(id.first);
    std::string text = std::to_string(unnamed_);
    if (own.empty())
      ++unnamed_;
    else
      text = plain(own) ? own : ir_string(own);
    if (const int copies = seen_[text]++; copies > 0) text += "~" + std::to_string(copies);
    names_[id] = "@" + text;
  }

  static bool plain(const std::string& text) {
    bool letter = false;
    for (char c : text) {
      const bool alpha = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
      if (!alpha && c != '.' && !(c >= '0' && c <= '9')) return false;
      letter = letter || alpha;
    }
    return letter;
  }

  void constants(const ConstantPool& pool) {
    for (const ConstKey& named : order_) {
      const ConstId id = named.first;
      const Type t = pool.type(id);
      const std::string_view codes = named.second;
      out_ += fmt::format("{} : {}{}{} = ", names_.at(named), name(t.dtype), str(t.shape),
                          codes.substr(std::min(codes.size(), name(t.dtype).size())));
      const int64_t count = pool.byte_size(id) / static_cast<int64_t>(bytes(t.dtype));
      const bool small = count <= options_.inline_elements;
      if (small || options_.hashes || options_.all_constants) {
        Result<Tensor> contents = pool.get(id);
        if (!contents.ok())
          out_ += "#";
        else if (small && writable(*contents))
          out_ += elements_text(*contents);
        else if (options_.all_constants)
          out_ += "hex \"" + hex_text(contents->bytes()) + "\"";
        else
          out_ += "#" + content_hash(*contents);
      } else {
        out_ += "#";
      }
      out_ += "\n";
    }
  }

  // Whether parsing the elements' text gives the same bytes: not for NaNs with a payload.
  static bool writable(const Tensor& t) {
    if (!is_float(t.dtype())) return true;
    for (int64_t i = 0; i < t.size(); ++i) {
      const double v = t.as_double(i);
      if (!std::isnan(v)) continue;
      Tensor again(t.dtype(), {1});
      again.set_double(0, std::copysign(std::nan(""), v));
      const size_t size = bytes(t.dtype());
      if (std::memcmp(again.bytes().data(), t.bytes().data() + static_cast<size_t>(i) * size,
                      size) != 0) {
        return false;
      }
    }
    return true;
  }

  const PrintOptions& options_;
  std::string out_;
  std::unordered_map<const Value*, size_t> numbers_;
  std::map<ConstKey, std::string> names_;
  std::vector<ConstKey> order_;
  std::unordered_map<std::string, int> seen_;
  int unnamed_ = 0;
};

}  // namespace

std::string print(const Graph& graph, const PrintOptions& options) {
  Printer printer(options);
  return printer.run(graph);
}

}  // namespace qc
