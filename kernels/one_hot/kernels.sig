kernel one_hot(indices, values) -> (y)
  params qk_one_hot_params
  body qk_one_hot
