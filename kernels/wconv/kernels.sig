# What ops call, with codes [oc, ic / groups, k...] as the model has them and scales, and zero points where they are not all
# `zero`, [oc][ceil(ic / groups / group)][taps with by_tap]; variants choose how they are packed.
kernel wconv(x, w, scales, w_zeros?, bias?) -> (y)
  params qk_wconv_params

kernel wconv_panels(x, w, scales, w_zeros?, bias?) -> (y)
  params qk_wconv_params
  units panels qk_wconv
  body qk_wconv stack 2048

kernel wconv_depthwise(x, w, scales, w_zeros?, bias?) -> (y)
  params qk_wconv_params
  units positions qk_wconv_depthwise
  body qk_wconv_depthwise stack 2048

kernel wconv_transpose(x, w, scales, w_zeros?, bias?) -> (y)
  params qk_wconv_params
  units channels qk_wconv_transpose
  body qk_wconv_transpose stack 2048
