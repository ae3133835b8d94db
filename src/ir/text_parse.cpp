#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "ir/op_table.h"
#include "ir/text.h"
#include "support/escape.h"

namespace qc {
namespace {

constexpr int kMaxDepth = 16;  // of nested regions

class Parser {
 public:
  Parser(TextReader& reader, const ParseOptions& options) : r_(reader), options_(options) {}

  Result<std::unique_ptr<Graph>> run() {
    auto pool = std::make_shared<ConstantPool>();
    while (r_.next_is('@')) QC_TRY(constant(*pool));
    return graph(std::make_unique<Graph>(std::move(pool)), 0);
  }

 private:
  Result<std::unique_ptr<Graph>> graph(std::unique_ptr<Graph> g, int depth) {
    if (depth > kMaxDepth) return r_.fail(fmt::format("regions nest deeper than {}", kMaxDepth));
    g->file = options_.file;
    std::unordered_map<std::string, Value*> outer;
    std::swap(outer, values_);
    QC_TRY(r_.expect_word("graph"));
    if (r_.next_is('"')) {
      QC_ASSIGN(g->name, r_.string());
    }
    QC_TRY(r_.expect('('));
    for (bool first = true; !r_.take(')'); first = false) {
      if (!first) QC_TRY(r_.expect(','));
      QC_TRY(input(*g));
    }
    QC_TRY(r_.expect('{'));
    while (!r_.take_word("return")) QC_TRY(item(*g, depth));
    while (r_.next_is('%') || r_.next_is('@') || !g->outputs().empty()) {
      if (!g->outputs().empty() && !r_.take(',')) break;
      QC_ASSIGN(Value * v, operand(*g));
      if (!v) return r_.fail("'_' is not a result");
      std::string name;
      if (r_.next_is('"')) {
        QC_ASSIGN(name, r_.string());
      }
      g->add_output(std::move(name), v);
    }
    QC_TRY(r_.expect('}'));
    std::swap(outer, values_);
    return g;
  }

  Result<Ok> input(Graph& g) {
    QC_ASSIGN(std::string label, value_label());
    std::string name;
    if (r_.next_is('"')) {
      QC_ASSIGN(name, r_.string());
    }
    QC_TRY(r_.expect(':'));
    QC_ASSIGN(Type t, r_.type());
    return define(label, g.add_input(std::move(name), std::move(t)));
  }

  Result<Ok> item(Graph& g, int depth) {
    if (r_.take_word("dim")) return dim_range(g);
    if (depth == 0 && r_.take_word("dot")) return dot(g);
    if (r_.take_word("guard")) return guard(g);
    if (r_.take_word("state")) return state(g);
    if (r_.take_word("next")) return next_state(g);
    if (r_.next_is('%')) return node(g, depth);
    return r_.expected("a node or 'return'");
  }

  Result<Ok> dim_range(Graph& g) {
    QC_ASSIGN(std::string name, r_.string());
    DimRange range;
    QC_TRY(r_.expect('='));
    QC_ASSIGN(std::string_view bounds, r_.word());  // "1..64" is one word
    const size_t dots = bounds.find("..");
    if (dots == std::string_view::npos) return r_.fail("expected MIN..MAX");
    auto bound = [&](std::string_view text, int64_t& out) -> Result<Ok> {
      TextReader number(text);
      if (text.empty()) return Ok{};
      auto value = number.integer();
      if (!value.ok()) return r_.fail("expected MIN..MAX");
      out = *value;
      return Ok{};
    };
    QC_TRY(bound(bounds.substr(0, dots), range.min));
    QC_TRY(bound(bounds.substr(dots + 2), range.max));
    if (r_.take_word("hint")) {
      QC_ASSIGN(range.hint, r_.integer());
    }
    g.dim_ranges[name] = range;
    return Ok{};
  }

  /// It stands before the nodes, whose regions have it too.
  Result<Ok> dot(Graph& g) {
    QC_ASSIGN(const std::string_view word, r_.word());
    const auto step = dot_step_named(word);
    if (!step) return r_.fail(fmt::format("dot is fma or mul_add, not '{}'", word));
    if (g.first()) return r_.fail("'dot' stands after a node");
    g.dot = *step;
    return Ok{};
  }

  Result<Ok> guard(Graph& g) {
    QC_ASSIGN(std::string text, r_.string());
    auto parsed = DimGuard::parse(text);
    if (!parsed.ok()) return r_.fail(parsed.diag().text);
    g.guards.push_back(std::move(*parsed));
    return Ok{};
  }

  Result<Ok> state(Graph& g) {
    QC_ASSIGN(std::string label, value_label());
    QC_ASSIGN(std::string name, r_.string());
    QC_TRY(r_.expect(':'));
    QC_ASSIGN(Type t, r_.type());
    QC_TRY(r_.expect('='));
    QC_ASSIGN(ConstId initial, constant_id());
    if (!(t == g.pool().type(initial))) {
      return r_.fail(
          fmt::format("state is {}, its initial constant {}", str(t), str(g.pool().type(initial))));
    }
    Value* in = g.add_state(std::move(name), initial);
    states_[in] = g.states().size() - 1;
    return define(label, in);
  }

  Result<Ok> next_state(Graph& g) {
    QC_ASSIGN(Value * in, operand(g));
    auto it = states_.find(in);
    if (it == states_.end() || in->graph() != &g)
      return r_.fail("'next' of a value that is no state");
    QC_TRY(r_.expect('='));
    QC_ASSIGN(Value * out, operand(g));
    if (!out || !(out->type() == in->type())) return r_.fail("a state changes its type");
    g.set_state_out(it->second, out);
    return Ok{};
  }

  Result<Ok> constant(ConstantPool& pool) {
    QC_ASSIGN(std::string label, constant_label());
    const std::string name = pool_name_;
    QC_TRY(r_.expect(':'));
    QC_ASSIGN(DType dtype, r_.dtype());
    QC_ASSIGN(Dims dims, r_.dims());
    if (!all_static(dims)) return r_.fail("a constant has a symbolic shape");
    const std::vector<int64_t> shape = static_dims(dims);
    std::shared_ptr<const Format> format;
    if (r_.take_word("q")) {
      QC_ASSIGN(format, r_.format());
    }
    if (auto size = checked_bytes(dtype, shape); !size.ok())
      return r_.locate(std::move(size).diag());
    QC_TRY(r_.expect('='));
    Tensor contents;
    if (r_.take('#')) {
      QC_ASSIGN(std::string_view hash, r_.word());
      QC_ASSIGN(contents, from_side(dtype, shape, hash));
    } else if (r_.take_word("hex")) {
      QC_ASSIGN(contents, r_.hex_bytes(dtype, shape));
    } else {
      QC_ASSIGN(contents, r_.elements(dtype, shape));
    }
    ConstId id = pool.add(contents, name);
    // Constants that the text lists apart stay apart, even if their contents are equal.
    if (!used_.emplace(id, true).second) {
      id = pool.add_lazy(dtype, shape, name, [contents]() -> Result<Tensor> { return contents; });
      used_[id] = true;
    }
    if (!constants_.emplace(label, NamedConstant{id, std::move(format)}).second)
      return r_.fail(fmt::format("@{} is defined twice", label));
    return Ok{};
  }

  Result<Tensor> from_side(DType dtype, const std::vector<int64_t>& shape, std::string_view hash) {
    for (ConstId id = 0; options_.side && id < options_.side->size(); ++id) {
      if (options_.side->dtype(id) != dtype || options_.side->shape(id) != shape) continue;
      QC_ASSIGN(Tensor t, options_.side->get(id));
      if (content_hash(t) == hash) return t;
    }
    return r_.fail(fmt::format("the contents of constant #{} are not at hand", hash));
  }

  Result<Ok> node(Graph& g, int depth) {
    std::vector<std::string> results;
    do {
      QC_ASSIGN(std::string label, value_label());
      results.push_back(std::move(label));
    } while (r_.take(','));
    std::vector<Type> types;
    if (r_.take(':')) {
      do {
        QC_ASSIGN(Type t, r_.type());
        types.push_back(std::move(t));
      } while (r_.take(','));
    }
    QC_TRY(r_.expect('='));
    QC_ASSIGN(std::string_view op, r_.word());
    const OpEntry* entry = op_table().find(op);
    if (!entry) return r_.fail(fmt::format("there is no op '{}'", op));
    std::vector<Value*> inputs;
    QC_TRY(r_.expect('('));
    for (bool first = true; !r_.take(')'); first = false) {
      if (!first) QC_TRY(r_.expect(','));
      QC_ASSIGN(Value * v, operand(g));
      inputs.push_back(v);
    }
    std::unique_ptr<Node> made = entry->create();
    QC_TRY(attributes(*made));
    if (r_.take_word("regions")) {
      QC_TRY(r_.expect('{'));
      while (!r_.take('}')) {
        QC_ASSIGN(auto region, graph(g.new_region(), depth + 1));
        made->add_region(std::move(region));
      }
    }
    Loc loc;
    loc.file = options_.file;
    if (r_.take_word("loc")) {
      QC_TRY(r_.expect('('));
      do {
        QC_ASSIGN(std::string name, r_.string());
        loc.names.push_back(std::move(name));
      } while (r_.take(','));
      QC_TRY(r_.expect(')'));
    }
    Result<Node*> added = g.add(std::move(made), std::move(inputs), std::move(loc));
    if (!added.ok()) return r_.locate(std::move(added).diag());
    return set_results(g, **added, results, types);
  }

  Result<Ok> set_results(Graph& g, Node& n, const std::vector<std::string>& labels,
                         const std::vector<Type>& types) {
    if (n.output_count() != labels.size() || (!types.empty() && types.size() != labels.size())) {
      return r_.fail(fmt::format("{} has {} results", n.op(), n.output_count()));
    }
    for (size_t i = 0; i < labels.size(); ++i) {
      Value* v = n.output(i);
      if (all_static(v->shape())) {
        auto size = checked_bytes(v->dtype(), static_dims(v->shape()));
        if (!size.ok()) return r_.locate(std::move(size).diag());
      }
      if (!types.empty()) {
        Type inferred = v->type();
        inferred.layout = types[i].layout;
        if (!(inferred == types[i])) {
          return r_.fail(fmt::format("result {} of {} is {}, not {}", i, n.op(), str(v->type()),
                                     str(types[i])));
        }
        g.set_type(v, types[i]);
      }
      QC_TRY(define(labels[i], v));
    }
    return Ok{};
  }

  Result<Ok> attributes(Node& n) {
    AttrMap attrs;
    if (r_.take('{')) {
      for (bool first = true; !r_.take('}'); first = false) {
        if (!first) QC_TRY(r_.expect(','));
        QC_ASSIGN(std::string_view name, r_.word());
        QC_TRY(r_.expect('='));
        QC_ASSIGN(AttrValue value, r_.attr());
        if (!attrs.emplace(name, std::move(value)).second) {
          return r_.fail(fmt::format("attribute '{}' is given twice", name));
        }
      }
    }
    Result<Ok> set = set_attrs(n, attrs, Loc{options_.file, {}, {}});
    if (!set.ok()) return r_.locate(std::move(set).diag());
    return Ok{};
  }

  Result<Ok> define(const std::string& label, Value* v) {
    if (!values_.emplace(label, v).second)
      return r_.fail(fmt::format("%{} is defined twice", label));
    return Ok{};
  }
  Result<std::string> value_label() {
    QC_TRY(r_.expect('%'));
    return r_.label();
  }
  // The whole label; what of it is the model's own name goes to pool_name_.
  Result<std::string> constant_label() {
    QC_TRY(r_.expect('@'));
    const bool in_quotes = r_.next_is('"');
    QC_ASSIGN(std::string label, r_.label());
    const bool digits =
        std::all_of(label.begin(), label.end(), [](char c) { return c >= '0' && c <= '9'; });
    pool_name_ = digits && !in_quotes ? "" : label;
    if (in_quotes) label = ir_string(label);
    if (r_.take('~')) {
      QC_ASSIGN(int64_t copy, r_.integer());
      label += fmt::format("~{}", copy);
    }
    return label;
  }
  struct NamedConstant {
    ConstId id;
    std::shared_ptr<const Format> format;
  };
  Result<ConstId> constant_id() {
    QC_ASSIGN(NamedConstant named, named_constant());
    return named.id;
  }
  Result<NamedConstant> named_constant() {
    QC_ASSIGN(std::string label, constant_label());
    auto it = constants_.find(label);
    if (it == constants_.end()) return r_.fail(fmt::format("there is no constant @{}", label));
    return it->second;
  }
  /// %3, @w, or null for _.
  Result<Value*> operand(Graph& g) {
    if (r_.take_word("_")) return static_cast<Value*>(nullptr);
    if (r_.next_is('@')) {
      QC_ASSIGN(NamedConstant named, named_constant());
      return g.constant(named.id, std::move(named.format));
    }
    QC_ASSIGN(std::string label, value_label());
    auto it = values_.find(label);
    if (it == values_.end()) return r_.fail(fmt::format("there is no value %{} here", label));
    return it->second;
  }

  TextReader& r_;
  const ParseOptions& options_;
  std::unordered_map<std::string, Value*> values_;
  std::unordered_map<std::string, NamedConstant> constants_;
  std::unordered_map<ConstId, bool> used_;
  std::unordered_map<const Value*, size_t> states_;
  std::string pool_name_;
};

}  // namespace

Result<std::unique_ptr<Graph>> parse_graph(TextReader& reader, const ParseOptions& options) {
  return Parser(reader, options).run();
}

Result<std::unique_ptr<Graph>> parse(std::string_view text, const ParseOptions& options) {
  TextReader reader(text, options.file);
  QC_ASSIGN(auto graph, parse_graph(reader, options));
  if (!reader.at_end()) return reader.expected("the end");
  return graph;
}

}  // namespace qc
