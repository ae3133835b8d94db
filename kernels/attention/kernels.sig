# What ops call; variants say how many queries are computed together, and with which scratch.
kernel attention(q, k, v, keep?, add?) -> (y)
  params qk_attention_params

kernel attention_panels(q, k, v, keep?, add?) -> (y, scratch)
  params qk_attention_params
  body qk_attention_f32 stack 2816

# On an accelerator, a block of threads for each query.
kernel attention_block[machine](q, k, v, keep?, add?) -> (y)
  params qk_attention_params
  body qk_attention_{machine=block} stack 49152
