kernel strided[bytes](x) -> (y)
  params qk_strided_params
  body qk_strided_{bytes=1,2,4,8} stack 1536
