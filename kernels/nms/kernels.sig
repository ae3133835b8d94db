kernel nms(corners, scores) -> (rows, found, scratch)
  params qk_nms_params
  body qk_nms_f32
