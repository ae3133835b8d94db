#include "driver/explain.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "quant/groups.h"
#include "quant/quantizable.h"
#include "support/escape.h"

namespace qc {
namespace {

std::string first_name(const Node& n) {
  return n.loc().names.empty() ? std::string(n.op()) : n.loc().names[0];
}

std::string listed(const Tensor& t, const char* each) {
  double lo = t.as_double(0), hi = lo;
  for (int64_t i = 1; i < t.size(); ++i) {
    lo = std::min(lo, t.as_double(i));
    hi = std::max(hi, t.as_double(i));
  }
  return t.size() == 1 ? fmt::format("{:.6g}", lo) : fmt::format("{:.3g}..{:.3g} {}", lo, hi, each);
}

/// "i8 0.05 zero 3", "i8 0.001..0.02 per channel".
std::string format_text(const Type& type) {
  if (!type.format) return std::string(name(type.dtype));
  const Format& f = *type.format;
  std::string out(name(type.dtype));
  const CodeRange all = code_range(type.dtype);
  if (f.qmin != all.lo || f.qmax != all.hi) out += fmt::format("[{},{}]", f.qmin, f.qmax);
  if (f.is_dynamic()) return out + " at run time";
  const std::string each =
      f.granularity == Granularity::group ? fmt::format("per {}", f.group) : "per channel";
  out += " " + listed(f.scale.values, each.c_str());
  if (f.zero_point.kind == Component::Kind::fixed) {
    out += " zero " + listed(f.zero_point.values, "");
  }
  return out;
}

Result<WeightReport> weigh(const Graph& graph, const Value* codes, const PassContext& context) {
  WeightReport out;
  out.format = format_text(codes->type());
  out.type = codes->type().quant();
  QC_ASSIGN(const Tensor q, graph.pool().get(codes->constant()));
  out.elements = q.size();
  const auto source = context.weight_sources.find(codes->constant());
  if (source == context.weight_sources.end()) return out;
  QC_ASSIGN(const Tensor w, graph.pool().get(source->second));
  if (w.size() != q.size()) return out;
  const Format& f = *codes->type().format;
  double signal = 0, noise = 0;
  Groups(codes->type()).for_each([&](int64_t i, int64_t g) {
    const double s = f.scale_at(g), z = f.zero_at(g), x = w.as_double(i);
    const double code = std::nearbyint(x / s) + z;
    if (code < static_cast<double>(f.qmin) || code > static_cast<double>(f.qmax)) ++out.saturated;
    const double error = (static_cast<double>(q.as_int(i)) - z) * s - x;
    signal += x * x;
    noise += error * error;
  });
  out.sqnr_db = noise > 0 ? 10 * std::log10(signal / noise) : kInf;
  return out;
}

class Explainer {
 public:
  explicit Explainer(const PassContext& context) : context_(context) {
    for (const QNote& note : context.notes) notes_.try_emplace(note.node, &note);
  }

  Result<Ok> visit(const Graph& graph, std::vector<NodeReport>& out) const {
    for (const Node* n = graph.first(); n; n = n->next()) {
      QC_ASSIGN(NodeReport report, explain(graph, *n));
      out.push_back(std::move(report));
      for (const auto& region : n->regions()) QC_TRY(visit(*region, out));
    }
    return Ok{};
  }

 private:
  Result<NodeReport> explain(const Graph& graph, const Node& n) const {
    NodeReport out;
    out.names = n.loc().names;
    out.op = n.op();
    out.computes = computes(n);
    if (const QNote* note = note_for(n)) out.rule = note->scheme.origin;
    for (const Value* v : n.inputs()) {
      if (!v) continue;
      if (!v->is_constant()) {
        out.inputs.push_back(format_text(v->type()));
        out.input_types.push_back(v->type().quant());
      } else if (v->type().format && !out.weight) {
        QC_ASSIGN(out.weight, weigh(graph, v, context_));
      }
    }
    if (n.output_count() > 0) out.output = format_text(n.output()->type());
    for (size_t i = 0; i < n.output_count(); ++i)
      out.output_types.push_back(n.output(i)->type().quant());
    if (const auto* q = dynamic_cast<const QuantNode*>(&n)) {
      if (const AccumulatorProof proof = q->accumulator(); proof.terms > 0) out.accumulator = proof;
    }
    if (out.computes == Computes::floats) out.why = why_float(n);
    if (out.computes == Computes::converts) out.why = why_converted(n);
    return out;
  }

  const QNote* note_for(const Node& n) const {
    for (const std::string& name : n.loc().names) {
      if (auto it = notes_.find(name); it != notes_.end()) return it->second;
    }
    return nullptr;
  }

  /// Whether it stands between a dequantize and a quantize, so that somebody meant it to be
  /// quantized.
  static bool between_codes(const Node& n) {
    bool before = false, after = false;
    for (const Value* v : n.inputs()) {
      before = before || (v && capability<IsDequantize>(v->def()));
    }
    for (size_t i = 0; i < n.output_count(); ++i) {
      after = after || n.output(i)->type().format;  // it writes codes itself
      for (Node* user : n.output(i)->users()) after = after || capability<IsQuantize>(user);
    }
    return before && after;
  }

  std::string why_float(const Node& n) const {
    const QNote* note = note_for(n);
    if (dynamic_cast<const QuantNode*>(&n)) return "only its weights are codes";
    if (!note && !between_codes(n)) {
      return context_.notes.empty() ? "the model does not quantize it" : "no rule is for it";
    }
    if (note && note->scheme.kind == QScheme::Kind::keep) return "its rule keeps it";
    if (n.info().has(kQuantizedInFloat)) return "its quantized form computes in float";
    if (auto it = context_.refusals.find(first_name(n)); it != context_.refusals.end()) {
      return it->second;
    }
    if (note && note->scheme.kind == QScheme::Kind::weight_only) {
      return "its rule is for weights alone";
    }
    if (note && note->scheme.kind == QScheme::Kind::dynamic)
      return "its rule is for nodes with weights";
    return fmt::format("{} has no integer form here", n.op());
  }

  std::string why_converted(const Node& n) const {
    const Value* x = n.input(0);
    const Value* y = n.output();
    if (x->is_constant()) return fmt::format("weights of {}", reader(y));
    if (!x->type().format && is_integer(x->dtype())) {
      return fmt::format("{} gives integers, {} reads them as codes", producer(x), reader(y));
    }
    if (!y->type().format && is_integer(y->dtype())) {
      return fmt::format("{} reads the codes of {} as integers", reader(y), producer(x));
    }
    if (x->type().format && y->type().format) {
      return fmt::format("{} gives another format than {} reads", producer(x), reader(y));
    }
    if (y->type().format) {
      const auto apart = context_.not_fused.find(y->number());
      return fmt::format("{} is float, {} reads codes{}", producer(x), reader(y),
                         apart == context_.not_fused.end() ? "" : "; " + apart->second);
    }
    return fmt::format("{} gives codes, {} is float", producer(x), reader(y));
  }

  /// Names of some exporters are very long.
  static std::string short_name(const Node& n) { return clipped(first_name(n), 32); }
  static std::string producer(const Value* v) {
    return v->def() ? short_name(*v->def()) : fmt::format("input '{}'", v->name());
  }
  static std::string reader(const Value* v) {
    if (const auto users = v->users(); !users.empty()) return short_name(*users[0]);
    for (const Output& o : v->graph()->outputs()) {
      if (o.value == v) return fmt::format("output '{}'", o.name);
    }
    return "a state";
  }

  const PassContext& context_;
  std::map<std::string, const QNote*> notes_;
};

}  // namespace

std::string_view name(Computes computes) {
  constexpr std::string_view kNames[] = {"integer", "float", "moves", "converts", "indices"};
  return kNames[static_cast<size_t>(computes)];
}

Computes computes(const Node& n) {
  if (dynamic_cast<const ChangesCodes*>(&n)) return Computes::converts;
  if (const auto* q = dynamic_cast<const QuantNode*>(&n)) {
    const bool plain = n.input_count() > 0 && !q->in_q(0) && is_float(n.input_type(0).dtype);
    return plain ? Computes::floats : Computes::integer;
  }
  if (n.info().has(kMovesElements) || n.info().has(kReshapes) || n.info().has(kHasRegions)) {
    return Computes::moves;
  }
  bool floats = false, indices = true;
  const auto see = [&](DType type) {
    floats = floats || is_float(type);
    indices = indices && (type == DType::boolean || (is_integer(type) && bits(type) == 64));
  };
  for (const Value* v : n.inputs()) {
    if (v) see(v->dtype());
  }
  for (size_t i = 0; i < n.output_count(); ++i) see(n.output(i)->dtype());
  return floats ? Computes::floats : indices ? Computes::indices : Computes::integer;
}

Result<std::vector<NodeReport>> explain(const Graph& graph, const PassContext& context) {
  std::vector<NodeReport> out;
  QC_TRY(Explainer(context).visit(graph, out));
  return out;
}

Result<Ok> note_tables(const Graph& graph, const std::vector<std::string>& disabled_passes,
                       PassContext& context) {
  if (graph.symbols().empty()) return Ok{};
  PassOptions options;
  options.first = options.last = PassStage::lower;
  options.stop_after = "store_tables";
  for (const std::string& name : disabled_passes) {
    if (find_pass(name).ok()) options.disabled.push_back(name);
  }
  QC_ASSIGN(const std::unique_ptr<Graph> copied, copy(graph));
  PassContext lowering;
  QC_TRY(run_passes(*copied, options, lowering));
  for (std::string& remark : lowering.remarks) {
    if (remark.starts_with(options.stop_after)) context.remarks.push_back(std::move(remark));
  }
  return Ok{};
}

Totals totals(const Graph& graph) {
  Totals out;
  for (const Node* n = graph.first(); n; n = n->next()) {
    out.add(computes(*n));
    for (const auto& region : n->regions()) out.add(totals(*region));
  }
  return out;
}

Result<Ok> check_integer(const Graph& graph, const PassContext& context, std::string_view flag) {
  QC_ASSIGN(const auto reports, explain(graph, context));
  std::vector<std::string> found;
  for (const NodeReport& r : reports) {
    if (r.computes != Computes::floats) continue;
    found.push_back(fmt::format("{} ({}): {}", fmt::join(r.names, "+"), r.op, r.why));
  }
  if (found.empty()) return Ok{};
  Diag diag =
      error(Code::rule, Loc{graph.file, {}, {}}, "{} operation{} in float, which {} does not allow",
            found.size(), found.size() == 1 ? " computes" : "s compute", flag);
  diag.notes = std::move(found);
  diag.notes.push_back(
      totals(graph)[Computes::converts] == 0
          ? "quantc calibrate writes rules for the operations that have a form in integers"
          : fmt::format("for what has no form in integers: end the model before it, or compile "
                        "without {}",
                        flag));
  return diag;
}

}  // namespace qc
