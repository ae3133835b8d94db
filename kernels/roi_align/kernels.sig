kernel roi_align(x, rois, images) -> (y)
  params qk_roi_align_params
  units regions qk_roi_align
  body qk_roi_align_f32
