kernel quantize[codes](x, scales, zeros?) -> (y)
  params qk_quantize_params
  units elements qk_quantize_{codes.bytes} pieces 4
  body qk_quantize_{codes=i8,u8,i16,u16}

kernel dequantize[codes](x, scales, zeros?) -> (y)
  params qk_quantize_params
  units elements qk_dequantize_{codes.bytes} pieces 4
  body qk_dequantize_{codes=i8,u8,i16,u16,i32}

kernel quantize_turned[codes](x, scales, zeros?) -> (y)
  params qk_quantize_turned_params
  body qk_quantize_turned_{codes=i8,u8,i16,u16}

kernel quantize_turned_device[machine, codes](x, scales, zeros?) -> (y)
  params qk_quantize_turned_params
  body qk_quantize_turned_{machine=cuda}_{codes=i8,u8,i16,u16}

kernel dequantize_turned[codes](x, scales, zeros?) -> (y)
  params qk_quantize_turned_params
  body qk_dequantize_turned_{codes=i8,u8,i16,u16}

kernel dequantize_turned_device[machine, codes](x, scales, zeros?) -> (y)
  params qk_quantize_turned_params
  body qk_dequantize_turned_{machine=cuda}_{codes=i8,u8,i16,u16}

kernel lookup[bits](x, table) -> (y)
  params qk_lookup_params
  units elements qk_lookup_{bits} pieces {bits.bytes}
  body qk_lookup_8_{bits=8,16}

kernel lookup_rows[bits](x, table) -> (y)
  params qk_lookup_rows_params
  units rows qk_lookup_rows_{bits}
  body qk_lookup_rows_{bits=8,16}

kernel requantize[from, to](x) -> (y)
  params qk_requantize_params
  units elements qk_requantize_{to.bytes} pieces 2
  body qk_requantize_{from=i16,u16}_{to=i8,u8,i16,u16}

kernel dynamic_quantize[codes](x) -> (y, scales, zeros)
  params qk_dynamic_params
  units rows qk_dynamic_{codes.bytes}
  body qk_dynamic_{codes=i8,u8,i16,u16}

# On an accelerator, by blocks of threads.
kernel dynamic_quantize_team[machine, codes](x) -> (y, scales, zeros)
  params qk_dynamic_params
  body qk_dynamic_{machine=team}_{codes=i8,u8,i16,u16} stack 16384

kernel ranges_team[machine](x) -> (ranges)
  params qk_ranges_params
  body qk_ranges_{machine=team} stack 16384

kernel ranges_quantize_team[machine](x, ranges) -> (y, scales, zeros)
  params qk_ranges_params
  body qk_ranges_quantize_{machine=team} stack 16384
