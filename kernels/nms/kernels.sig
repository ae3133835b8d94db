# What ops call; variants say with which scratch.
kernel nms(corners, scores) -> (rows, found)
  params qk_nms_params

kernel nms_ordered(corners, scores) -> (rows, found, scratch)
  params qk_nms_params
  body qk_nms_f32
