kernel arg[op, type](x) -> (y)
  params qk_arg_params
  units rows qk_arg_{type.bytes}
  body qk_arg_{op=max,min}_{type=f32,f64,f16,bf16,i8,i16,i32,i64,u8,u16,u32,u64}

# What ops call; variants say with which scratch.
kernel sort[type](x) -> (values, positions)
  params qk_sort_params

kernel merge_sort[type](x) -> (values, positions, scratch)
  params qk_sort_params
  units rows qk_sort_{type.bytes} scratch scratch
  body qk_sort_{type=f32,f64,f16,bf16,i8,i16,i32,i64,u8,u16,u32,u64}

kernel histogram[type](x) -> (y)
  params qk_histogram_params
  body qk_histogram_{type=f32,f64}
