kernel rotary[type](x, cos, sin) -> (y)
  params qk_rotary_params
  units rows qk_rotary_{type.bytes}
  body qk_rotary_{type=f32,f64,f16,bf16}
