kernel strided[bytes](x) -> (y)
  params qk_strided_params
  body qk_strided_{bytes=1,2,4,8} stack 1536

kernel strided_device[machine, bytes](x) -> (y)
  params qk_strided_params
  body qk_strided_{machine=cuda}_{bytes=1,2,4,8}
