kernel grid_sample(x, grid) -> (y)
  params qk_grid_sample_params
  units images qk_grid_sample
  body qk_grid_sample_f32
