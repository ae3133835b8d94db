# Elements that are combined have a type; those that are replaced only a number of bytes.
kernel scatter_elements[element](x, indices, updates) -> (y)
  params qk_scatter_elements_params
  body qk_scatter_elements_{element=1,2,4,8,f32,f64,f16,bf16,i8,i16,i32,i64,u8,u16,u32,u64}

kernel scatter_nd[element](x, indices, updates) -> (y)
  params qk_scatter_nd_params
  body qk_scatter_nd_{element=1,2,4,8,f32,f64,f16,bf16,i8,i16,i32,i64,u8,u16,u32,u64}
