kernel reduce[op, type](x) -> (y)
  params qk_reduce_params
  units results qk_reduce_{type.bytes}
  body qk_reduce_{op=sum,mean,max,min,prod,l1,l2,sum_square,var,std}_{type=f32,f64,f16,bf16} stack 3072
  body qk_reduce_{op=sum,mean,max,min,prod,l1,sum_square}_{type=i8,i16,i32,i64,u8,u16,u32,u64} stack 3072
  body qk_reduce_{op=any,all}_{type=bool} stack 3072
  body qk_reduce_{op=log_sum,log_sum_exp}_{type=f32,f64,f16,bf16} stack 4608
