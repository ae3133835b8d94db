stage rescale(multipliers, float_bias?)
  params qk_result_stage

stage rescale_each(multipliers, y_zeros, float_bias?)
  params qk_result_stage

stage dequantize(multipliers, float_bias?)
  params qk_result_stage

stage accumulators(multipliers)
  params qk_result_stage

# Kinds as in kernels/epilogue/epilogue.h. Only products that make their codes with integers take a residual that is added
# with integers.
stage add(residual)
  params qk_add_stage
  from qbinary of dims if op=add arithmetic=exact rank=1 a=1 b=1 with kind=0 first=1|0 type=type_b|type_a y_type=type_y
  from qbinary of dims if op=add arithmetic=ort rank=1 a=1 b=1 with kind=1 first=1|0 type=type_b|type_a y_type=type_y
  from qbinary of dims if op=add arithmetic=f32 rank=1 a=1 b=1 with kind=2 first=1|0 type=type_b|type_a y_type=type_y
  from qbinary of dims if op=add arithmetic=q31 rank=1 a=1 b=1 before.q31=1 with kind=3 first=1|0 type=type_b|type_a y_type=type_y ra=0 rb=0

stage add_f32(residual)
  params qk_add_f32_stage
  from binary of dims if op=add type=f32 rank=1 a=1 b=1 with lo=-inf hi=inf
  from binary_clamp of dims if op=add rank=1 a=1 b=1
  joined by clamp of n if type=f32 before.lo=-inf before.hi=inf
