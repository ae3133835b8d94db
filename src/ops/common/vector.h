// Loops of fast evaluations (interp/eval.h), compiled a second time for machines with
// fused multiply-add instructions. Both forms give the same bits: a fused multiply-add is one
// rounding whether an instruction or the C library computes it.
#pragma once

namespace qc {

#if defined(__GNUC__) && defined(__x86_64__)
#define QC_VECTOR_BODY __attribute__((always_inline))

template <class F>
__attribute__((target("avx2,fma"), noinline)) void with_vector_units(const F& body) {
  body();
}
inline bool has_vector_units() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
}
/// Runs `body`, a lambda marked QC_VECTOR_BODY.
template <class F>
void run_vectorised(const F& body) {
  if (has_vector_units()) {
    with_vector_units(body);
  } else {
    body();
  }
}
#else
#define QC_VECTOR_BODY
template <class F>
void run_vectorised(const F& body) {
  body();
}
#endif

}  // namespace qc
