# What ops call, with weights [oc, ic / groups, k...] and, where `nhwc` is set, channels-last x and y; variants choose how
# weights are packed.
kernel conv[type](x, w, bias?, residual?) -> (y)
  params qk_conv_params
  epilogue add_f32

kernel conv_plain[type](x, w, bias?, residual?) -> (y)
  params qk_conv_params
  units lines_or_channels qk_conv_nchw_{type}
  body qk_conv_nchw_{type=f32,f64,f16,bf16} stack 2816

kernel conv_nhwc(x, w, bias?, residual?) -> (y)
  params qk_conv_params
  units lines qk_conv_nhwc_f32
  body qk_conv_nhwc_f32 stack 2048

kernel conv_depthwise(x, w, bias?, residual?) -> (y)
  params qk_conv_params
  units lines qk_conv_depthwise_f32
  body qk_conv_depthwise_f32 stack 2048

kernel conv_pack(w) -> (packed)
  params qk_conv_pack_params
  units panels qk_conv_pack
  body qk_conv_pack_f32 stack 2048

kernel conv_depthwise_pack(w) -> (packed)
  params qk_conv_pack_params
  body qk_conv_depthwise_pack_f32 stack 2048

kernel conv_ordered(x, w, bias?) -> (y)
  params qk_conv_ordered_params
  body qk_conv_ordered_f32 stack 2048

kernel conv_transpose[type](x, w, bias?) -> (y)
  params qk_conv_transpose_params
  units channels qk_conv_transpose
  body qk_conv_transpose_{type=f32,f64,f16,bf16} stack 2048
