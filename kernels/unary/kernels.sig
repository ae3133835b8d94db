kernel unary[op, type](x) -> (y)
  params qk_unary_params
  units elements qk_unary_{type.bytes} vectors {type.bytes}
  body qk_unary_{op=sqrt,rsqrt,reciprocal,sin,cos,tan,asin,acos,atan,sinh,cosh,asinh,acosh,atanh,erfc,erfinv,lgamma,digamma,sinc,softsign,hardswish,floor,ceil,round,trunc,frac}_{type=f32,f64,f16,bf16}
  body qk_unary_{op=abs,neg,sign,square}_{type=f32,f64,f16,bf16,i8,i16,i32,i64,u8,u16,u32,u64}
  body qk_unary_{op=bit_not}_{type=i8,i16,i32,i64,u8,u16,u32,u64}
  units elements qk_predicate_{type.bytes} vectors {type.bytes}
  body qk_unary_{op=isnan,isinf,isfinite,signbit}_{type=f32,f64,f16,bf16}
  units elements qk_unary_{type.bytes} vectors {type.bytes}
  body qk_unary_{op=not}_{type=bool}
  body qk_unary_{op=exp,exp2,expm1,tanh,sigmoid,silu,gelu_tanh,gelu_quick}_{type=f32,f64}
  # Many constants that clang keeps as vectors of 512 bits.
  body qk_unary_{op=exp,exp2,expm1,tanh,sigmoid,silu,gelu_tanh,gelu_quick}_{type=f16,bf16} stack 2816
  body qk_unary_{op=log,log2,log10,log1p,log_sigmoid,erf,softplus,gelu,mish}_{type=f32,f64} stack 2816
  body qk_unary_{op=log,log2,log10,log1p,log_sigmoid,erf,softplus,gelu,mish}_{type=f16,bf16} stack 3584

kernel unary_scaled[op, type](x) -> (y)
  params qk_unary_scaled_params
  units elements qk_unary_scaled_{type.bytes} vectors {type.bytes}
  body qk_unary_{op=leaky_relu,hard_sigmoid,threshold,thresholded_relu,shrink,affine}_{type=f32,f16,bf16}
  body qk_unary_{op=elu,celu,selu,swish,scaled_tanh}_{type=f32}
  body qk_unary_{op=elu,celu,selu,swish,scaled_tanh}_{type=f16,bf16} stack 2816
  body qk_unary_{op=logit}_{type=f32,f16,bf16} stack 2816
  body qk_unary_{op=softplus_beta}_{type=f32} stack 2816
  body qk_unary_{op=softplus_beta}_{type=f16,bf16} stack 3584

kernel unary_scaled_f64[op](x, factors) -> (y)
  params qk_unary_params
  units elements qk_unary_8 vectors 8
  body qk_unary_{op=leaky_relu,hard_sigmoid,threshold,thresholded_relu,shrink,affine}_f64
  body qk_unary_{op=elu,celu,selu,swish,scaled_tanh,logit,softplus_beta}_f64 stack 2816
