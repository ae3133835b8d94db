kernel qbinary[op, arithmetic](lhs, rhs) -> (y)
  params qk_qbinary_params
  units elements qk_qbinary vectors 1
  body qk_q{op=add,mul}{arithmetic=exact:,ort:_ort,f32:_f32}
  body qk_q{op=add,mul}{arithmetic=q31:_q31} stack 6144
