kernel qrnn[cell](x, w, r, x_multipliers, h_multipliers, bias?, lengths?, h0?, c0?, peepholes?) -> (y, h, c?, floats, integers)
  params qk_qrnn_params
  body qk_q{cell=rnn,gru,lstm} stack 2048
