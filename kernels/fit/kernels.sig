kernel fit[bytes](x, value?) -> (y)
  params qk_fit_params
  units blocks qk_fit_{bytes}
  body qk_fit_{bytes=1,2,4,8}
