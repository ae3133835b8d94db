kernel qreduce[arithmetic](x) -> (y)
  params qk_qreduce_params
  body qk_qreduce_sum{arithmetic=exact:,q31:_q31}
  body qk_qreduce_{arithmetic=mean}
