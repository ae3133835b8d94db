#include "passes/store_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <set>

#include "interp/eval.h"
#include "ir/padding.h"
#include "passes/remark.h"

namespace qc {
namespace {

constexpr int64_t kMostBytes = 1 << 20;  // of all tables: as text they are three times as many
constexpr int64_t kMostShrinking = 4;    // times as many may be in one that a table is made of
constexpr int64_t kMostWork = 64 << 20;  // bytes and products computed for all tables

/// A value that follows from sizes and constants.
struct FromSizes {
  bool computed = false;    // not only elements of constants that were moved
  bool read = false;        // by what does not follow from sizes alone
  bool needed = false;      // a table is made of it
  Value* padded = nullptr;  // with the largest size, where that was computed
  Padding padding = {};
};

/// The one symbol among the sizes of operands and results; empty for none or several.
std::string symbol_of(const Node& node) {
  std::set<std::string> symbols;
  const auto collect = [&](const Value* v) {
    for (const Dim& d : v->shape()) d.collect_symbols(symbols);
  };
  for (const Value* v : node.inputs()) {
    if (v) collect(v);
  }
  for (size_t i = 0; i < node.output_count(); ++i) collect(node.output(i));
  return symbols.size() == 1 ? *symbols.begin() : std::string();
}

/// Whether a value of a smaller size is the first bytes of one of a larger.
bool is_beginning(const Dims& shape) {
  const auto free = std::ranges::find_if_not(shape, &Dim::is_static);
  return free != shape.end() &&
         std::all_of(shape.begin(), free, [](const Dim& d) { return d == Dim(1); }) &&
         std::all_of(free + 1, shape.end(), [](const Dim& d) { return d.is_static(); });
}

class Tables {
 public:
  Tables(Graph& graph, PassContext& context)
      : graph_(graph),
        context_(context),
        symbols_(graph.symbol_bounds()),
        largest_(graph.new_region()),
        found_(graph.value_bound()) {
    largest_->dim_ranges = graph.dim_ranges;
  }

  Result<bool> run() {
    if (symbols_.empty()) return false;
    for (Node* n = graph_.first(); n; n = n->next()) find(*n);
    for (Node* n = graph_.last(); n; n = n->prev()) ask(*n);
    for (Node* n = graph_.first(); n; n = n->next()) evaluate(*n);
    bool changed = false;
    for (Value* table : std::views::reverse(tables_)) {
      QC_ASSIGN(const bool stored, store(table));
      changed = changed || stored;
    }
    if (changed) graph_.sweep();
    return changed;
  }

 private:
  FromSizes* of(const Value* v) {
    const auto& known = found_[v->number()];
    return known ? known.get() : nullptr;
  }

  /// Notes results that follow from sizes and constants. What is repeated is left to its readers.
  void find(const Node& node) {
    const OpInfo& info = node.info();
    if (info.has(kRandom) || info.has(kRepeats) || info.has(kHasRegions)) return;
    if (node.output_count() != 1) return;
    bool computed = !info.has(kMovesElements);
    for (const Value* v : node.inputs()) {
      if (!v || v->is_constant()) continue;
      const FromSizes* operand = of(v);
      if (!operand) return;
      computed = computed || operand->computed;
    }
    found_[node.output()->number()] = std::make_unique<FromSizes>(FromSizes{computed});
  }

  /// Notes tables, which are read by what does not follow from sizes alone, and their operands. Of
  /// a reshaped one the operand is stored, of which several may be views, where the part that is
  /// read lies densely.
  void ask(const Node& node) {
    Value* out = node.output_count() == 1 ? node.output() : nullptr;
    FromSizes* own = out ? of(out) : nullptr;
    if (!own) return;
    own->read = own->read || out->pinned() > 0;
    for (const Use* u = out->first_use(); u && !own->read; u = u->next)
      own->read = u->user->output_count() != 1 || !of(u->user->output());
    if (own->read && own->computed && !all_static(out->shape())) {
      const bool view = node.info().has(kReshapes) && is_beginning(node.input(0)->shape());
      if (view) of(node.input(0))->read = true;
      if (!view) own->needed = take(out) || own->needed;
    }
    if (!own->needed) return;
    for (const Value* v : node.inputs()) {
      if (v && !v->is_constant()) of(v)->needed = true;
    }
  }

  /// Whether the value is to be stored, as far as its size says.
  bool take(Value* table) {
    Dims most;
    for (const Dim& d : table->shape()) most.emplace_back(graph_.largest(d));
    const Result<int64_t> size = checked_bytes(table->dtype(), static_dims(most));
    if (!size.ok() || *size > kMostBytes) return leave(*table);
    tables_.push_back(table);
    return true;
  }

  bool leave(const Value& table) {
    context_.remarks.push_back(
        fmt::format("store_tables: {} is computed in every run: with it, tables would have more "
                    "than {} bytes at the largest sizes",
                    label(*table.def()), kMostBytes));
    return false;
  }

  /// Computes what is needed with the largest size, as far as that is what smaller sizes have too.
  void evaluate(const Node& node) {
    FromSizes* own = node.output_count() == 1 ? of(node.output()) : nullptr;
    const auto symbol = own && own->needed ? symbols_.find(symbol_of(node)) : symbols_.end();
    if (symbol == symbols_.end()) return;
    std::vector<Value*> operands;
    std::vector<Padding> paddings;
    for (const Value* v : node.inputs()) {
      const FromSizes* operand = v && !v->is_constant() ? of(v) : nullptr;
      if (operand && !operand->padded) return;
      operands.push_back(!v        ? nullptr
                         : operand ? operand->padded
                                   : largest_->constant(v->constant(), v->type().format));
      paddings.push_back(operand ? operand->padding : Padding(v ? v->shape().size() : 0));
    }
    const BucketedDim dim{symbol->first, symbol->second.max};
    PaddedNode padded(node, dim, *largest_, std::move(operands), std::move(paddings));
    const Result<std::vector<Value*>> made = padded.add();
    if (!made.ok() || !can_compute((*made)[0])) return;
    compute(*own, *(*made)[0], padded.results()[0]);
  }

  /// Whether a copy of the node is worth evaluating, with no size left open.
  bool can_compute(const Value* value) {
    if (!value->def() || !all_static(value->shape()) || depends_on_sizes(*value->def()))
      return false;
    const std::vector<int64_t> shape = static_dims(value->shape());
    const Result<int64_t> bytes = checked_bytes(value->dtype(), shape);
    if (!bytes.ok() || *bytes > kMostShrinking * kMostBytes) return false;
    work_ += *bytes + value->def()->macs();
    return work_ <= kMostWork;
  }

  /// An evaluation that fails, as beyond the end of a table, is left for the run to report.
  void compute(FromSizes& own, Value& value, const Padding& padding) {
    const Node& node = *value.def();
    std::vector<Tensor> operands(node.input_count());
    std::vector<const Tensor*> pointers(node.input_count(), nullptr);
    for (size_t i = 0; i < operands.size(); ++i) {
      const Value* v = node.input(i);
      if (!v) continue;
      if (v->is_constant()) {
        Result<Tensor> elements = graph_.pool().get(v->constant());
        if (!elements.ok()) return;
        operands[i] = std::move(*elements);
      } else if (const auto at = elements_.find(v); at != elements_.end()) {
        operands[i] = at->second;
      } else {
        return;  // a node that needs the run's own size for its padding
      }
      pointers[i] = &operands[i];
    }
    Result<std::vector<Tensor>> results = eval_node(node, std::move(pointers));
    if (!results.ok()) return;
    own.padded = &value;
    own.padding = padding;
    elements_[&value] = std::move((*results)[0]);
  }

  Result<bool> store(Value* table) {
    const FromSizes& own = *of(table);
    if (!own.padded) return false;
    const Tensor& elements = elements_[own.padded];
    const auto bytes = static_cast<int64_t>(elements.bytes().size());
    if (bytes > room_) return leave(*table);
    room_ -= bytes;
    Value* stored =
        graph_.constant(graph_.pool().add(elements, table->name()), table->type().format);
    QC_ASSIGN(Value * part,
              first_elements(graph_, stored, table->shape(), table->def()->loc(), table->def()));
    graph_.set_name(part, table->name());
    graph_.replace_uses(table, part);
    context_.remarks.push_back(fmt::format(
        "store_tables: {} is stored for the largest sizes, {} bytes", label(*table->def()), bytes));
    return true;
  }

  Graph& graph_;
  PassContext& context_;
  const SymbolBounds symbols_;
  std::unique_ptr<Graph> largest_;
  std::vector<std::unique_ptr<FromSizes>> found_;  // by number of the value
  std::map<const Value*, Tensor> elements_;        // of values of `largest_`
  std::vector<Value*> tables_;                     // the last ones first
  int64_t work_ = 0, room_ = kMostBytes;
};

}  // namespace

Result<bool> store_tables(Graph& graph, PassContext& context) {
  return Tables(graph, context).run();
}

}  // namespace qc
