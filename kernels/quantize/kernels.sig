kernel quantize[codes](x, scales, zeros?) -> (y)
  params qk_quantize_params
  units elements qk_quantize_{codes.bytes} vectors 4
  body qk_quantize_{codes=i8,u8,i16,u16}

kernel dequantize[codes](x, scales, zeros?) -> (y)
  params qk_quantize_params
  units elements qk_dequantize_{codes.bytes} vectors 4
  body qk_dequantize_{codes=i8,u8,i16,u16,i32}

kernel quantize_transposed[codes](x, scales, zeros?) -> (y)
  params qk_quantize_transposed_params
  body qk_quantize_transposed_{codes=i8,u8,i16,u16}

kernel quantize_transposed_device[machine, codes](x, scales, zeros?) -> (y)
  params qk_quantize_transposed_params
  body qk_quantize_transposed_{machine=cuda}_{codes=i8,u8,i16,u16}

kernel dequantize_transposed[codes](x, scales, zeros?) -> (y)
  params qk_quantize_transposed_params
  body qk_dequantize_transposed_{codes=i8,u8,i16,u16}

kernel dequantize_transposed_device[machine, codes](x, scales, zeros?) -> (y)
  params qk_quantize_transposed_params
  body qk_dequantize_transposed_{machine=cuda}_{codes=i8,u8,i16,u16}

kernel lookup[bits](x, table) -> (y)
  params qk_lookup_params
  units elements qk_lookup_{bits} vectors {bits.bytes}
  body qk_lookup_8_{bits=8,16}

kernel lookup_rows[bits](x, table) -> (y)
  params qk_lookup_rows_params
  units rows qk_lookup_rows_{bits}
  body qk_lookup_rows_{bits=8,16}

kernel requantize[from, to](x) -> (y)
  params qk_requantize_params
  units elements qk_requantize_{to.bytes} vectors 2
  body qk_requantize_{from=i16,u16}_{to=i8,u8,i16,u16}

kernel dynamic_quantize[codes](x) -> (y, scales, zeros)
  params qk_dynamic_params
  units rows qk_dynamic_{codes.bytes}
  body qk_dynamic_{codes=i8,u8,i16,u16}

# On an accelerator, by blocks of threads.
kernel dynamic_quantize_block[machine, codes](x) -> (y, scales, zeros)
  params qk_dynamic_params
  body qk_dynamic_{machine=block}_{codes=i8,u8,i16,u16} stack 16384

kernel ranges_block[machine](x) -> (ranges)
  params qk_ranges_params
  body qk_ranges_{machine=block} stack 16384

kernel ranges_quantize_block[machine](x, ranges) -> (y, scales, zeros)
  params qk_ranges_params
  body qk_ranges_quantize_{machine=block} stack 16384
