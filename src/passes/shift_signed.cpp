#include "passes/shift_signed.h"

#include "quant/emit.h"
#include "quant/quantizable.h"

namespace qc {
namespace {

/// The unsigned format of the same values; none where codes are not all of 8 signed bits.
std::optional<QType> unsigned_of(const QType& type) {
  const Format& f = *type.format;
  if (type.dtype != DType::i8 || f.granularity != Granularity::tensor || f.is_dynamic() ||
      f.qmin != -128 || f.qmax != 127) {
    return std::nullopt;
  }
  return tensor_format(DType::u8, f.scale_at(), f.zero_at() + 128);
}

/// Codes that one node reads, through one dequantize node. ONNX Runtime gives every reader a
/// dequantize node of its own and shifts only codes with one.
bool has_one_reader(const Value* codes) {
  if (!codes->has_one_use()) return false;
  Node* user = codes->users()[0];
  if (!capability<IsDequantize>(user)) return false;
  const Value* decoded = user->output();
  return decoded->has_one_use() || (!decoded->first_use() && decoded->pinned() == 1);
}

}  // namespace

Result<bool> shift_signed(Graph& graph, PassContext& context) {
  bool changed = false;
  for (Node* node : graph.nodes()) {
    const auto* q = capability<IsQuantize>(node);
    if (!q || q->quantize_arithmetic().signed_codes == Arithmetic::Signed::kept) continue;
    const std::optional<QType> to = unsigned_of(q->format());
    if (!to || !has_one_reader(node->output())) continue;
    QC_ASSIGN(Value * codes, emit_quantize({graph, node->loc(), node}, node->input(0), *to,
                                           q->quantize_arithmetic()));
    if (context.inserted.has(node->output())) context.inserted.add(codes);
    for (Node* user : node->output()->users()) graph.set_input(user, 0, codes);
    changed = true;
  }
  if (changed) graph.sweep();
  return changed;
}

}  // namespace qc
