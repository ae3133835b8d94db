kernel store_slice(x, indices) -> (y)
  params qk_store_slice_params
  units blocks qk_store_slice
  body qk_store_slice
