kernel bad_index[index](x, before?) -> (y)
  params qk_bad_index_params
  means check number
  body qk_bad_index_{index=i64,i32}
