kernel copy(x) -> (y)
  params qk_copy_params
  units blocks qk_copy
  body qk_copy
