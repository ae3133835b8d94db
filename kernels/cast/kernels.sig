kernel cast[from, to](x) -> (y)
  params qk_cast_params
  means test n if from=i64 to=bool
  units elements qk_cast_{from.bytes}_{to.bytes} vectors {from.bytes},{to.bytes}
  body qk_cast_{from=f32,f64,f16,bf16,i8,i16,i32,i64,u8,u16,u32,u64,bool,f8e4m3,f8e5m2,f8e4m3fnuz,f8e5m2fnuz,f8e8m0,f4e2m1,i4,u4,i2,u2}_{to=f32,f64,f16,bf16,i8,i16,i32,i64,u8,u16,u32,u64,bool,f8e4m3,f8e5m2,f8e4m3fnuz,f8e5m2fnuz,f8e8m0,f4e2m1,i4,u4,i2,u2}

kernel cast_mode[from, to](x) -> (y)
  params qk_cast_mode_params
  units elements qk_cast_mode_{from.bytes} vectors {from.bytes}
  body qk_cast_mode_{from=f32,f64,f16,bf16}_{to=f8e4m3,f8e5m2,f8e4m3fnuz,f8e5m2fnuz,f8e8m0}
