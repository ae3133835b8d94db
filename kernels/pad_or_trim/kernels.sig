kernel pad_or_trim[bytes](x, value?) -> (y)
  params qk_pad_or_trim_params
  units blocks qk_pad_or_trim_{bytes}
  body qk_pad_or_trim_{bytes=1,2,4,8}
