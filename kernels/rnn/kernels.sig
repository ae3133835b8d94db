# What ops call, with weights [directions, gates * hidden, k]; variants choose how they are packed.
kernel rnn[cell](x, w, r, bias?, lengths?, h0?) -> (y, h)
  params qk_rnn_params

kernel lstm(x, w, r, bias?, lengths?, h0?, c0?, peepholes?) -> (y, h, c)
  params qk_rnn_params

kernel rnn_panels[cell](x, w, r, bias?, lengths?, h0?) -> (y, h, scratch)
  params qk_rnn_params
  body qk_{cell=rnn,gru}_f32 stack 1536

kernel lstm_panels(x, w, r, bias?, lengths?, h0?, c0?, peepholes?) -> (y, h, c, scratch)
  params qk_rnn_params
  body qk_lstm_f32 stack 1536
