kernel norm[type](x, gamma?, beta?) -> (y, mean?, rstd?)
  params qk_norm_params
  units rows qk_norm_{type}
  body qk_norm_{type=f32,f64,f16,bf16} stack 1536

# What ops call, with `floats` only where they are kept; variants say how many rows are computed before their codes
# are, and where.
kernel norm_quantize(x, residual?, gamma?, beta?, scales?, zeros?) -> (y, y_scales?, y_zeros?, sums?, floats?)
  params qk_norm_quantize_params

kernel norm_quantize_rows(x, residual?, gamma?, beta?, scales?, zeros?) -> (y, y_scales?, y_zeros?, sums?, floats)
  params qk_norm_quantize_params
  body qk_norm_quantize stack 1792

kernel scale_shift[type](x, scale, shift) -> (y)
  params qk_scale_shift_params
  units channels qk_scale_shift_{type}
  body qk_scale_shift_{type=f32,f64,f16,bf16} stack 1536

kernel lrn[type](x) -> (y)
  params qk_lrn_params
  units images qk_lrn_{type.bytes}
  body qk_lrn_{type=f32,f64,f16,bf16} stack 1536

# On an accelerator, by blocks of threads: kernels/common/block_epilogue.h. Of one scale for all elements `floats` and
# `ranges` are the results.
kernel norm_block[machine](x, gamma?, beta?) -> (y, mean?, rstd?)
  params qk_norm_params
  body qk_norm_{machine=block} stack 90112

kernel norm_quantize_block[machine](x, residual?, gamma?, beta?, scales?, zeros?) -> (y?, y_scales?, y_zeros?, sums?, floats?, ranges?)
  params qk_norm_quantize_params
  body qk_norm_quantize_{machine=block} stack 106496
