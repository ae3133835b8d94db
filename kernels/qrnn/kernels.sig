# What ops call, with weights [directions, gates * hidden, k]; variants choose how they are packed.
kernel qrnn[cell](x, w, r, x_multipliers, h_multipliers, bias?, lengths?, h0?, c0?, peepholes?) -> (y, h, c?)
  params qk_qrnn_params

# Weights as they are, codes of any type.
kernel qrnn_rows[cell](x, w, r, x_multipliers, h_multipliers, bias?, lengths?, h0?, c0?, peepholes?) -> (y, h, c?, floats, codes, accumulators?)
  params qk_qrnn_params
  body qk_q{cell=rnn,gru,lstm}_rows stack 2048

# Weights in panels of 16 rows of a gate, codes of 8 bits.
kernel qrnn_panels[cell](x, w, r, x_multipliers, h_multipliers, bias?, lengths?, h0?, c0?, peepholes?) -> (y, h, c?, floats, codes, accumulators)
  params qk_qrnn_params
  body qk_q{cell=rnn,gru,lstm}_panels stack 2048
