# What ops call; variants say how many queries are computed together, and with which scratch.
kernel qattention(q, k, v, keep?, add?, q_scales?, q_zeros?, k_scales?, k_zeros?, v_scales?, v_zeros?, scales?, zeros?) -> (y, y_scales?, y_zeros?)
  params qk_qattention_params

kernel qattention_panels(q, k, v, keep?, add?, q_scales?, q_zeros?, k_scales?, k_zeros?, v_scales?, v_zeros?, scales?, zeros?) -> (y, y_scales?, y_zeros?, floats?, scores, panels)
  params qk_qattention_params
  body qk_qattention_i8 stack 4096

# The same with bytes multiplied as they are, of some depths.
kernel qattention_bytes[machine](q, k, v, keep?, add?, q_scales?, q_zeros?, k_scales?, k_zeros?, v_scales?, v_zeros?, scales?, zeros?) -> (y, y_scales?, y_zeros?, floats?, scores, panels)
  params qk_qattention_params
  body qk_qattention_{machine=avx512vnni} stack 4096

# On an accelerator, a block of threads for each query, or for 128 queries on tensor cores; without an epilogue.
kernel qattention_block[machine](q, k, v, keep?, add?, q_scales?, q_zeros?, k_scales?, k_zeros?, v_scales?, v_zeros?) -> (y)
  params qk_qattention_params
  body qk_qattention_{machine=block} stack 49152
  body qk_qattention_{machine=mma} stack 131072
