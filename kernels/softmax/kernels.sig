kernel softmax[op, type](x) -> (y)
  params qk_softmax_params
  units rows qk_softmax_{type.bytes}
  body qk_{op=softmax,log_softmax}_{type=f32,f64,f16,bf16} stack 1536

# What ops call, with `floats` only where they are kept; variants say how many rows are computed before their codes
# are, and where.
kernel softmax_quantize(x, scales?, zeros?) -> (y, y_scales?, y_zeros?, floats?)
  params qk_softmax_quantize_params

kernel softmax_quantize_rows(x, scales?, zeros?) -> (y, y_scales?, y_zeros?, floats)
  params qk_softmax_quantize_params
  body qk_softmax_quantize stack 1536

# On an accelerator, by blocks of threads: kernels/common/block_epilogue.h. Of one scale for all elements `floats` and
# `ranges` are the results.
kernel softmax_block[machine, op](x) -> (y)
  params qk_softmax_params
  body qk_{op=softmax,log_softmax}_{machine=block} stack 16384

kernel softmax_quantize_block[machine](x, scales?, zeros?) -> (y?, y_scales?, y_zeros?, floats?, ranges?)
  params qk_softmax_quantize_params
  body qk_softmax_quantize_{machine=block} stack 16384
