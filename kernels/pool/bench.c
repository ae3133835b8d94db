/* Speed of channels-last pools of floats, and of the general ones: the best of many runs. */
#include "kernels/common/bench.h"

#include "kernels/pool/portable.c"

/* Channels, positions of the result along an axis, taps along it, stride. */
static const int32_t shapes[][4] = {
    {64, 56, 3, 2}, {64, 28, 2, 2}, {192, 28, 3, 1}, {320, 1, 7, 1}};

static __attribute__((noinline)) void measure(const int32_t* shape) {
  const int32_t c = shape[0], side = shape[1], k = shape[2], pixels = side * side;
  char what[64];
  qk_pool_params p;
  memset(&p, 0, sizeof p);
  p.n = p.power = 1;
  p.c = c;
  p.nhwc = 1;
  for (int a = 0; a < 3; ++a) {
    p.k[a] = a ? k : 1;
    p.stride[a] = a ? shape[3] : 1;
    p.dilation[a] = 1;
    p.out[a] = a ? side : 1;
    p.in[a] = p.valid[a] = (p.out[a] - 1) * p.stride[a] + p.k[a];
  }
  {
    const float* x = qk_random_floats((size_t)(c * p.in[1] * p.in[2]));
    float* y = qk_random_floats((size_t)(c * pixels));
    const double read = (double)c * pixels * k * k;
    QK_BEST(most, qk_max_pool_nhwc_f32(&p, x, y))
    QK_BEST(mean, qk_average_pool_nhwc_f32(&p, x, y))
    QK_BEST(any, qk_max_pool_f32(&p, x, y))
    snprintf(what, sizeof what, "max %d, %d x %d, %d x %d", c, side, side, k, k);
    qk_report(what, read, most);
    snprintf(what, sizeof what, "average %d, %d x %d, %d x %d", c, side, side, k, k);
    qk_report(what, read, mean);
    snprintf(what, sizeof what, "max, general, %d, %d x %d, %d x %d", c, side, side, k, k);
    qk_report(what, read, any);
  }
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i) measure(shapes[i]);
  return 0;
}
QK_TARGET_END
