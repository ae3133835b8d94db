// Integers of 128 bits as an oracle for sums and their rescaling.
#pragma once

#include <cstdint>

__extension__ typedef __int128 Wide;

/// The quotient a / b (b > 0) rounded half to even.
inline Wide wide_quotient(Wide a, Wide b) {
  Wide q = a / b, rest = a % b;
  if (rest < 0) {
    rest += b;
    q -= 1;
  }
  if (rest > b - rest || (rest == b - rest && q % 2 != 0)) q += 1;
  return q;
}

/// A quotient as a code: plus the zero point, limited.
inline int32_t wide_code(Wide q, int32_t zero, int32_t lo, int32_t hi) {
  q += zero;
  return static_cast<int32_t>(q < lo ? Wide{lo} : q > hi ? Wide{hi} : q);
}

/// The exact quotient sum * mantissa / 2^shift, rounded half to even, plus the zero point, limited.
inline int32_t wide_rescale(int64_t sum, int32_t mantissa, int32_t shift, int32_t zero, int32_t lo,
                            int32_t hi) {
  const Wide product = Wide{sum} * mantissa;
  Wide q = 0;
  if (shift <= 0) {
    q = product == 0 ? 0 : product > 0 ? Wide{1} << 40 : -(Wide{1} << 40);
    if (shift == 0) q = product;
  } else if (shift < 126) {
    q = wide_quotient(product, Wide{1} << shift);
  }
  return wide_code(q, zero, lo, hi);
}
