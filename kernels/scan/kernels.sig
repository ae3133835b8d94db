kernel scan[op, type](x) -> (y)
  params qk_scan_params
  units rows qk_scan_{type.bytes}
  body qk_scan_{op=sum,prod}_{type=f32,f64,f16,bf16,i8,i16,i32,i64,u8,u16,u32,u64}

kernel scan_extreme[op, type](x) -> (y, positions)
  params qk_extreme_params
  units rows qk_extreme_{type.bytes}
  body qk_scan_{op=max,min}_{type=f32,f64,f16,bf16,i8,i16,i32,i64,u8,u16,u32,u64}
