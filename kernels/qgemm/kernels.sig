# What ops call; variants choose how weights are packed.
kernel qgemm(x, w, bias?, multipliers?, float_bias?, w_zeros?, x_scales?, x_zeros?, residual?, y_zeros?) -> (y)
  params qk_qgemm_call
  epilogue rescale, rescale_each, dequantize, accumulators, add

kernel qgemm_panels(x, w, bias?, multipliers?, float_bias?, w_zeros?, x_scales?, x_zeros?, residual?, y_zeros?) -> (y)
  params qk_qgemm_params
  units row_blocks qk_qgemm_panels
  body qk_qgemm stack 3328

# Codes i8 as the unsigned ones that some machines multiply.
kernel unsigned_codes(x, zeros?) -> (y, y_zeros?)
  params qk_unsigned_codes_params
  body qk_unsigned_codes

kernel qgemm_pack(w) -> (packed)
  params qk_qgemm_pack_params
  units panels qk_qgemm_pack
  body qk_qgemm_pack stack 3328

# Weights, bias and multipliers in one blob: kernels/qtile/pack.h. `panels` are the first panel and the one after the
# last that are computed; absent: all. Zero points of weights are all the same.
kernel qgemm_packed[machine](x, w, x_scales?, x_zeros?, residual?, panels?, w_zeros?, y_zeros?) -> (y)
  params qk_qgemm_params
  units row_blocks_or_panels qk_qgemm_packed_{machine}
  body qk_qgemm_{machine=avx512vnni} stack 5248
  body qk_qgemm_{machine=avx2} stack 4096
  body qk_qgemm_{machine=neon_dotprod} stack 2304

kernel qgemm_prepack[machine](w, bias?, multipliers?, float_bias?) -> (packed)
  params qk_qgemm_prepack_params
  body qk_qgemm_prepack_{machine=avx512vnni,avx2,neon_dotprod}

# On an accelerator, with weights as ops have them.
kernel qgemm_device[machine](x, w, bias?, multipliers?, float_bias?, w_zeros?, x_scales?, x_zeros?, residual?, y_zeros?) -> (y)
  params qk_qgemm_call
  body qk_qgemm_{machine=cuda}

kernel qmatmul[x_codes, w_codes](x, w, bias?, multipliers?, float_bias?, w_zeros?, x_scales?, x_zeros?, residual?, y_zeros?) -> (y)
  params qk_qmatmul_params
  epilogue rescale, rescale_each, dequantize, accumulators, add
  units row_blocks qk_qmatmul_{x_codes}_{w_codes}
  body qk_qmatmul_{x_codes=i8,u8,i16,u16}_{w_codes=i8,u8,i16,u16} stack 3328

# What ops call for floats times codes of weights; variants choose how codes and scales are packed.
kernel wgemm(x, w, scales, w_zeros?, bias?) -> (y)
  params qk_wgemm_call

kernel wgemm_panels(x, w, scales, w_zeros?, bias?) -> (y, rows)
  params qk_wgemm_params
  units panels qk_wgemm scratch rows
  body qk_wgemm stack 2048

# Groups of rows, each with a matrix of codes of its own.
kernel qgrouped[index](x, w, offsets, multipliers, x_scales?, x_zeros?) -> (y)
  params qk_qgrouped_params

kernel qgrouped_panels[index](x, w, offsets, multipliers, x_scales?, x_zeros?) -> (y)
  params qk_qgrouped_params
  units rows qk_qgrouped
  body qk_qgrouped_{index=i32,i64} stack 3328
