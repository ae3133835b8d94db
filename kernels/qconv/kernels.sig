kernel qconv[path, x_codes, w_codes, accumulator](x, w, bias?, multipliers?, float_bias?, w_zeros?, x_scales?, x_zeros?, residual?) -> (y)
  params qk_qconv_params
  body qk_qconv_{path=rows}_{x_codes=i8,u8,i16,u16}_{w_codes=i8}_{accumulator=i32} stack 2816
  body qk_qconv_{path=rows}_{x_codes=i8,u8,i16,u16}_{w_codes=i8,i16}_{accumulator=i64} stack 2816
  body qk_qconv_{path=last}{x_codes=any:}{w_codes=i8:}{accumulator=i32:} stack 3584
  body qk_qconv_{path=depth}{x_codes=any:}{w_codes=i8:}{accumulator=i32:} stack 6656

kernel qconv_transpose[x_codes, w_codes](x, w, bias?, multipliers?, float_bias?, w_zeros?, x_scales?, x_zeros?) -> (y)
  params qk_qconv_transpose_params
  body qk_qconv_transpose_{x_codes=i8,u8,i16,u16}_{w_codes=i8,i16} stack 2816
