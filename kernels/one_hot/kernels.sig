kernel one_hot(indices, values) -> (y)
  params qk_one_hot_params
  units rows qk_one_hot
  body qk_one_hot
