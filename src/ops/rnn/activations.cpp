#include <algorithm>

#include "kernels/numerics/scalar_ops.h"
#include "kernels/rnn/calls.h"
#include "ops/rnn/rnn.h"

namespace qc {
namespace {

template <float (*F)(float)>
float plain(float x, float, float) {
  return F(x);
}

const CellActivation kActivations[] = {
    {"sigmoid", "Sigmoid", false, false, 0, 0, plain<qn_sigmoid_f32>},
    {"tanh", "Tanh", false, false, 0, 0, plain<qn_tanh_f32>},
    {"relu", "Relu", false, false, 0, 0, plain<qn_relu_f32>},
    {"hard_sigmoid", "HardSigmoid", true, true, 0.2, 0.5, qn_hard_sigmoid_f32},
    {"leaky_relu", "LeakyRelu", true, false, 0.01, 0, qn_leaky_relu_f32},
    {"elu", "Elu", true, false, 1, 0, qn_elu_f32},
    {"softsign", "Softsign", false, false, 0, 0, plain<qn_softsign_f32>},
    {"softplus", "Softplus", false, false, 0, 0, plain<qn_softplus_f32>},
    {"affine", "Affine", true, true, 1, 0, qn_affine_f32},
    {"scaled_tanh", "ScaledTanh", true, true, 1, 1, qn_scaled_tanh_f32},
    {"thresholded_relu", "ThresholdedRelu", true, false, 1, 0, qn_thresholded_relu_f32},
};
static_assert(std::size(kActivations) == QK_RNN_THRESHOLDED_RELU + 1);

}  // namespace

std::span<const CellActivation> cell_activations() { return kActivations; }

std::string join_activations(std::span<const std::string_view> names) {
  std::string text;
  for (std::string_view name : names) {
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

Result<std::vector<CellFunction>> resolve_activations(std::string_view text, const Floats& alphas,
                                                      const Floats& betas, size_t each,
                                                      size_t sides, const Loc& loc) {
  std::vector<CellFunction> out;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view name = text.substr(0, comma);
    int32_t code = 0;
    for (const CellActivation& a : kActivations) {
      if (a.name == name) break;
      ++code;
    }
    if (code == static_cast<int32_t>(std::size(kActivations))) {
      return error(Code::attribute, loc, "no activation of cells is called '{}'", name);
    }
    const CellActivation& a = kActivations[code];
    out.push_back({code, a.apply, static_cast<float>(a.alpha), static_cast<float>(a.beta)});
    text.remove_prefix(comma);
    while (!text.empty() && (text[0] == ',' || text[0] == ' ')) text.remove_prefix(1);
  }
  if (out.size() != each && out.size() != each * sides) {
    return error(Code::attribute, loc, "{} activations, expected {}", out.size(), each * sides);
  }
  for (const Floats* list : {&alphas, &betas}) {
    if (list->empty()) continue;
    if (list->size() != out.size()) {
      return error(Code::attribute, loc, "{} activation parameters for {} activations",
                   list->size(), out.size());
    }
    for (size_t i = 0; i < out.size(); ++i) {
      (list == &alphas ? out[i].alpha : out[i].beta) = static_cast<float>((*list)[i]);
    }
  }
  if (out.size() != each * sides)
    out.insert(out.end(), out.begin(), out.begin() + static_cast<std::ptrdiff_t>(each));
  return out;
}

}  // namespace qc
