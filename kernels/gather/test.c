/* Rows, elements and tuples by index, from the end and clamped too, against one loop.
 * run gcc PORTABLE */
#include "kernels/common/testing.h"
#include "kernels/gather/portable.c"

/* An index as it is meant. */
static int32_t meant(int64_t index, int32_t size) {
  if (index < 0) index += size;
  return (int32_t)(index < 0 ? 0 : index >= size ? size - 1 : index);
}
static int64_t* indices(int32_t n) {
  int64_t* out = (int64_t*)(void*)qk_random_bytes(8 * (size_t)n);
  for (int32_t i = 0; i < n; ++i) out[i] = qk_random_in(-9, 9);
  return out;
}

static void rows(void) {
  qk_gather_params p;
  int64_t* index;
  int32_t narrow[8];
  uint8_t *x, *y, *expected;
  int32_t all;
  p.outer = qk_random_in(1, 4), p.size = qk_random_in(1, 6), p.count = qk_random_in(1, 8);
  p.block = qk_random_in(1, 17);
  all = p.outer * p.count * p.block;
  index = indices(p.count);
  x = qk_random_bytes((size_t)(p.outer * p.size * p.block));
  y = qk_random_bytes((size_t)all), expected = qk_random_bytes((size_t)all);
  for (int32_t i = 0; i < all; ++i) {
    const int32_t at = i / p.block % p.count, o = i / p.block / p.count;
    expected[i] = x[(o * p.size + meant(index[at], p.size)) * p.block + i % p.block];
  }
  qk_gather_i64(&p, x, index, y);
  qk_expect_same("gather i64", y, expected, (size_t)all, &p.outer, 4);
  for (int32_t i = 0; i < p.count; ++i) narrow[i] = (int32_t)index[i];
  memset(y, 0, (size_t)all);
  qk_gather_i32(&p, x, narrow, y);
  qk_expect_same("gather i32", y, expected, (size_t)all, &p.outer, 4);
}

static void elements(void) {
  qk_gather_elements_params p;
  const int32_t rows = qk_random_in(1, 5), columns = qk_random_in(1, 5);
  const int32_t taken = qk_random_in(1, 7), all = taken * columns;
  int64_t* index = indices(all);
  uint8_t *x, *y, *expected;
  for (int d = 0; d < 8; ++d) p.dims[d] = 1, p.xs[d] = 0;
  p.dims[6] = taken, p.dims[7] = columns, p.xs[7] = 1;
  p.size = rows, p.stride = columns, p.block = qk_random_in(1, 8);
  x = qk_random_bytes((size_t)(rows * columns * p.block));
  y = qk_random_bytes((size_t)(all * p.block)), expected = qk_random_bytes((size_t)(all * p.block));
  for (int32_t i = 0; i < all; ++i)
    memcpy(expected + i * p.block, x + (meant(index[i], rows) * columns + i % columns) * p.block,
           (size_t)p.block);
  qk_gather_elements_i64(&p, x, index, y);
  qk_expect_same("gather_elements", y, expected, (size_t)(all * p.block), p.dims, 8);
}

static void tuples(void) {
  qk_gather_nd_params p;
  int64_t* index;
  uint8_t *x, *y, *expected;
  int32_t all;
  p.batch = qk_random_in(1, 3), p.rows = qk_random_in(1, 5), p.depth = 2;
  p.dims[0] = qk_random_in(1, 4), p.dims[1] = qk_random_in(1, 4);
  p.inner = p.dims[0] * p.dims[1], p.block = qk_random_in(1, 9);
  all = p.batch * p.rows;
  index = indices(2 * all);
  x = qk_random_bytes((size_t)(p.batch * p.inner * p.block));
  y = qk_random_bytes((size_t)(all * p.block)), expected = qk_random_bytes((size_t)(all * p.block));
  for (int32_t i = 0; i < all; ++i) {
    const int32_t at =
        meant(index[2 * i], p.dims[0]) * p.dims[1] + meant(index[2 * i + 1], p.dims[1]);
    memcpy(expected + i * p.block, x + (i / p.rows * p.inner + at) * p.block, (size_t)p.block);
  }
  qk_gather_nd_i64(&p, x, index, y);
  qk_expect_same("gather_nd", y, expected, (size_t)(all * p.block), &p.batch, 5);
}

static void tables(void) {
  qk_gather_table_params p;
  int32_t table[16], all = 1, used = 0;
  uint8_t *x = qk_random_bytes(64), *y, *expected;
  for (int d = 0; d < 8; ++d) {
    p.dims[d] = d == 3 || d == 7 ? qk_random_in(1, 4) : 1;
    all *= p.dims[d];
    for (int32_t k = 0; k < p.dims[d]; ++k)
      table[used++] = d == 3 || d == 7 ? qk_random_in(0, 15) : 0;
  }
  p.block = 2;
  y = qk_random_bytes((size_t)(2 * all)), expected = qk_random_bytes((size_t)(2 * all));
  for (int32_t i = 0; i < all; ++i) {
    const int32_t at = table[3 + i / p.dims[7]] + table[6 + p.dims[3] + i % p.dims[7]];
    memcpy(expected + 2 * i, x + 2 * at, 2);
  }
  qk_gather_table(&p, x, table, y);
  qk_expect_same("gather_table", y, expected, (size_t)(2 * all), p.dims, 8);
}

int main(void) {
  if (!qk_machine_has_target()) return 0;
  for (int i = 0; i < 100; ++i) {
    rows();
    elements();
    tuples();
    tables();
  }
  return 0;
}
QK_TARGET_END
