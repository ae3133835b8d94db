kernel grid_sample(x, grid) -> (y)
  params qk_grid_sample_params
  body qk_grid_sample_f32
