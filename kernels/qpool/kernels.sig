kernel qpool[arithmetic](x) -> (y)
  params qk_qpool_params
  units points qk_qpool
  body qk_qavg_pool{arithmetic=exact:,wide:_wide,ort:_ort,f32:_f32,q31:_q31} stack 1536

kernel qpool_device[machine, arithmetic](x) -> (y)
  params qk_qpool_params
  body qk_qavg_pool_{machine=cuda}_{arithmetic=exact,wide,ort,f32,q31}
