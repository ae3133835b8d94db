"""Results of blocks of accumulators, sixteen at a time, are those of one sum at a time: also beside ties and at the limits."""
import pathlib
import shutil
import subprocess

import pytest

from tests.support.processor import can_run

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = r"""
#include <stdio.h>
#include "kernels/qtile/block.h"

/* Accumulators whose products with m lie on, or next to, k + 1/2: 1/m is nearly whole. */
static int32_t sum_near(float m, int32_t k, int32_t off) {
  return (int32_t)(((float)k + 0.5f) / m) + off;
}

int main(void) {
  static const float multipliers[] = {0.5f, 0.25f, 0x1.000002p-1f, 0x1.fffffep-2f, 0.1f, 0x1.99999cp-4f,
                                      0x1p-7f, 0x1.000002p-7f, 1.5f, 3e-4f};
  int64_t checked = 0;
  for (int c = 0; c < 10; ++c) {
    for (int32_t k = -140; k < 140; ++k) {
      for (int32_t n = 1; n <= 32; ++n) {
        for (int way = QK_Q_CODES; way <= QK_Q_ADDED; ++way) {
          int32_t accumulators[2][2][16];
          float m[32];
          uint8_t residual[64], got[64], want[64];
          qk_q_output o = {QK_I8, k % 7, -128, 127, 0, m, 0, 1.0f, 0, way, 0,
                           {QK_R_EXACT, k & 1, k & 2 ? QK_I8 : QK_U8, 3, -5, QK_I8, 9, -128, 120, 0, 0.5f, 0.25f, 0, 0, 0, 0, 0, 0}};
          const qk_q_block block = {accumulators[0][0], 2, 2, 0, n, 0, 0, 0, 32};
          if (way == QK_Q_ADDED) o.residual = residual;
          for (int j = 0; j < 64; ++j) {
            ((int32_t*)accumulators)[j] = sum_near(multipliers[c], k, j % 5 - 2);
            m[j % 32] = multipliers[c];
            residual[j] = (uint8_t)(j * 37 + k);
            got[j] = want[j] = 77;
          }
          qk_q_store_block(&o, &block, got);
          for (int row = 0; row < 2; ++row) {
            for (int j = 0; j < n; ++j) qk_q_store(&o, accumulators[row][j / 16][j % 16], j, 1.0f, want, row * 32 + j);
          }
          if (memcmp(got, want, 64) != 0) {
            printf("multiplier %a, near %d + 1/2, %d channels, way %d\n", (double)multipliers[c], (int)k, (int)n, way);
            return 1;
          }
          checked += 2 * n;
        }
      }
    }
  }
  printf("%lld\n", (long long)checked);
  return 0;
}
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("flags", ["-O2", "-O2 -march=haswell", "-O3 -march=skylake-avx512 -ffp-contract=fast"])
def test_blocks_are_single_results(compiler, flags, tmp_path):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    (tmp_path / "blocks.c").write_text(SOURCE)
    subprocess.run([compiler, "-std=c11", *flags.split(), f"-I{ROOT}", tmp_path / "blocks.c", "-lm", "-o", tmp_path / "blocks"],
                   check=True)
    if not can_run(flags):
        return  # built for this set; plain C runs everywhere and gives the same results
    done = subprocess.run([tmp_path / "blocks"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert int(done.stdout) > 2_000_000
