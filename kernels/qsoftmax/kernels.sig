kernel qsoftmax(x, table) -> (y)
  params qk_qsoftmax_params
  body qk_qsoftmax
