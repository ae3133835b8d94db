kernel logcumsumexp[type](x) -> (y)
  params qk_logcumsumexp_params
  body qk_logcumsumexp_{type=f32,f64,f16,bf16}
