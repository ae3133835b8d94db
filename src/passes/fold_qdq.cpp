#include "passes/fold_qdq.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "interp/eval.h"
#include "kernels/numerics/quant.h"
#include "passes/fold_constants.h"
#include "passes/quantized_ops.h"
#include "passes/remark.h"
#include "quant/constants.h"
#include "quant/emit.h"
#include "quant/quantizable.h"
#include "quant/quantize_epilogue.h"
#include "quant/remarks.h"

namespace qc {
namespace {

class Former {
 public:
  Former(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

  Result<bool> run() {
    for (Node* node : graph_.nodes()) {
      if (node->output_count() == 0) continue;
      if (capability<IsQuantize>(node) || capability<IsDequantize>(node)) {
        QC_TRY(refuse_empty_inputs());
      }
      if (capability<IsQuantize>(node)) {
        QC_TRY(merge(node));
      } else if (!capability<IsDequantize>(node)) {
        QC_TRY(quantize_node(node));
      }
    }
    drop_codes_of_floats();
    warn_of_floats();
    if (changed_) graph_.sweep();
    return changed_;
  }

 private:
  /// A rule that asked for codes where nothing came of it is not passed over in silence.
  void warn_of_floats() {
    constexpr size_t kNamed = 3;
    for (const auto& [cause, nodes] : floats_) {
      const size_t named = std::min(nodes.size(), kNamed);
      context_.warnings.push_back(
          fmt::format("{} asks for integers, but {}{} stay{} float: {}", cause.first,
                      fmt::join(nodes.begin(), nodes.begin() + static_cast<ptrdiff_t>(named), ", "),
                      nodes.size() > named ? fmt::format(" and {} more", nodes.size() - named) : "",
                      nodes.size() > 1 ? "" : "s", cause.second));
    }
  }

  /// Nothing is computed from an empty batch, and a mean of it would have no code.
  Result<Ok> refuse_empty_inputs() const {
    for (const Value* x : graph_.inputs()) {
      if (product(x->shape()) != Dim(0)) continue;
      return error(Code::shape, "input '{}' is empty, {}: a quantized network needs an element",
                   x->name(), str(x->shape()));
    }
    return Ok{};
  }

  /// quantize(dequantize(x)): nothing where nothing changes, else one node with both roundings.
  Result<Ok> merge(Node* node) {
    if (node->input(0)->is_constant()) {
      QC_ASSIGN(const auto codes, record(graph_, *node, node->inputs()));
      graph_.replace_uses(node->output(), codes[0]);
      changed_ = true;
      return Ok{};
    }
    Node* d = decoder(node->input(0));
    if (!d) return Ok{};
    Value* codes = d->input(0);
    const auto* q = capability<IsQuantize>(node);
    if (codes->type().quant() == q->format()) {
      // Those who decode it again read what is decoded already.
      for (Node* user : node->output()->users()) {
        if (capability<IsDequantize>(user)) graph_.replace_uses(user->output(), d->output());
      }
      graph_.replace_uses(node->output(), codes);
      changed_ = true;
      return Ok{};
    }
    if (!is_plain(codes->type()) || !is_plain(node->output()->type())) return Ok{};
    if (bits(codes->dtype()) > 16) return Ok{};
    if (capability<IsQuantize>(codes->def()) && codes->dtype() == node->output()->dtype()) {
      remark(node->loc(),
             "quantized twice in a row with different scales: both roundings are kept");
    }
    QC_ASSIGN(Value * y, requantized({graph_, join(d->loc(), node->loc()), node}, codes,
                                     q->format(), q->quantize_arithmetic()));
    graph_.replace_uses(node->output(), y);
    changed_ = true;
    return Ok{};
  }

  /// The same codes in another format; of a constant at once.
  Result<Value*> requantized(const InsertPoint& point, Value* codes, const QType& to,
                             const Arithmetic& arithmetic) {
    QC_ASSIGN(Value * y, emit_requantize(point, codes, to, arithmetic));
    if (!codes->is_constant()) return y;
    QC_ASSIGN(const auto known, record(graph_, *y->def(), y->def()->inputs()));
    graph_.erase(y->def());
    return known[0];
  }

  Result<Ok> quantize_node(Node* node) {
    bool decoded = false;
    for (Value* v : node->inputs()) decoded = decoded || decoder(v);
    if (!decoded) return Ok{};
    std::string refusal;
    if (auto* own = capability<Quantizable>(node)) {
      QC_ASSIGN(const bool done, quantize_itself(node, *own, refusal));
      if (done) return Ok{};
    }
    if (runs_on_codes(*node)) {
      QC_ASSIGN(bool done, move_to_codes(graph_, *node));
      changed_ = changed_ || done;
      if (!done) {
        QC_ASSIGN(done, move_after_encoding(node));
      }
      if (done) return Ok{};
    }
    if (function_operand(*node)) {
      QC_ASSIGN(const bool done, quantize_as_table(node));
      if (done) return Ok{};
    }
    return stay_float(*node, refusal);
  }

  /// A node that a rule made codes around, and that has no form on them, is an error or float as it
  /// was: no rule makes a float op read rounded values. A form that computes with floats reads
  /// floats, too, and writes codes.
  Result<Ok> stay_float(Node& node, const std::string& refusal) {
    const QNote* note = note_of(context_.notes, node.output());
    if (!note || !note->inserted) return Ok{};
    const bool writes_codes = node.info().has(kQuantizedInFloat) || function_operand(node);
    if (!writes_codes) {
      const std::string reason =
          refusal.empty() ? fmt::format("{} has no integer form here", node.op()) : refusal;
      if (!note->scheme.skip_unsupported) {
        return error(Code::rule, node.loc(),
                     "{} asks for a quantized {}, but {}: exclude the node or say skip_unsupported",
                     note->scheme.origin, node.op(), reason);
      }
      floats_[{note->scheme.origin, reason}].push_back(label(node));
    }
    read_floats(node);
    if (writes_own_codes(&node)) return Ok{};
    for (size_t o = 0; o < node.output_count(); ++o)
      unquantized_.emplace_back(node.output(o), writes_codes);
    return Ok{};
  }

  void read_floats(Node& node) {
    for (size_t i = 0; i < node.input_count(); ++i) {
      Value* x = before_codes(node.input(i));
      if (!x) continue;
      graph_.set_input(&node, i, x);
      changed_ = true;
    }
  }

  /// What a decoded value was before a rule made it codes; null for others.
  Value* before_codes(Value* decoded) {
    Node* d = decoder(decoded);
    if (!d) return nullptr;
    Value* codes = d->input(0);
    if (codes->is_constant()) {
      const auto it = context_.inserted.constants.find(codes->constant());
      return it == context_.inserted.constants.end() ? nullptr : graph_.constant(it->second);
    }
    if (!context_.inserted.has(codes) || !codes->def()) return nullptr;
    Value* x = codes->def()->input(0);
    return writes_own_codes(x->def()) ? nullptr : x;
  }

  /// Whether a quantize of its result becomes part of the node, whose readers then read codes.
  static bool writes_own_codes(Node* node) {
    if (!node || !node->info().has(kQuantizedInFloat) || !capability<TakesQuantizeEpilogue>(node))
      return false;
    return !node->info().has(kElementwise) || function_operand(*node);  // not of two values
  }

  /// Results of nodes that compute in float keep no codes that a rule made and only floats read;
  /// those of the model may be codes for the caller.
  void drop_codes_of_floats() {
    for (const auto& [y, writes_codes] : unquantized_) {
      for (Node* q : y->users()) {
        if (q->output_count() == 0 || !context_.inserted.has(q->output())) continue;
        const std::vector<Node*> readers = q->output()->users();
        const auto is_float = [keep = writes_codes](Node* reader) {
          return capability<IsDequantize>(reader) && !(keep && reader->output()->pinned() > 0);
        };
        const bool decoded = q->output()->pinned() == 0 && std::ranges::all_of(readers, is_float);
        if (!decoded) continue;
        for (Node* d : readers) graph_.replace_uses(d->output(), y);
      }
    }
  }

  struct Readers {
    std::optional<QType> format;  // none: somebody reads f32
    Arithmetic arithmetic;
    std::vector<Node*> quantizers;
  };
  /// What the readers of a value want: one format, or f32.
  Readers readers(Value* y) const {
    Readers out;
    for (Node* user : y->users()) {
      const auto* q = capability<IsQuantize>(user);
      if (!q || y->pinned() > 0) return {};
      if (out.format &&
          !(*out.format == q->format() && out.arithmetic == q->quantize_arithmetic())) {
        return {};
      }
      out.format = q->format();
      out.arithmetic = q->quantize_arithmetic();
      out.quantizers.push_back(user);
    }
    return out;
  }

  void replace(Node* node, const Readers& readers, Value* y) {
    if (!readers.format) graph_.replace_uses(node->output(), y);
    for (Node* q : readers.quantizers) graph_.replace_uses(q->output(), y);
    changed_ = true;
  }

  Result<bool> quantize_itself(Node* node, Quantizable& own, std::string& refusal) {
    Readers wanted = readers(node->output());
    Quantizer q(graph_, *node, wanted.format, wanted.arithmetic);
    changed_ = own.prepare(q) || changed_;
    QC_ASSIGN(Value * y, own.quantized(q));
    if (!y && wanted.format && gives_floats(q)) {
      // A product whose scale is known at run time gives f32, which its readers quantize.
      wanted = {};
      Quantizer floats(graph_, *node, std::nullopt, {});
      QC_ASSIGN(y, own.quantized(floats));
    }
    if (!y) {
      refusal = q.reason();
      if (!node->loc().names.empty()) context_.refusals[node->loc().names[0]] = refusal;
      return false;
    }
    remark_bias(q, own);
    if (const auto* node_says = capability<HasRemark>(y->def())) {
      const std::string text = node_says->remark();
      if (!text.empty()) remark(node->loc(), text);
    }
    replace(node, wanted, y);
    return true;
  }

  /// Whether operand 0 is f32, or codes whose scale is known at run time only, or weights lie in
  /// groups.
  static bool gives_floats(const Quantizer& q) {
    return !q.codes(0) || q.format(0).is_dynamic() ||
           (q.codes(1) && q.format(1).granularity == Granularity::group);
  }

  void remark(const Loc& loc, std::string_view text) {
    context_.remarks.push_back(
        fmt::format("fold_qdq: '{}': {}", loc.names.empty() ? "" : loc.names[0], text));
  }

  /// A model's bias codes whose scale is not that of the accumulators: other runtimes take such
  /// codes as they are.
  void remark_bias(const Quantizer& q, const Quantizable& own) {
    if (own.bias_operand() < 0 || own.weight_operand() < 0 || !q.codes(0)) return;
    const size_t bias = static_cast<size_t>(own.bias_operand());
    const size_t weight = static_cast<size_t>(own.weight_operand());
    if (!q.codes(bias) || !q.codes(weight) || q.format(0).is_dynamic()) return;
    const float given = q.format(bias).scale_at();
    const float accumulators = qn_mulf(q.format(0).scale_at(), q.format(weight).scale_at());
    if (std::abs(given - accumulators) <= 1e-5f * accumulators) return;
    remark(q.node().loc(),
           fmt::format("its bias has scale {}, its accumulators {}: rounded to theirs", given,
                       accumulators));
  }

  /// quantize(f(a, b)) = f(quantize(a), quantize(b)), as encoding keeps the order of values: how
  /// operands of several formats, or constants among them, come to one.
  Result<bool> move_after_encoding(Node* node) {
    if (node->output_count() != 1 || node->output()->dtype() != DType::f32) return false;
    const Readers wanted = readers(node->output());
    if (!wanted.format || !is_plain(Type(*wanted.format, {}))) return false;
    std::vector<Value*> inputs = node->inputs();
    for (Value* v : inputs) {
      if (!v || v->dtype() != DType::f32 || v->is_constant()) continue;
      Node* d = decoder(v);
      if (!d || !is_plain(d->input(0)->type()) || bits(d->input(0)->dtype()) > 16) return false;
    }
    for (Value*& v : inputs) {
      if (!v || v->dtype() != DType::f32) continue;
      if (v->is_constant()) {
        v = quantized_constant(graph_, v, *wanted.format, wanted.arithmetic);
        continue;
      }
      v = decoder(v)->input(0);
      if (v->type().quant() == *wanted.format) continue;
      QC_ASSIGN(v, requantized({graph_, node->loc(), node}, v, *wanted.format, wanted.arithmetic));
    }
    Result<Node*> made = graph_.add(node->clone(), std::move(inputs), node->loc(), node);
    if (!made.ok()) return false;
    if (!((*made)->output()->type().quant() == *wanted.format)) {
      graph_.erase(*made);
      return false;
    }
    replace(node, wanted, (*made)->output());
    return true;
  }

  /// A function of one value of 8 bits: all its values are computed now.
  Result<bool> quantize_as_table(Node* node) {
    const size_t operand = *function_operand(*node);
    Node* d = decoder(node->input(operand));
    const Readers wanted = readers(node->output());
    if (!d || !wanted.format) return false;
    Value* x = d->input(0);
    if (!can_tabulate(x->type().quant(), *wanted.format)) return false;
    QC_ASSIGN(Tensor table, table_of(*node, operand, x->type(), *wanted.format, wanted.arithmetic));
    QC_ASSIGN(Value * y,
              emit_lookup({graph_, node->loc(), node}, x, std::move(table), *wanted.format));
    replace(node, wanted, y);
    return true;
  }

  Result<Tensor> table_of(const Node& node, size_t operand, const Type& x, const QType& to,
                          const Arithmetic& arithmetic) {
    Graph alone(graph_.shared_pool());
    Tensor values(DType::f32, {256});
    for (int i = 0; i < 256; ++i) {
      const int32_t code = is_signed(x.dtype) && i > 127 ? i - 256 : i;
      values.mutable_data<float>()[i] =
          qn_dequantize(code, x.format->scale_at(), x.format->zero_at());
    }
    QC_ASSIGN(const Tensor results, apply(alone, node, operand, values));
    Value* in = alone.add_input("", Type(DType::f32, {Dim(256)}));
    QC_ASSIGN(Value * codes, emit_quantize({alone, {}}, in, to, arithmetic));
    QC_ASSIGN(auto encoded, eval_node(*codes->def(), {&results}));
    return encoded[0];
  }

  Result<Tensor> apply(Graph& alone, const Node& node, size_t operand, const Tensor& values) {
    std::vector<Value*> inputs;
    std::vector<Tensor> held(node.input_count());
    std::vector<const Tensor*> tensors;
    for (size_t i = 0; i < node.input_count(); ++i) {
      if (i == operand) {
        inputs.push_back(alone.add_input("", Type(DType::f32, {Dim(256)})));
        held[i] = values;
      } else {
        QC_ASSIGN(held[i], alone.pool().get(node.input(i)->constant()));
        held[i] = held[i].reshaped({});
        inputs.push_back(alone.add_input("", Type(DType::f32, {})));
      }
      tensors.push_back(&held[i]);
    }
    QC_ASSIGN(Node * clone, alone.add(node.clone(), std::move(inputs), node.loc()));
    QC_ASSIGN(auto results, eval_node(*clone, std::move(tensors)));
    return results[0];
  }

  Graph& graph_;
  PassContext& context_;
  bool changed_ = false;
  /// Nodes that a rule wants integer and that stay float, by the rule and the reason.
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> floats_;
  /// Results of nodes that a rule is for and that compute in float, and whether their form writes
  /// codes.
  std::vector<std::pair<Value*, bool>> unquantized_;
};

}  // namespace

Result<bool> fold_qdq(Graph& graph, PassContext& context) { return Former(graph, context).run(); }

}  // namespace qc
