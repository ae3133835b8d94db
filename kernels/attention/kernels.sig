kernel attention(q, k, v, keep?, add?) -> (y, scratch)
  params qk_attention_params
  body qk_attention_f32 stack 2816
