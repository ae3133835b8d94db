kernel trilu[bytes](x) -> (y)
  params qk_trilu_params
  units rows qk_trilu_{bytes}
  body qk_trilu_{bytes=1,2,4,8}
