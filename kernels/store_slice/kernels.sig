kernel store_slice(x, indices) -> (y)
  params qk_store_slice_params
  body qk_store_slice
