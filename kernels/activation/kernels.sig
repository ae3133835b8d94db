# What ops call, with `floats` only where they are kept; variants say how many rows are computed before their codes
# are, and where.
kernel activation_quantize[op](x, factor?, scales?, zeros?) -> (y, y_scales?, y_zeros?, floats?)
  params qk_activation_quantize_params

kernel activation_quantize_rows[op](x, factor?, scales?, zeros?) -> (y, y_scales?, y_zeros?, floats)
  params qk_activation_quantize_params
  body qk_activation_quantize_{op=silu,sigmoid,tanh,gelu_tanh,gelu_quick,relu} stack 1536
  body qk_activation_quantize_{op=gelu} stack 5632

# On an accelerator, by blocks of threads: kernels/common/block_epilogue.h. Of one scale for all elements `floats` and
# `ranges` are the results. `same` takes x as it is.
kernel activation_quantize_block[machine, op](x, factor?, scales?, zeros?) -> (y?, y_scales?, y_zeros?, floats?, ranges?)
  params qk_activation_quantize_params
  body qk_activation_quantize_{machine=block}_{op=silu,gelu,gelu_tanh,gelu_quick,sigmoid,tanh,relu,same} stack 16384
