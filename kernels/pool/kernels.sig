kernel pool[op, type, path](x) -> (y)
  params qk_pool_params
  units points qk_pool_{type.bytes}
  body qk_{op=max}_pool{path=any:}_{type=f32,f64,f16,bf16,i8,i16,i32,i64,u8,u16,u32,u64} stack 2560
  body qk_{op=average,lp}_pool{path=any:}_{type=f32,f64,f16,bf16} stack 2560
  body qk_{op=max,average}_pool_{path=nhwc}_{type=f32} stack 2560

kernel pool_device[machine, op, type](x) -> (y)
  params qk_pool_params
  body qk_{op=max}_pool_{machine=cuda}_{type=f32,i8,u8,i16,u16}

kernel max_pool_index[type](x) -> (y, positions)
  params qk_pool_params
  body qk_max_pool_index_{type=f32,f64,f16,bf16,i8,i16,i32,i64,u8,u16,u32,u64} stack 2560
