kernel wconv[path](x, w, scales, w_zeros?, bias?) -> (y)
  params qk_wconv_params
  body qk_wconv{path=any:,depthwise:_depthwise,transpose:_transpose} stack 2048
