kernel gather[index](x, indices) -> (y)
  params qk_gather_params
  units indices qk_gather_{index}
  body qk_gather_{index=i64,i32}

kernel gather_elements[index](x, indices) -> (y)
  params qk_gather_elements_params
  units indices qk_gather_elements_{index}
  body qk_gather_elements_{index=i64,i32}

kernel gather_nd[index](x, indices) -> (y)
  params qk_gather_nd_params
  units indices qk_gather_nd_{index}
  body qk_gather_nd_{index=i64,i32}

kernel gather_table(x, table) -> (y)
  params qk_gather_table_params
  body qk_gather_table
