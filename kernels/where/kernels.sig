kernel where[type](condition, yes, no) -> (y)
  params qk_broadcast3_params
  units elements qk_where_{type.bytes} vectors {type.bytes}
  body qk_where_{type=f32,f64,u8,u16,u32,u64}
