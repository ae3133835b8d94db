# What ops call, with weights [oc, ic / groups, k...]; variants choose how they are packed.
kernel qconv[x_codes, w_codes, accumulator](x, w, bias?, multipliers?, float_bias?, w_zeros?, x_scales?, x_zeros?, residual?) -> (y)
  params qk_qconv_params
  epilogue rescale, dequantize, accumulators, add

kernel qconv_plain[x_codes, w_codes, accumulator](x, w, bias?, multipliers?, float_bias?, w_zeros?, x_scales?, x_zeros?, residual?) -> (y)
  params qk_qconv_params
  units lines_or_channels qk_qconv_plain_{w_codes}_{accumulator}
  body qk_qconv_nchw_{x_codes=i8,u8,i16,u16}_{w_codes=i8}_{accumulator=i32} stack 2816
  body qk_qconv_nchw_{x_codes=i8,u8,i16,u16}_{w_codes=i8,i16}_{accumulator=i64} stack 2816

kernel qconv_nhwc(x, w, bias?, multipliers?, float_bias?, w_zeros?, x_scales?, x_zeros?, residual?) -> (y)
  params qk_qconv_params
  units lines qk_qconv_nhwc
  body qk_qconv_nhwc stack 3584

kernel qconv_depthwise(x, w, bias?, multipliers?, float_bias?, w_zeros?, x_scales?, x_zeros?, residual?) -> (y)
  params qk_qconv_params
  units lines qk_qconv_nhwc
  body qk_qconv_depthwise stack 6656

# Weights, bias and multipliers in one blob: kernels/qconv/pack.h. `panels` as for qgemm_packed, those of a group after
# those of the group before.
kernel qconv_packed[machine](x, w, x_scales?, x_zeros?, residual?, panels?) -> (y)
  params qk_qconv_params
  units lines_or_panels qk_qconv_packed_{machine}
  body qk_qconv_{machine=avx512vnni} stack 5632
  body qk_qconv_{machine=avx2} stack 4096

kernel qconv_depthwise_packed[machine](x, w, x_scales?, x_zeros?, residual?) -> (y)
  params qk_qconv_params
  units lines qk_qconv_depthwise_packed
  body qk_qdepthwise_{machine=avx512vnni} in avx512vnni_depthwise.c stack 5120

# On an accelerator, with weights as ops have them.
kernel qconv_device[machine, w_codes, accumulator](x, w, bias?, multipliers?, float_bias?, w_zeros?, x_scales?, x_zeros?, residual?) -> (y)
  params qk_qconv_params
  body qk_qconv_{machine=cuda}_{w_codes=i8}_{accumulator=i32}
  body qk_qconv_{machine=cuda}_{w_codes=i8,i16}_{accumulator=i64}

kernel qconv_transpose[x_codes, w_codes](x, w, bias?, multipliers?, float_bias?, w_zeros?, x_scales?, x_zeros?) -> (y)
  params qk_qconv_transpose_params
  epilogue rescale, dequantize, accumulators
  units channels qk_qconv_transpose
  body qk_qconv_transpose_{x_codes=i8,u8,i16,u16}_{w_codes=i8,i16} stack 2816

kernel qconv_depthwise_device[machine](x, w, bias?, multipliers?, float_bias?, x_scales?, x_zeros?, residual?) -> (y)
  params qk_qconv_params
  body qk_qdepthwise_{machine=cuda} in depthwise.cu
