#include "passes/insert_qdq.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "passes/quantized_ops.h"
#include "passes/remark.h"
#include "quant/constants.h"
#include "quant/emit.h"
#include "quant/quantizable.h"
#include "quant/rule.h"
#include "quant/weight_matrices.h"

namespace qc {
namespace {

class Placer {
 public:
  Placer(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

  Result<bool> run() {
    if (context_.notes.empty()) return false;
    bool changed = false;
    std::vector<Node*> nodes = graph_.nodes();
    std::erase_if(nodes, [&](const Node* node) { return !note_data(*node); });
    for (Node* node : nodes) {
      if (node->output_count() == 0) continue;
      try_on_codes(*node);
      QC_ASSIGN(const bool inserted, insert(*node));
      changed = changed || inserted;
    }
    warn();
    graph_.sweep();
    return changed;
  }

 private:
  void warn() const {
    for (const auto& [origin, operands] : unstated_) {
      context_.warnings.push_back(fmt::format(
          "{}: {} operand(s) made by what is float are read with the scale of the result, for the "
          "rule states no input_scale; the first is operand {} of '{}'",
          origin, operands.count, operands.operand, operands.node));
    }
    for (const auto& [origin, operands] : one_scale_) {
      context_.warnings.push_back(
          fmt::format("{} says per_token, but {} node(s) sum over several rows or multiply by "
                      "several matrices: "
                      "they read one scale for the tensor; the first is '{}'",
                      origin, operands.count, operands.node));
    }
    for (const auto& [origin, operands] : matrices_) {
      context_.warnings.push_back(
          fmt::format("{}: {} node(s) multiply by several matrices of weights, which have one "
                      "scale together; the "
                      "first is '{}'",
                      origin, operands.count, operands.node));
    }
    for (const auto& [origin, weights] : regrouped_) {
      context_.warnings.push_back(fmt::format(
          "{} says group for weights beside activations of codes, which no kernel multiplies: they "
          "are rounded once more, to int8 with a scale for each output, and take {} bytes instead "
          "of {} ({}{}); kind = 'weight_only' keeps groups",
          origin, weights.bytes, weights.packed, weights.node,
          weights.count > 1 ? fmt::format(" and {} more", weights.count - 1) : ""));
    }
  }

  /// Whether elements of inputs or states take part in a node. What follows from sizes alone stays
  /// float, as it does where sizes are numbers and it is a constant.
  bool note_data(const Node& node) {
    bool data = node.info().has(kRandom);
    for (const Value* v : node.inputs())
      data = data || (v && !v->is_constant() && (!v->def() || from_data_.count(v)));
    for (size_t i = 0; data && i < node.output_count(); ++i) from_data_.insert(node.output(i));
    return data;
  }

  static bool is_float_op(Node& n) {
    return n.output()->dtype() == DType::f32 && !capability<IsDequantize>(&n);
  }

  /// Does what is noted for a node; whether anything was.
  Result<bool> insert(Node& node) {
    if (node.output()->note() < 0) return false;
    QNote* note = &context_.notes[static_cast<size_t>(node.output()->note())];
    if (note->scheme.kind == QScheme::Kind::keep) return false;
    if (!is_float_op(node)) return refuse_float(node, note->scheme);
    const QScheme& scheme = note->scheme;
    auto* quantizable = capability<Quantizable>(&node);
    const bool fits = quantizable ? quantizable->take(scheme)
                                  : scheme.kind == QScheme::Kind::fixed && has_quantized_op(node);
    if (!fits) {
      if (scheme.skip_unsupported) return false;
      // Rules for weights speak of the nodes that have some.
      const bool weights =
          (quantizable && quantizable->weight_operand() >= 0) || weight_matrices(node);
      if (scheme.kind != QScheme::Kind::fixed && !weights) {
        ++context_.rule_uses[note->rule].weightless;
        return false;
      }
      return error(Code::rule, node.loc(),
                   "{} asks for a quantized {}, which has none: exclude the node or say "
                   "skip_unsupported",
                   scheme.origin, node.op());
    }
    if (Result<Ok> inserted = insert(node, quantizable, scheme); !inserted.ok()) {
      inserted.diag().notes.push_back("by the rule " + scheme.origin);
      return std::move(inserted).diag();
    }
    ++context_.rule_uses[note->rule].inserted;
    note->inserted = true;
    return true;
  }

  /// Rules speak of f32: one for another float is no rule for nothing.
  Result<bool> refuse_float(Node& node, const QScheme& scheme) const {
    const DType dtype = node.output()->dtype();
    auto* quantizable = capability<Quantizable>(&node);
    const bool meant =
        scheme.kind == QScheme::Kind::fixed
            ? has_quantized_op(node)
            : (quantizable && quantizable->weight_operand() >= 0) || weight_matrices(node);
    if (!is_float(dtype) || dtype == DType::f32 || !meant || scheme.skip_unsupported) return false;
    return error(
        Code::rule, node.loc(),
        "{} asks for a quantized {}, which computes in {} and codes stand for f32: exclude "
        "the node or say skip_unsupported",
        scheme.origin, node.op(), name(dtype));
  }

  /// The codes that `v` decodes, directly or through nodes that run on codes; null for none.
  Value* codes_of(Value* v) const {
    if (Node* d = decoder(v)) return d->input(0);
    auto it = on_codes_.find(v);
    return it == on_codes_.end() ? nullptr : it->second;
  }
  /// Readers of a node that only moves or orders elements find the codes of its operands behind it,
  /// if fold_qdq can put it on them: what that would build is built here, and has no readers.
  void try_on_codes(Node& node) {
    // What may also compute in float does not take codes in all its modes.
    if (!runs_on_codes(node) || node.info().has(kQuantizedInFloat)) return;
    if (node.output()->dtype() != DType::f32) return;
    std::vector<Value*> inputs = node.inputs();
    Value* first = nullptr;
    for (Value*& v : inputs) {
      if (!v || v->dtype() != DType::f32) continue;
      v = codes_of(v);
      if (!v || (first && !(first->type().quant() == v->type().quant()))) return;
      if (!first) first = v;
    }
    if (!first || first->type().format->granularity != Granularity::tensor) return;
    Node* made = on_codes(graph_, node, std::move(inputs), first->type().quant());
    if (!made) return;
    for (size_t o = 0; o < node.output_count(); ++o) {
      on_codes_.emplace(node.output(o), made->output(o));
    }
  }

  Result<Ok> insert(Node& node, const Quantizable* quantizable, const QScheme& scheme) {
    if (scheme.change.any()) QC_TRY(change_weights(graph_, node, scheme.change));
    for (size_t i = 0; i < node.input_count(); ++i) {
      Value* x = node.input(i);
      if (!x || x->dtype() != DType::f32) continue;
      if (quantizable && quantizable->is_float_operand(i)) continue;
      if (quantizable && quantizable->is_weight(i) && x->is_constant()) {
        QC_TRY(insert_weight(node, i, *quantizable, scheme));
      } else if (scheme.kind == QScheme::Kind::fixed) {
        QC_TRY(insert_input(node, i, scheme));
      } else if (x == weight_matrices(node)) {
        QC_TRY(insert_matrices(node, i, scheme));
      } else if (scheme.kind == QScheme::Kind::dynamic) {
        QC_TRY(insert_dynamic(node, i, quantizable, scheme));
      }
    }
    if (scheme.kind != QScheme::Kind::fixed || !scheme.output.format) return Ok{};
    for (size_t o = 0; o < node.output_count(); ++o) {
      Value* y = node.output(o);
      if (y->dtype() != DType::f32 || !y->has_uses() ||
          (quantizable && quantizable->is_float_result(o)))
        continue;
      QC_ASSIGN(Value * decoded, through_codes(y, scheme.output, scheme, node.next()));
      Node* quantize = decoded->def()->input(0)->def();
      graph_.replace_uses(y, decoded);
      graph_.set_input(quantize, 0, y);
      override_model(decoded);
    }
    return Ok{};
  }

  /// What a quantized model itself says about a value gives way to the rule: those who read it
  /// through the model's own codes read what the rule's codes stand for.
  void override_model(Value* decoded) {
    for (Node* user : decoded->users()) {
      if (!capability<IsQuantize>(user)) continue;
      for (Node* reader : user->output()->users()) {
        if (capability<IsDequantize>(reader)) graph_.replace_uses(reader->output(), decoded);
      }
    }
  }

  Result<Ok> insert_weight(Node& node, size_t i, const Quantizable& quantizable,
                           const QScheme& scheme) {
    QC_ASSIGN(const QType type,
              weight_format(graph_, node.input(i), scheme.weight, quantizable.weight_channel_axis(),
                            quantizable.weight_sum_axis(), node.loc()));
    Value* codes = quantized_constant(graph_, node.input(i), type);
    const bool groups = scheme.weight.granularity == Granularity::group;
    if (groups && scheme.kind != QScheme::Kind::weight_only) {
      QC_ASSIGN(codes, without_groups(node, codes, quantizable, scheme));
    }
    context_.weight_sources[codes->constant()] = node.input(i)->constant();
    context_.inserted.constants[codes->constant()] = node.input(i)->constant();
    QC_ASSIGN(Value * decoded, emit_dequantize({graph_, node.loc(), &node}, codes));
    graph_.set_input(&node, i, decoded);
    return Ok{};
  }

  /// Several matrices have one scale together.
  Result<Ok> insert_matrices(Node& node, size_t i, const QScheme& scheme) {
    WeightScheme whole = scheme.weight;
    if (whole.granularity != Granularity::tensor) {
      if (whole.granularity == Granularity::group) whole = {};
      whole.granularity = Granularity::tensor;
      note_operand(matrices_, node, i, scheme);
    }
    QC_ASSIGN(const QType type, weight_format(graph_, node.input(i), whole, 0, 0, node.loc()));
    Value* codes = quantized_constant(graph_, node.input(i), type);
    context_.inserted.constants[codes->constant()] = node.input(i)->constant();
    QC_ASSIGN(Value * decoded, emit_dequantize({graph_, node.loc(), &node}, codes));
    graph_.set_input(&node, i, decoded);
    return Ok{};
  }

  /// Integer sums have one scale for each result, so groups beside codes of activations are decoded
  /// now and become codes of 8 bits with a scale for each channel.
  Result<Value*> without_groups(Node& node, Value* grouped, const Quantizable& quantizable,
                                const QScheme& scheme) {
    WeightScheme whole;
    whole.granularity = Granularity::axis;
    Value* decoded = decoded_constant(graph_, grouped);
    QC_ASSIGN(const QType type,
              weight_format(graph_, decoded, whole, quantizable.weight_channel_axis(),
                            quantizable.weight_sum_axis(), node.loc()));
    Regrouped& weights = regrouped_[scheme.origin];
    if (weights.count++ == 0) weights.node = label(node);
    const int64_t elements = graph_.pool().element_count(grouped->constant());
    weights.bytes += elements;
    weights.packed += (elements * bits(grouped->dtype()) + 7) / 8 +
                      grouped->type().format->scale.values.size() * bytes(DType::f32);
    return quantized_constant(graph_, decoded, type);
  }

  Result<Ok> insert_input(Node& node, size_t i, const QScheme& scheme) {
    Value* x = node.input(i);
    const bool stated = i < scheme.inputs.size() && scheme.inputs[i].has_value();
    if (!stated && codes_of(x)) return Ok{};
    const std::optional<QType> found =
        stated ? scheme.inputs[i] : unstated_type(node, scheme, x->is_constant());
    if (!found) {
      return error(Code::rule, node.loc(),
                   "operand {} is float, and no input_scale says which codes to read it as", i);
    }
    QType type = *found;
    if (x->is_constant()) {
      if (!stated && !runs_on_codes(node)) {
        // Parameters of what computes in float stay as they are, tables hold them exactly.
        const bool integers = capability<Quantizable>(&node) != nullptr;
        if (!integers || becomes_table(node, scheme)) return Ok{};
        QC_ASSIGN(type, constant_format(graph_, x, type, node.loc()));
      }
      QC_TRY(check_no_nan(x, node.loc()));
      Value* codes = quantized_constant(graph_, x, type);
      context_.inserted.constants[codes->constant()] = x->constant();
      QC_ASSIGN(Value * decoded, emit_dequantize({graph_, node.loc(), &node}, codes));
      graph_.set_input(&node, i, decoded);
      return Ok{};
    }
    if (!stated && !runs_on_codes(node)) note_operand(unstated_, node, i, scheme);
    Value*& decoded = decoded_[{x, str(type)}];
    if (!decoded) {
      QC_ASSIGN(decoded, through_codes(x, type, scheme, &node));
    }
    graph_.set_input(&node, i, decoded);
    return Ok{};
  }

  /// The format of an operand for which the rule states none: that of the result, whose limits are
  /// its own unless the node only moves codes. A constant, whose scale is found later, has the type
  /// of another operand where the result is f32.
  std::optional<QType> unstated_type(Node& node, const QScheme& scheme, bool constant) const {
    if (const QType& y = scheme.output; y.format) {
      if (runs_on_codes(node)) return y;
      return tensor_format(y.dtype, y.format->scale_at(), y.format->zero_at());
    }
    for (size_t k = 0; constant && k < node.input_count(); ++k) {
      if (k < scheme.inputs.size() && scheme.inputs[k]) return scheme.inputs[k];
      Value* other = node.input(k);
      const Value* codes = other ? codes_of(other) : nullptr;
      if (codes && !codes->is_constant()) return codes->type().quant();
    }
    return std::nullopt;
  }

  bool becomes_table(Node& node, const QScheme& scheme) const {
    const std::optional<size_t> i = function_operand(node);
    if (!i) return false;
    const bool stated = *i < scheme.inputs.size() && scheme.inputs[*i].has_value();
    const Value* codes = codes_of(node.input(*i));
    return can_tabulate(stated  ? *scheme.inputs[*i]
                        : codes ? codes->type().quant()
                                : scheme.output,
                        scheme.output);
  }

  /// Infinities saturate, as in masks; NaN has no code.
  Result<Ok> check_no_nan(const Value* constant, const Loc& loc) const {
    QC_ASSIGN(const Tensor x, graph_.pool().get(constant->constant()));
    for (int64_t i = 0; i < x.size(); ++i) {
      if (std::isnan(x.data<float>()[i])) {
        return error(Code::quant, loc,
                     "element {} of a constant is NaN, which no code can stand for", i);
      }
    }
    return Ok{};
  }

  /// Operands that a warning is about, and the first of them.
  struct Noted {
    size_t count = 0, operand = 0;
    std::string node;
  };
  /// Weights whose groups were given up, in bytes as they are and as their rule has them.
  struct Regrouped {
    size_t count = 0;
    int64_t bytes = 0, packed = 0;
    std::string node;
  };
  using NotedByOrigin = std::map<std::string, Noted>;

  static void note_operand(NotedByOrigin& noted, const Node& node, size_t i,
                           const QScheme& scheme) {
    Noted& operands = noted[scheme.origin];
    if (++operands.count > 1) return;
    operands.operand = i;
    operands.node = node.loc().names.empty() ? std::string(node.op()) : node.loc().names[0];
  }

  Result<Ok> insert_dynamic(Node& node, size_t i, const Quantizable* quantizable,
                            const QScheme& scheme) {
    DynamicScheme found = scheme.dynamic;
    if (found.per_token && quantizable && !quantizable->takes_row_scales()) {
      found.per_token = false;
      note_operand(one_scale_, node, i, scheme);
    }
    QC_ASSIGN(Value * decoded, emit_dynamic({graph_, node.loc(), &node}, node.input(i), found));
    context_.inserted.add(decoded->def()->input(0));
    graph_.set_input(&node, i, decoded);
    return Ok{};
  }

  Result<Value*> through_codes(Value* x, const QType& type, const QScheme& scheme, Node* before) {
    const Loc loc = x->def() ? x->def()->loc() : Loc{graph_.file, {x->name()}, {}};
    QC_ASSIGN(Value * codes, emit_quantize({graph_, loc, before}, x, type, scheme.arithmetic));
    context_.inserted.add(codes);
    return emit_dequantize({graph_, loc, before}, codes);
  }

  Graph& graph_;
  PassContext& context_;
  NotedByOrigin unstated_;  // their scales are left open, and their producer gives none
  std::map<std::string, Regrouped> regrouped_;
  NotedByOrigin one_scale_;  // a rule says per_token, and their reader takes one scale
  NotedByOrigin matrices_;   // weights that have one scale where their rule says more
  std::map<std::pair<Value*, std::string>, Value*> decoded_;
  std::unordered_set<const Value*> from_data_;
  std::unordered_map<Value*, Value*> on_codes_;  // a node's result: that of its form on codes
};

}  // namespace

Result<bool> insert_qdq(Graph& graph, PassContext& context) { return Placer(graph, context).run(); }

}  // namespace qc
