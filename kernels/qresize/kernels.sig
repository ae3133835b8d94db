kernel qresize[arithmetic](x, first_positions, first_weights, second_positions, second_weights) -> (y)
  params qk_qresize_params
  body qk_qresize{arithmetic=exact:,wide:_wide,fixed:_fixed,ort:_ort}
