kernel compare[op, type](lhs, rhs) -> (y)
  params qk_broadcast2_params
  units elements qk_compare_{type.bytes} vectors {type.bytes}
  body qk_compare_{op=eq,ne,lt,le,gt,ge}_{type=f32,f64,f16,bf16,i8,i16,i32,i64,u8,u16,u32,u64} stack 1536
  body qk_compare_{op=and,or,xor}_{type=bool} stack 1536
