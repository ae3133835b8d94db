kernel softmax[op, type](x) -> (y)
  params qk_softmax_params
  units rows qk_softmax_{type.bytes}
  body qk_{op=softmax,log_softmax}_{type=f32,f64,f16,bf16} stack 1536
