# Tiles of integer products on GPUs: kernels/qtile/qtile.h. Variants of qgemm and qconv make these calls.
# Results of products of matrices may have a zero point for each output, `y_zeros`.

# Tiles on tensor cores, a thread block each.
kernel qtile_blocks[machine](x, w, bias?, multipliers?, float_bias?, x_scales?, x_zeros?, residual?, y_zeros?) -> (y)
  params qk_qtile_params
  body qk_qtile_{machine=mma,wgmma}

# Four outputs a thread, by sums of four products.
kernel qtile_dp4a[machine](x, w, bias?, multipliers?, float_bias?, x_scales?, x_zeros?, residual?, y_zeros?) -> (y)
  params qk_qtile_params
  body qk_qtile_{machine=cuda:dp4a} in dp4a.cu
