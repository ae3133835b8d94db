stage rescale(multipliers, float_bias?)
  params qk_rescale_stage

stage rescale_each(multipliers, y_zeros, float_bias?)
  params qk_rescale_stage

stage dequantize(multipliers, float_bias?)
  params qk_dequantize_stage

stage accumulators(multipliers)
  params qk_accumulators_stage

stage add(residual)
  params qk_add_stage

stage add_f32(residual)
  params qk_add_f32_stage
