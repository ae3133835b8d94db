kernel qgemm(x, w, bias?, multipliers?, float_bias?, w_zeros?, x_scales?, x_zeros?, residual?) -> (y)
  params qk_qgemm_params
  body qk_qgemm stack 3328

kernel qgemm_pack(w) -> (packed)
  params qk_qgemm_pack_params
  body qk_qgemm_pack stack 3328

kernel qmatmul[x_codes, w_codes](x, w, bias?, multipliers?, float_bias?, w_zeros?, x_scales?, x_zeros?, residual?) -> (y)
  params qk_qmatmul_params
  body qk_qmatmul_{x_codes=i8,u8,i16,u16}_{w_codes=i8,u8,i16,u16} stack 3328

kernel wgemm(x, w, scales, w_zeros?, bias?) -> (y)
  params qk_wgemm_params
  body qk_wgemm stack 3328
