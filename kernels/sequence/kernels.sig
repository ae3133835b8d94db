kernel sequence() -> (y)
  params qk_sequence_params
  units elements qk_sequence
  body qk_sequence

kernel sizes() -> (y)
  params qk_sizes_params
  means list values n
  units all qk_sizes
  body qk_sizes
