kernel qreduce[arithmetic](x) -> (y)
  params qk_qreduce_params
  units results qk_qreduce
  body qk_qreduce_sum{arithmetic=exact:,q31:_q31}
  body qk_qreduce_{arithmetic=mean}
