kernel fit[bytes](x, value?) -> (y)
  params qk_fit_params
  body qk_fit_{bytes=1,2,4,8}
