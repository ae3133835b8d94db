#include "driver/analyze.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "driver/explain.h"
#include "interp/eval.h"
#include "interp/interpreter.h"
#include "passes/pipeline.h"

namespace qc {
namespace {

constexpr double kBad = 20;  // dB: below this a layer is worth a word

std::string key_of(const Node& node, size_t output) {
  return fmt::format("{}#{}", fmt::join(node.loc().names, "+"), output);
}

/// Where a value was computed, past conversions of its codes.
std::string key_of(const Value* value) {
  while (value->def() && computes(*value->def()) == Computes::converts)
    value = value->def()->input(0);
  if (!value->def()) return value->name();
  for (size_t i = 0; i < value->def()->output_count(); ++i) {
    if (value->def()->output(i) == value) return key_of(*value->def(), i);
  }
  return {};
}

/// One scale for the whole value, known when compiling.
bool is_simple(const Type& type) {
  return type.format && !type.format->is_dynamic() &&
         type.format->granularity == Granularity::tensor;
}

Tensor floats_of(const Tensor& codes, const Format& format) {
  Tensor out(DType::f32, codes.shape());
  const float scale = format.scale_at();
  const int32_t zero = format.zero_at();
  float* to = out.mutable_data<float>();
  for (int64_t i = 0; i < codes.size(); ++i)
    to[i] = static_cast<float>(codes.as_int(i) - zero) * scale;
  return out;
}

Tensor codes_of(const Tensor& floats, const Type& type) {
  Tensor out(type.dtype, floats.shape());
  const Format& f = *type.format;
  for (int64_t i = 0; i < floats.size(); ++i) {
    const double code = std::nearbyint(floats.as_double(i) / f.scale_at()) + f.zero_at();
    const double limited =
        std::clamp(code, static_cast<double>(f.qmin), static_cast<double>(f.qmax));
    out.set_int(i, std::isnan(code) ? f.zero_at() : static_cast<int64_t>(limited));
  }
  return out;
}

class Analyzer {
 public:
  Analyzer(const Graph& plain, const Graph& quantized, const PassContext& context)
      : plain_(plain), quantized_(quantized), context_(context) {}

  Result<Analysis> run(Samples samples) {
    QC_TRY(find_layers());
    Analysis out;
    out.runs = samples.count();
    for (int64_t i = 0; i < out.runs; ++i) {
      QC_ASSIGN(const std::vector<Tensor> inputs, samples.next());
      QC_TRY(for_sample([&] { return see(inputs); }));
    }
    for (auto& [node, layer] : layers_) {
      suggest(*node, layer);
      out.layers.push_back(std::move(layer));
    }
    const auto worth = [](const LayerAnalysis& l) {
      return l.alone ? l.alone->sqnr_db() : l.cumulative.sqnr_db();
    };
    std::stable_sort(out.layers.begin(), out.layers.end(),
                     [&](const auto& a, const auto& b) { return worth(a) < worth(b); });
    return out;
  }

 private:
  /// Nodes that were made to compute on codes. Those that only pass codes on (pooling, reshaping)
  /// have the formats of others.
  Result<Ok> find_layers() {
    QC_ASSIGN(const std::vector<NodeReport> reports, explain(quantized_, context_));
    std::map<std::string, std::string> rules;
    for (const NodeReport& r : reports)
      rules.emplace(fmt::format("{}", fmt::join(r.names, "+")), r.rule);
    for (const Node* n = quantized_.first(); n; n = n->next()) {
      const Type& type = n->output(0)->type();
      if (!dynamic_cast<const QuantNode*>(n) || computes(*n) == Computes::converts ||
          (!is_simple(type) && type.dtype != DType::f32)) {
        continue;
      }
      const auto rule = rules.find(fmt::format("{}", fmt::join(n->loc().names, "+")));
      LayerAnalysis layer;
      layer.names = n->loc().names;
      layer.op = n->op();
      if (rule != rules.end()) layer.rule = rule->second;
      layer.format = str(type.quant());
      layer.histogram.assign(LayerAnalysis::kBins, 0);
      layers_.emplace_back(n, std::move(layer));
    }
    return Ok{};
  }

  Result<Ok> see(const std::vector<Tensor>& inputs) {
    QC_ASSIGN(const Bindings sizes, bindings_for(quantized_, inputs));
    if (!bound_.graph || sizes != sizes_) {
      QC_ASSIGN(bound_, bound_copy(quantized_, sizes));
      sizes_ = sizes;
    }
    floats_.clear();
    for (size_t i = 0; i < inputs.size(); ++i) floats_[plain_.inputs()[i]->name()] = inputs[i];
    RunOptions watch;
    watch.observe = [&](const Value& v, const Tensor& t) {
      if (t.dtype() == DType::f32 || !is_float(t.dtype())) floats_[key_of(&v)] = t;
    };
    QC_TRY(interpret(plain_, inputs, watch));
    std::map<const Node*, std::pair<const Node*, Tensor>> results;  // by the node without sizes
    watch.observe = [&](const Value& v, const Tensor& t) {
      if (v.def() && v.def()->output(0) == &v) results[bound_.originals.at(v.def())] = {v.def(), t};
    };
    QC_TRY(interpret(*bound_.graph, inputs, watch));
    for (auto& [node, layer] : layers_) {
      const auto& [sized, result] = results.at(node);
      QC_TRY(compare(*sized, result, layer));
    }
    return Ok{};
  }

  Result<Ok> compare(const Node& node, const Tensor& result, LayerAnalysis& layer) {
    const auto wanted = floats_.find(key_of(node, 0));
    if (wanted == floats_.end() || wanted->second.shape() != result.shape()) return Ok{};
    const Type& type = node.output(0)->type();
    count(wanted->second, type, layer);
    layer.cumulative.see(wanted->second, *as_floats(result, type));
    std::vector<Tensor> operands(node.input_count());
    std::vector<const Tensor*> pointers(node.input_count(), nullptr);
    for (size_t i = 0; i < node.input_count(); ++i) {
      if (!node.input(i)) continue;
      QC_ASSIGN(auto operand, operand_of(node.input(i)));
      if (!operand) return Ok{};
      operands[i] = std::move(*operand);
      pointers[i] = &operands[i];
    }
    QC_ASSIGN(const auto alone, eval_node(node, std::move(pointers)));
    if (!layer.alone) layer.alone.emplace();
    layer.alone->see(wanted->second, *as_floats(alone[0], type));
    return Ok{};
  }

  /// What a node would read if everything before it were float; nothing where that is not known.
  Result<std::optional<Tensor>> operand_of(const Value* value) {
    if (value->is_constant()) {
      QC_ASSIGN(Tensor t, quantized_.pool().get(value->constant()));
      return std::optional(std::move(t));
    }
    const Node* def = value->def();
    const bool converted = def && computes(*def) == Computes::converts;
    if (converted && !is_simple(value->type())) {
      QC_ASSIGN(auto operand, operand_of(def->input(0)));
      if (!operand || def->input_count() != 1) return std::optional<Tensor>();
      QC_ASSIGN(auto results, eval_node(*def, {&*operand}));
      for (size_t i = 0; i < results.size(); ++i) {
        if (def->output(i) == value) return std::optional(std::move(results[i]));
      }
    }
    const auto known = floats_.find(key_of(value));
    if (known == floats_.end() || to_dims(known->second.shape()) != value->shape())
      return std::optional<Tensor>();
    if (is_simple(value->type())) return std::optional(codes_of(known->second, value->type()));
    if (known->second.dtype() != value->dtype()) return std::optional<Tensor>();
    return std::optional(known->second);
  }

  static void count(const Tensor& floats, const Type& type, LayerAnalysis& layer) {
    const bool known = is_simple(type);
    double low = 0, high = 0;
    if (known) {
      const Format& f = *type.format;
      low = static_cast<double>(f.qmin - f.zero_at()) * f.scale_at();
      high = static_cast<double>(f.qmax - f.zero_at()) * f.scale_at();
    }
    for (int64_t i = 0; i < floats.size(); ++i) {
      const double x = floats.as_double(i);
      if (layer.elements++ == 0) layer.least = layer.greatest = x;
      layer.least = std::min(layer.least, x);
      layer.greatest = std::max(layer.greatest, x);
      if (!known || !std::isfinite(x)) continue;
      const double half = 0.5 * type.format->scale_at();
      layer.saturated += x < low - half || x > high + half;
      const double at = (x - low) / (high - low) * LayerAnalysis::kBins;
      ++layer.histogram[static_cast<size_t>(
          std::clamp(at, 0.0, static_cast<double>(LayerAnalysis::kBins - 1)))];
    }
  }

  /// The least scale whose codes hold the range, with the offset that they have.
  static double fitting_scale(const Format& f, double least, double greatest) {
    const auto above = static_cast<double>(f.qmax - f.zero_at());
    const auto below = static_cast<double>(f.qmin - f.zero_at());
    double out = 1e-12;
    if (above > 0) out = std::max(out, greatest / above);
    if (below < 0) out = std::max(out, least / below);
    return out;
  }

  /// What could be tried and is not so already.
  static std::string finer(const Node& node) {
    std::vector<std::string> ways;
    bool narrow_operand = false;
    for (const Value* v : node.inputs()) {
      if (!v || !v->type().format) continue;
      const Type& type = v->type();
      if (!v->is_constant()) {
        narrow_operand = narrow_operand || bits(type.dtype) == 8;
      } else if (type.format->granularity == Granularity::tensor && type.rank() > 1) {
        ways.emplace_back("per_channel weights");
      } else if (bits(type.dtype) < 8) {
        ways.emplace_back("int8 weights");
      }
    }
    const Type& result = node.output(0)->type();
    if (result.format && bits(result.dtype) == 8) {
      ways.emplace_back("int16 results");
    } else if (narrow_operand) {
      ways.emplace_back("int16 operands");
    }
    if (ways.empty()) return "leave this layer in float";
    return fmt::format("try {}, or leave this layer in float", fmt::join(ways, ", "));
  }

  static void suggest(const Node& node, LayerAnalysis& layer) {
    const LayerError& error = layer.alone ? *layer.alone : layer.cumulative;
    if (error.sqnr_db() >= kBad) return;
    const Type& type = node.output(0)->type();
    if (is_simple(type)) {
      const Format& f = *type.format;
      const double best_scale = fitting_scale(f, layer.least, layer.greatest);
      const double share =
          static_cast<double>(layer.saturated) / static_cast<double>(layer.elements);
      if (share > 0.01 && best_scale > f.scale_at()) {
        layer.suggestion = fmt::format(
            "{:.1f} % of the results are beyond the codes: a scale of {:.3g} holds {:.3g} to "
            "{:.3g}",
            100 * share, best_scale, layer.least, layer.greatest);
        return;
      }
      if (best_scale < f.scale_at() / 4) {
        layer.suggestion = fmt::format(
            "the results use few of the codes: a scale of {:.3g} is enough for {:.3g} to {:.3g}",
            best_scale, layer.least, layer.greatest);
        return;
      }
    }
    layer.suggestion = finer(node);
  }

  const Graph &plain_, &quantized_;
  const PassContext& context_;
  std::vector<std::pair<const Node*, LayerAnalysis>> layers_;
  std::map<std::string, Tensor> floats_;
  BoundCopy bound_;  // the quantized graph with the sizes of the sample
  Bindings sizes_;
};

}  // namespace

void LayerError::see(const Tensor& wanted, const Tensor& got) {
  for (int64_t i = 0; i < wanted.size(); ++i) {
    const double x = wanted.as_double(i), y = got.as_double(i);
    if (!std::isfinite(x) && (x == y || (std::isnan(x) && std::isnan(y)))) continue;
    signal += x * x;
    quantized += y * y;
    product += x * y;
    noise += (x - y) * (x - y);
    max_abs = std::max(max_abs, std::abs(x - y));
  }
}

double LayerError::sqnr_db() const {
  return noise == 0 ? HUGE_VAL : signal == 0 ? -HUGE_VAL : 10 * std::log10(signal / noise);
}

double LayerError::cosine() const {
  const double length = std::sqrt(signal) * std::sqrt(quantized);
  return length == 0 ? (signal == quantized ? 1 : 0) : product / length;
}

double LayerAnalysis::saturated_percent() const {
  if (elements == 0) return 0;
  return 100.0 * static_cast<double>(saturated) / static_cast<double>(elements);
}

std::optional<Tensor> as_floats(const Tensor& tensor, const Type& type) {
  if (!type.format) return tensor;
  if (!is_simple(type)) return std::nullopt;
  return floats_of(tensor, *type.format);
}

quantc::Options without_rules(quantc::Options options) {
  options.own_rules.clear();
  options.rules.clear();
  options.rules_file.clear();
  options.require_integer = options.no_float = false;
  return options;
}

quantc::Options layer_by_layer(quantc::Options options) {
  for (const Pass& pass : pipeline()) {
    if (pass.can_skip) options.disabled_passes.push_back(pass.name);
  }
  return options;
}

Result<Analysis> analyze(const Graph& plain, const Graph& quantized, const PassContext& context,
                         Samples samples) {
  return Analyzer(plain, quantized, context).run(std::move(samples));
}

}  // namespace qc
