kernel peak_hold[type](x) -> (y)
  params qk_peak_hold_params
  body qk_peak_hold_{type=f32}
