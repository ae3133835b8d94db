kernel conv[type, path](x, w, bias?, residual?) -> (y)
  params qk_conv_params
  epilogue add_f32
  units lines_or_channels qk_conv_{path}_{type}
  body qk_conv_{path=nchw}_{type=f32,f64,f16,bf16} stack 2816
  body qk_conv_{path=nhwc,depthwise}_{type=f32} stack 2048

kernel conv_ordered(x, w, bias?) -> (y)
  params qk_conv_ordered_params
  body qk_conv_ordered_f32 stack 2048

kernel conv_pack[path](w) -> (packed)
  params qk_conv_pack_params
  body qk_conv_{path=nhwc:pack,depthwise:depthwise_pack}_f32 stack 2048

kernel conv_transpose[type](x, w, bias?) -> (y)
  params qk_conv_transpose_params
  body qk_conv_transpose_{type=f32,f64,f16,bf16} stack 2048
