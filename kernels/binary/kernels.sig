kernel binary[op, type](lhs, rhs) -> (y)
  params qk_broadcast2_params
  units elements qk_binary_{type.bytes} vectors {type.bytes}
  body qk_binary_{op=add,sub,mul,div,floor_div,mod,fmod,max,min}_{type=f32,f64,f16,bf16,i8,i16,i32,i64,u8,u16,u32,u64}
  body qk_binary_{op=atan2,hypot,copysign,prelu,fmax,fmin,heaviside}_{type=f32,f64,f16,bf16}
  body qk_binary_{op=bit_and,bit_or,bit_xor,shl,shr}_{type=i8,i16,i32,i64,u8,u16,u32,u64}
  body qk_binary_{op=pow}_{type=f32,f64,f16,bf16,i8,i16,i32,i64,u8,u16,u32,u64} stack 2816
  body qk_binary_{op=xlogy,logaddexp}_{type=f32,f64,f16,bf16} stack 2816

kernel binary_clamp[op](lhs, rhs) -> (y)
  params qk_broadcast2_clamp_params
  units elements qk_binary_clamp vectors 4
  body qk_binary_{op=add,sub,mul}_clamp_f32
