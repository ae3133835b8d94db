kernel resize[type](x, positions, weights) -> (y)
  params qk_resize_params
  units rows qk_resize_{type.bytes}
  body qk_resize_{type=f32,f64}
