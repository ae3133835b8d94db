// What the quantized graphs of PyTorch say about codes, and the nodes they become.
#pragma once

#include <memory>
#include <span>

#include "frontends/common/foreign.h"
#include "ops/common/compose.h"
#include "quant/scheme.h"

namespace qc::torch_codes {

/// What every op says about its codes.
struct Codes {
  DType dtype = DType::i8;
  int64_t qmin = 0, qmax = 0;
};

Codes read_codes(Compose& c, std::string_view dtype_name);
/// The same where the limits are tensors of one element.
Codes read_codes_of_tensors(Compose& c);

/// What is encoded or decoded, with scales and zero points (null where the model gives none).
struct Operands {
  Value *x = nullptr, *scale = nullptr, *zero = nullptr;
};
Operands read_operands(Compose& c, std::string_view scale_name, std::string_view zero_name);

/// Codes of these limits without scales.
std::shared_ptr<Format> format_of(const Codes& codes);
/// One scale and zero point.
std::shared_ptr<Format> tensor_numbers(Compose& c, const Codes& codes, double scale, int64_t zero);
/// Scales given as a constant tensor: one per index of `axis`, or one per group of it.
std::shared_ptr<Format> listed(Compose& c, const Codes& codes, Value* scales, Value* zeros,
                               int64_t axis, int64_t group);
/// One scale per row of q, which must have a known size.
std::shared_ptr<Format> rows_of(Compose& c, const Codes& codes, const Value* q);

/// Scale and zero point given as tensors of one element: `known` where they are constants.
struct Parameters {
  Value *scale = nullptr, *zero = nullptr;
  std::shared_ptr<Format> known;
};
Parameters tensor_parameters(Compose& c, const Codes& codes);

Value* quantized(Compose& c, Value* x, const Codes& codes, std::shared_ptr<Format> format);
Value* dequantized(Compose& c, Value* q, const Codes& codes, std::shared_ptr<Format> format);

/// round(x * f32(1 / scale)) + zero point, limited.
Value* encode_at_run_time(Compose& c, Value* x, Value* scale, Value* zero, const Codes& codes);
Value* decode_at_run_time(Compose& c, Value* q, Value* scale, Value* zero, const Codes& codes,
                          std::shared_ptr<Format> format);

/// An op whose results are f32, though PyTorch's files say f64 and i64.
inline constexpr std::string_view kPerToken =
    "quantized_decomposed.choose_qparams_per_token.default";

/// Ops that choose scales and zero points when the network runs.
std::span<const ImportRow> choosing_rows();
/// Layers whose activations become codes when they run.
std::span<const ImportRow> dynamic_rows();
/// Quantization and its inverse in one op.
std::span<const ImportRow> fake_rows();
/// torchao's ops: blocks of any shape share a scale.
std::span<const ImportRow> affine_rows();

}  // namespace qc::torch_codes
