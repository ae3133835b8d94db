kernel pad[bytes](x, value) -> (y)
  params qk_pad_params
  units rows qk_pad_{bytes}
  body qk_pad_{bytes=1,2,4,8}
