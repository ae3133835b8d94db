kernel resize(x, places, weights) -> (y)
  params qk_resize_params
  body qk_resize_f32
