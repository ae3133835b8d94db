kernel logcumsumexp[type](x) -> (y)
  params qk_logcumsumexp_params
  units rows qk_logcumsumexp_{type.bytes}
  body qk_logcumsumexp_{type=f32,f64,f16,bf16}
