# What ops call; variants choose how weights are packed.
kernel gemm(x, w, bias?, residual?) -> (y)
  params qk_gemm_call
  epilogue add_f32

kernel gemm_panels(x, w, bias?, residual?) -> (y)
  params qk_gemm_params
  units row_blocks qk_gemm
  body qk_gemm_f32 stack 2048

kernel gemm_pack(w) -> (packed)
  params qk_gemm_pack_params
  units panels qk_gemm_pack
  body qk_gemm_pack_f32 stack 2048

kernel matmul[type](lhs, rhs, bias?) -> (y)
  params qk_matmul_params
  units outputs qk_matmul_{type.bytes}
  body qk_matmul_{type=f32,f64,f16,bf16,i8,i16,i32,i64,u8,u16,u32,u64} stack 2048

kernel grouped[type, index](x, w, offsets) -> (y)
  params qk_grouped_params
  units rows qk_grouped
  body qk_grouped_{type=f32,f16,bf16}_{index=i32,i64} stack 2048
