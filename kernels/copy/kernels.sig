kernel copy(x) -> (y)
  params qk_copy_params
  body qk_copy
