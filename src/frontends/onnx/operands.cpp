#include "frontends/onnx/operands.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace qc::onnx {
namespace {

constexpr size_t kAll = SIZE_MAX;  // however many there are, none of them may be left out

/// Ops, separated by spaces, that need `count` operands from opset `since` on.
struct Required {
  std::string_view domain;
  size_t count;
  int since;
  std::string_view ops;
};

constexpr Required kRequired[] = {
    {"", 0, 1, "RandomNormal RandomUniform"},
    {"", kAll, 1, "Concat Einsum Max Mean Min Sum"},
    {"", 2, 1,
     "Add AffineGrid And BitShift BitwiseAnd BitwiseOr BitwiseXor CastLike CausalConvWithState "
     "CenterCropPad Compress Conv ConvInteger ConvTranspose CumProd CumSum DequantizeLinear Div "
     "Equal Expand Gather GatherElements GatherND Gemm Greater GreaterOrEqual GridSample "
     "LayerNormalization Less LessOrEqual MatMul MatMulInteger MaxRoiPool MaxUnpool Mod Mul "
     "NegativeLogLikelihoodLoss NonMaxSuppression Or PRelu Pow QuantizeLinear RMSNormalization "
     "ReverseSequence STFT SequenceAt SequenceInsert SoftmaxCrossEntropyLoss StringConcat Sub "
     "SwiGLU TensorScatter Xor"},
    {"", 3, 1,
     "Attention Col2Im DeformConv GRU GroupNormalization InstanceNormalization LSTM "
     "LinearAttention OneHot RNN Range RoiAlign RotaryEmbedding Scatter ScatterElements ScatterND "
     "Where"},
    {"", 5, 1, "BatchNormalization MelWeightMatrix"},
    {"", 8, 1, "QLinearConv QLinearMatMul"},
    {"", 2, 5, "Reshape"},
    {"", 2, 6, "Tile"},
    {"", 2, 9, "Upsample"},
    {"", 2, 10, "TopK"},
    {"", 3, 10, "Slice"},
    {"", 2, 11, "Pad"},
    {"", 2, 13, "Unsqueeze"},
    {"com.microsoft", kAll, 1, "QLinearConcat"},
    {"com.microsoft", 2, 1,
     "Attention BiasGelu DequantizeLinear FusedConv FusedGemm FusedMatMul QuantizeLinear "
     "QLinearAveragePool QLinearGlobalAveragePool QLinearLeakyRelu QLinearSigmoid QLinearSoftmax "
     "SimplifiedLayerNormalization SkipSimplifiedLayerNormalization TransposeMatMul"},
    {"com.microsoft", 3, 1, "SkipLayerNormalization"},
    {"com.microsoft", 4, 1, "RotaryEmbedding"},
    {"com.microsoft", 8, 1, "QLinearConv"},
};

using Rows = std::vector<std::pair<int, size_t>>;  // since, count; ascending
using Table = std::map<std::pair<std::string_view, std::string_view>, Rows>;

Table make_table() {
  Table table;
  for (const Required& r : kRequired) {
    for (std::string_view rest = r.ops; !rest.empty();) {
      const size_t end = std::min(rest.find(' '), rest.size());
      table[{r.domain, rest.substr(0, end)}].emplace_back(r.since, r.count);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return table;
}

}  // namespace

size_t required_operands(std::string_view domain, std::string_view op, int version, size_t given) {
  static const Table table = make_table();
  size_t count = 1;
  const auto it = table.find({domain, op});
  if (it == table.end()) return count;
  for (const auto& [since, needed] : it->second) {
    if (since <= version) count = needed;
  }
  return count == kAll ? std::max<size_t>(given, 1) : count;
}

}  // namespace qc::onnx
