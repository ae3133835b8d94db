kernel activation_quantize[op](x, factor?, scales?, zeros?) -> (y, y_scales?, y_zeros?, floats)
  params qk_activation_quantize_params
  body qk_activation_quantize_{op=silu,sigmoid,tanh,gelu_tanh,gelu_quick} stack 1536
  body qk_activation_quantize_{op=gelu} stack 3584
