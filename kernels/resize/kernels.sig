kernel resize[type](x, places, weights) -> (y)
  params qk_resize_params
  units rows qk_resize_{type.bytes}
  body qk_resize_{type=f32,f64}
