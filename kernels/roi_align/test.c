/* Each element of every region is the scalar one of kernels/numerics/roi.h.
 * run gcc PORTABLE */
#include "kernels/common/testing.h"
#include "kernels/roi_align/portable.c"

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 150; ++i) {
    qk_roi_align_params p;
    int64_t* image;
    int32_t plane, all;
    float *x, *rois, *y, *expected;
    p.batch = qk_random_in(1, 3), p.channels = qk_random_in(1, 3);
    p.height = qk_random_in(1, 7), p.width = qk_random_in(1, 7), p.regions = qk_random_in(1, 4);
    p.rows = qk_random_in(1, 3), p.columns = qk_random_in(1, 3), p.ratio = qk_random_in(0, 2);
    p.half_pixel = qk_random_in(0, 1), p.largest = qk_random_in(0, 1), p.scale = 0.5f;
    plane = p.height * p.width;
    all = p.regions * p.channels * p.rows * p.columns;
    x = qk_random_floats((size_t)(p.batch * p.channels * plane));
    rois = qk_random_floats((size_t)(4 * p.regions));
    for (int32_t k = 0; k < 4 * p.regions; ++k) rois[k] = 8 * rois[k] + (k % 4 < 2 ? 0 : 9);
    image = (int64_t*)(void*)qk_random_bytes(8 * (size_t)p.regions);
    for (int32_t k = 0; k < p.regions; ++k) image[k] = qk_random_in(0, p.batch - 1);
    y = qk_random_floats((size_t)all), expected = qk_random_floats((size_t)all);
    for (int32_t k = 0; k < all; ++k) {
      const int32_t column = k % p.columns, row = k / p.columns % p.rows;
      const int32_t c = k / p.columns / p.rows % p.channels;
      const int32_t r = k / p.columns / p.rows / p.channels;
      expected[k] = qn_roi_align_f32(x + ((int32_t)image[r] * p.channels + c) * plane, p.height,
                                     p.width, rois + 4 * r, p.scale, p.half_pixel, p.ratio,
                                     p.largest, p.rows, p.columns, row, column);
    }
    qk_roi_align_f32(&p, x, rois, image, y);
    qk_expect_same("roi_align", y, expected, 4 * (size_t)all, &p.batch, 10);
  }
  return 0;
}
QK_TARGET_END
