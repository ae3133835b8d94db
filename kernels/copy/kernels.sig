kernel copy(x) -> (y)
  params qk_copy_params
  means copy bytes
  units blocks qk_copy
  body qk_copy
