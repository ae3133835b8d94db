kernel pad[bytes](x, value) -> (y)
  params qk_pad_params
  body qk_pad_{bytes=1,2,4,8}
