kernel softmax[op, type](x) -> (y)
  params qk_softmax_params
  body qk_{op=softmax,log_softmax}_{type=f32,f64,f16,bf16} stack 1536
