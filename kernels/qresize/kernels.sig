kernel qresize[arithmetic](x, first_places, first_weights, second_places, second_weights) -> (y)
  params qk_qresize_params
  body qk_qresize{arithmetic=exact:,wide:_wide,fixed:_fixed,ort:_ort}
