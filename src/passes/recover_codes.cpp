#include "passes/recover_codes.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "kernels/numerics/quant.h"
#include "quant/emit.h"
#include "quant/quantizable.h"

namespace qc {
namespace {

constexpr int64_t kGroups[] = {256, 128, 64, 32, 16};

/// The integers that a narrow constant stands for; those of the 4-bit float are twice its values.
std::optional<std::vector<int8_t>> integers(const Tensor& t) {
  const double factor = t.dtype() == DType::f4e2m1 ? 2.0 : 1.0;
  if (!is_integer(t.dtype()) && factor == 1.0) return std::nullopt;
  std::vector<int8_t> out(static_cast<size_t>(t.size()));
  for (int64_t i = 0; i < t.size(); ++i) {
    const double v = factor * t.as_double(i);
    if (!(v >= -128 && v <= 127)) return std::nullopt;
    out[static_cast<size_t>(i)] = static_cast<int8_t>(v);
  }
  return out;
}

/// The scale with which the codes decode to exactly the weights; of zeros the sign does not count.
std::optional<float> scale_of(const float* weights, const int8_t* codes, int64_t count) {
  int64_t best = -1;
  for (int64_t i = 0; i < count; ++i) {
    if (codes[i] != 0 && (best < 0 || std::abs(codes[i]) < std::abs(codes[best]))) best = i;
  }
  const float guess = best < 0 ? 1.0f : weights[best] / static_cast<float>(codes[best]);
  // The quotient of a rounded product may miss its factor by one place.
  for (float s : {guess, std::nextafterf(guess, 0.0f), std::nextafterf(guess, INFINITY)}) {
    if (!std::isfinite(s) || !(s > 0)) continue;
    bool all = true;
    for (int64_t i = 0; i < count && all; ++i) {
      all = qn_dequantize(codes[i], s, 0) == weights[i];
    }
    if (all) return s;
  }
  return std::nullopt;
}

/// One scale for each `group` weights of a row; empty where some have none.
std::vector<float> scales_of(const Tensor& weights, const std::vector<int8_t>& codes,
                             int64_t group) {
  std::vector<float> out;
  for (int64_t i = 0; i < weights.size(); i += group) {
    const auto s = scale_of(weights.data<float>() + i, codes.data() + i, group);
    if (!s) return {};
    out.push_back(*s);
  }
  return out;
}

/// Codes in the order of the weights, with their format.
struct Recovered {
  std::vector<int8_t> codes;
  std::shared_ptr<Format> format;
};

std::optional<Recovered> recover(const Tensor& weights, std::vector<int8_t> codes) {
  const int64_t rows = weights.shape()[0], row = weights.size() / rows;
  auto format = std::make_shared<Format>();
  std::vector<float> scales = scales_of(weights, codes, row);
  format->granularity = Granularity::axis;
  for (size_t i = 0; scales.empty() && weights.rank() == 2 && i < std::size(kGroups); ++i) {
    if (row % kGroups[i] != 0 || row == kGroups[i]) continue;
    scales = scales_of(weights, codes, kGroups[i]);
    format->granularity = Granularity::group;
    format->axis = 1;
    format->group = kGroups[i];
  }
  if (scales.empty()) return std::nullopt;
  const Ints count{static_cast<int64_t>(scales.size())};
  format->scale = Component::of(Tensor::of<float>(DType::f32, count, scales));
  return Recovered{std::move(codes), std::move(format)};
}

std::vector<int8_t> transposed(const std::vector<int8_t>& from, int64_t rows, int64_t columns) {
  std::vector<int8_t> out(from.size());
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t k = 0; k < columns; ++k) {
      out[static_cast<size_t>(i * columns + k)] = from[static_cast<size_t>(k * rows + i)];
    }
  }
  return out;
}

/// The operand with codes in its place, or nullopt where it is no product of codes and scales.
Result<std::optional<Recovered>> recover(const ConstantPool& pool, ConstId weight, ConstId source) {
  QC_ASSIGN(const Tensor narrow, pool.get(source));
  auto codes = integers(narrow);
  if (!codes) return std::optional<Recovered>();
  QC_ASSIGN(const Tensor wide, pool.get(weight));
  std::optional<Recovered> found;
  // Scales of groups are multiplied in another shape; whether codes fit is seen of every element.
  if (narrow.size() == wide.size()) found = recover(wide, *codes);
  const bool swapped =
      wide.rank() == 2 && narrow.rank() == 2 && narrow.shape()[0] == wide.shape()[1];
  if (!found && swapped) {
    found = recover(wide, transposed(*codes, wide.shape()[0], wide.shape()[1]));
  }
  return found;
}

}  // namespace

Result<bool> recover_codes(Graph& graph, PassContext& context) {
  size_t count = 0;
  for (Node* node : graph.nodes()) {
    const auto* quantizable = capability<Quantizable>(node);
    if (!quantizable || quantizable->weight_operand() < 0 ||
        quantizable->weight_channel_axis() != 0)
      continue;
    if (note_of(context.notes, node->output())) continue;  // a rule says what they become
    const size_t i = static_cast<size_t>(quantizable->weight_operand());
    Value* w = i < node->input_count() ? node->input(i) : nullptr;
    if (!w || !w->is_constant() || w->dtype() != DType::f32 || w->type().format) continue;
    ConstantPool& pool = graph.pool();
    const ConstId source = pool.narrowest(w->constant());
    if (bits(pool.dtype(source)) > 8) continue;
    QC_ASSIGN(auto found, recover(pool, w->constant(), source));
    if (!found) continue;
    Tensor codes = Tensor::of<int8_t>(DType::i8, pool.shape(w->constant()), found->codes);
    const ConstId id = pool.add(std::move(codes), pool.name(w->constant()));
    pool.made_from(id, source);
    QC_ASSIGN(Value * decoded, emit_dequantize({graph, node->loc(), node},
                                               graph.constant(id, std::move(found->format))));
    graph.set_input(node, i, decoded);
    ++count;
  }
  if (count > 0) {
    context.remarks.push_back(
        fmt::format("recover_codes: {} weights are codes of the model times scales", count));
    graph.sweep();
  }
  return count > 0;
}

}  // namespace qc
