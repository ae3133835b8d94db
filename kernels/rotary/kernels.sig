kernel rotary[type](x, cos, sin, gamma?) -> (y)
  params qk_rotary_params
  units rows qk_rotary_{type.bytes}
  body qk_rotary_{type=f32} stack 1280
  body qk_rotary_{type=f64,f16,bf16}

# What ops call; variants say how many rows are computed before their codes are, and where.
kernel rotary_quantize(x, cos, sin, gamma?, x_scales?, x_zeros?, scales?, zeros?) -> (y, y_scales?, y_zeros?)
  params qk_rotary_quantize_params

kernel rotary_quantize_rows(x, cos, sin, gamma?, x_scales?, x_zeros?, scales?, zeros?) -> (y, y_scales?, y_zeros?, floats)
  params qk_rotary_quantize_params
  body qk_rotary_quantize stack 1792

# On an accelerator, by blocks of threads: kernels/common/block_epilogue.h. Of one scale for all elements `floats` and
# `ranges` are the results.
kernel rotary_quantize_block[machine](x, cos, sin, gamma?, x_scales?, x_zeros?, scales?, zeros?) -> (y?, y_scales?, y_zeros?, floats?, ranges?)
  params qk_rotary_quantize_params
  body qk_rotary_quantize_{machine=block} stack 16384
