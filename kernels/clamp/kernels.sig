kernel clamp[type](x) -> (y)
  params qk_clamp_params
  units elements qk_clamp_{type.bytes} vectors {type.bytes}
  body qk_clamp_{type=f32,f64,f16,bf16,i8,i16,i32,i64,u8,u16,u32,u64}

kernel clamp_to[type](x, limits) -> (y)
  params qk_clamp_to_params
  units elements qk_clamp_to_{type.bytes} vectors {type.bytes}
  body qk_clamp_to_{type=f64,i32,i64,u32,u64}
