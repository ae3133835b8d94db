kernel sequence() -> (y)
  params qk_sequence_params
  body qk_sequence

kernel sizes() -> (y)
  params qk_sizes_params
  body qk_sizes
