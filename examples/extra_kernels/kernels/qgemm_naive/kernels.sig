kernel qgemm_naive(x, w, bias?, multipliers?, float_bias?, residual?) -> (y)
  params qk_qgemm_call
  body qk_qgemm_naive
