kernel qsoftmax(x, table) -> (y)
  params qk_qsoftmax_params
  units rows qk_qsoftmax
  body qk_qsoftmax
