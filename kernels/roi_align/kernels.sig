kernel roi_align(x, rois, images) -> (y)
  params qk_roi_align_params
  body qk_roi_align_f32
