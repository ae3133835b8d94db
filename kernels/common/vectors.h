/* Vectorised elementwise kernels on a device. A thread computes vectors of E neighbouring elements:
 * 16 bytes of the widest operand or result. The portable body is called for each element. Loads and
 * stores move 16 bytes if elements are contiguous and aligned, else one element. Vectors that cross
 * the end of a row, and the last vector, locate each element separately. Included after launch.h.
 *
 * For a split (kernels/common/units.h) whose units are elements there are
 *   int32_t NAME_advance(const PARAMS* p, int32_t first, const void** in, void** out)
 *       moves operands and results on to element `first`; returns how many from there on lie in one
 *       row, each operand with one step;
 *   int32_t NAME_spans(const PARAMS* p, PARAMS* one, int32_t* bytes, int32_t* steps)
 *       narrows the call in `one` to a single element, and describes the operands of p:
 * bytes[i] is the size of an element of operand i, 0 if all elements read the whole operand;
 * steps[i] is the stride between neighbours of a row. Returns the size of an element of the result.
 */
#ifndef QK_VECTORS_H
#define QK_VECTORS_H

#include <stddef.h>

#if defined(QK_CUDA_ON_HOST)
#define QK_OF_THREAD static inline
#define QK_EVERY
#define QK_FOR_VECTORS(units, E) \
  for (int64_t thread = 0; thread < qk_vector_threads<E>(units); ++thread)
#else
#define QK_OF_THREAD static __device__ __forceinline__
#define QK_EVERY _Pragma("unroll")
#define QK_FOR_VECTORS(units, E) \
  QK_AWAIT_OTHERS                \
  QK_KERNEL_BEGIN                \
  const int64_t thread = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
#endif
/* A function as what a template calls, so that it is inlined. */
#define QK_CALLED(function) [](auto... own) { return function(own...); }

/* Vectors of a thread: what it reads is on its way at once. Threads beside each other have vectors
 * beside each other. */
template <int E>
struct qk_vectors_each {
  enum { value = E < 8 ? 2 : 1 };
};
/* Threads of whole blocks. */
template <int E>
QK_BOTH int64_t qk_vector_threads(int64_t units) {
  const int64_t block = (int64_t)QK_BLOCK_THREADS * E * qk_vectors_each<E>::value;
  return (units + block - 1) / block * QK_BLOCK_THREADS;
}

/* Parameters, some bytes at a time: of more than 128 nvcc makes a loop, in memory. */
template <class P, int AT = 0>
QK_OF_THREAD void qk_copy_parameters(P* to, const P& from) {
  constexpr int left = (int)sizeof(P) - AT, n = left < 64 ? left : 64;
  if constexpr (n > 0) {
    memcpy((unsigned char*)to + AT, (const unsigned char*)&from + AT, n);
    qk_copy_parameters<P, AT + n>(to, from);
  }
}

/* What a thread has of one operand or result of a vector, as words, which stay in registers: memory
 * that is written as words and read as bytes does not. */
template <int E>
struct qk_room {
  uint32_t words[2 * E];
};

template <int B>
QK_OF_THREAD void qk_move_element(void* to, const void* from) {
  memcpy(__builtin_assume_aligned(to, B), __builtin_assume_aligned(from, B), B);
}
/* An element of B bytes as a number, and the other way; all machines that run this are
 * little-endian. */
template <int B>
QK_OF_THREAD uint64_t qk_number(const void* from) {
  uint64_t to = 0;
  qk_move_element<B>(&to, from);
  return to;
}
/* Element e of a room. */
template <int B, int E>
QK_OF_THREAD uint64_t qk_get(const qk_room<E>* from, int e) {
  const uint64_t low = from->words[e * B / 4] >> 8 * (e * B % 4);
  return B < 8 ? low : low | (uint64_t)from->words[e * B / 4 + (B == 8)] << 32;
}
/* Sets it where it is 0. */
template <int B, int E>
QK_OF_THREAD void qk_set(qk_room<E>* to, int e, uint64_t element) {
  to->words[e * B / 4] |= (uint32_t)element << 8 * (e * B % 4);
  if (B == 8) to->words[e * B / 4 + (B == 8)] = (uint32_t)(element >> 32);
}

/* N bytes, aligned to 16 or to N where that is less. */
template <int N>
QK_OF_THREAD void qk_load_words(uint32_t* to, const void* from) {
#if defined(__CUDA_ARCH__)
  QK_EVERY
  for (int i = 0; i < N / 16; ++i) {
    const uint4 own = ((const uint4*)from)[i];
    to[4 * i] = own.x;
    to[4 * i + 1] = own.y;
    to[4 * i + 2] = own.z;
    to[4 * i + 3] = own.w;
  }
  if (N == 8) {
    const uint2 own = *(const uint2*)from;
    to[0] = own.x;
    to[1] = own.y;
  }
  if (N == 4) to[0] = *(const uint32_t*)from;
  if (N == 2) to[0] = *(const uint16_t*)from;
#else
  memcpy(to, from, N);
#endif
}
template <int N>
QK_OF_THREAD void qk_store_words(void* to, const uint32_t* from) {
#if defined(__CUDA_ARCH__)
  QK_EVERY
  for (int i = 0; i < N / 16; ++i)
    ((uint4*)to)[i] = make_uint4(from[4 * i], from[4 * i + 1], from[4 * i + 2], from[4 * i + 3]);
  if (N == 8) *(uint2*)to = make_uint2(from[0], from[1]);
  if (N == 4) *(uint32_t*)to = from[0];
  if (N == 2) *(uint16_t*)to = (uint16_t)from[0];
#else
  memcpy(to, from, N);
#endif
}

/* E elements of B bytes, `step` elements from each other, into a room. */
template <int B, int E>
QK_OF_THREAD void qk_bring_as(qk_room<E>* to, const unsigned char* from, int32_t step) {
  const int N = E * B;
  QK_EVERY
  for (int i = 0; i < 2 * E; ++i) to->words[i] = 0;
  if (step == 1 && (uintptr_t)from % (N < 16 ? N : 16) == 0) {
    qk_load_words<N>(to->words, from);
    return;
  }
  QK_EVERY
  for (int e = 0; e < E; ++e) qk_set<B>(to, e, qk_number<B>(from + (ptrdiff_t)e * step * B));
}
template <int E>
QK_OF_THREAD void qk_bring(qk_room<E>* to, const void* from, int32_t bytes, int32_t step) {
  const unsigned char* const at = (const unsigned char*)from;
  if (bytes == 1) qk_bring_as<1>(to, at, step);
  if (bytes == 2) qk_bring_as<2>(to, at, step);
  if (bytes == 4) qk_bring_as<4>(to, at, step);
  if (bytes == 8) qk_bring_as<8>(to, at, step);
}
/* The elements of a room to where they lie side by side. */
template <int B, int E>
QK_OF_THREAD void qk_put_as(unsigned char* to, const qk_room<E>* from) {
  const int N = E * B;
  if ((uintptr_t)to % (N < 16 ? N : 16) == 0) {
    qk_store_words<N>(to, from->words);
    return;
  }
  QK_EVERY
  for (int e = 0; e < E; ++e) {
    const uint64_t own = qk_get<B>(from, e);
    qk_move_element<B>(to + e * B, &own);
  }
}
template <int E>
QK_OF_THREAD void qk_put(void* to, const qk_room<E>* from, int32_t bytes) {
  if (bytes == 1) qk_put_as<1>((unsigned char*)to, from);
  if (bytes == 2) qk_put_as<2>((unsigned char*)to, from);
  if (bytes == 4) qk_put_as<4>((unsigned char*)to, from);
  if (bytes == 8) qk_put_as<8>((unsigned char*)to, from);
}

/* One element, where a body finds it. */
struct qk_element {
  alignas(8) unsigned char at[8];
};
template <int E>
QK_OF_THREAD void qk_take(qk_element* to, const qk_room<E>* from, int e, int32_t bytes) {
  const uint64_t own = bytes == 1   ? qk_get<1>(from, e)
                       : bytes == 2 ? qk_get<2>(from, e)
                       : bytes == 4 ? qk_get<4>(from, e)
                                    : qk_get<8>(from, e);
  if (bytes == 1) qk_move_element<1>(to->at, &own);
  if (bytes == 2) qk_move_element<2>(to->at, &own);
  if (bytes == 4) qk_move_element<4>(to->at, &own);
  if (bytes == 8) qk_move_element<8>(to->at, &own);
}
template <int E>
QK_OF_THREAD void qk_keep(qk_room<E>* to, const qk_element* from, int e, int32_t bytes) {
  if (bytes == 1) qk_set<1>(to, e, qk_number<1>(from->at));
  if (bytes == 2) qk_set<2>(to, e, qk_number<2>(from->at));
  if (bytes == 4) qk_set<4>(to, e, qk_number<4>(from->at));
  if (bytes == 8) qk_set<8>(to, e, qk_number<8>(from->at));
}

/* A vector: its first element, where that lies, and the operands of all elements. */
template <int E, int INS>
struct qk_vector {
  int64_t first;
  bool whole; /* not over the end of a row or of the call */
  const void* in[INS];
  void* out[1];
  qk_room<E> own[INS];
};

/* Elements [first, last), found one by one; `one` is the call of a single one. */
template <int INS, class P, class Advance, class Body>
QK_OF_THREAD void qk_each_element(int64_t first, int64_t last, const P& p, const P& one,
                                  const void* const* in, void* const* out, Advance advance,
                                  Body body) {
  for (int64_t i = first; i < last; ++i) {
    const void* from[INS];
    void* to[1] = {out[0]};
    QK_EVERY
    for (int k = 0; k < INS; ++k) from[k] = in[k];
    (void)advance(&p, (int32_t)i, (const void**)from, (void**)to);
    body(&one, (const void* const*)from, (void* const*)to);
  }
}
template <int E, int INS, class P, class Advance>
QK_OF_THREAD void qk_find_vector(qk_vector<E, INS>* vector, int64_t units, const P& p,
                                 const void* const* in, void* const* out, Advance advance) {
  vector->whole = vector->first + E <= units;
  if (!vector->whole) return;
  vector->out[0] = out[0];
  QK_EVERY
  for (int i = 0; i < INS; ++i) vector->in[i] = in[i];
  vector->whole =
      advance(&p, (int32_t)vector->first, (const void**)vector->in, (void**)vector->out) >= E;
}

/* The results of elements FIRST to E - 1 of a vector. No loop, which compilers would unroll too
 * late to keep rooms in registers. */
template <int FIRST, int E, int INS, class P, class Spans, class Body>
QK_OF_THREAD void qk_vector_elements(qk_room<E>* y, const qk_vector<E, INS>* vector, const P& p,
                                     const void* const* in, Spans spans, Body body) {
  if constexpr (FIRST < E) {
    P one;
    qk_copy_parameters(&one, p);
    int32_t bytes[INS] = {0}, steps[INS] = {0};
    const int32_t size = spans(&p, &one, (int32_t*)bytes, (int32_t*)steps);
    qk_element own[INS], result;
    const void* from[INS];
    void* to[1] = {result.at};
    QK_EVERY
    for (int i = 0; i < INS; ++i) {
      const bool brought = bytes[i] && in[i];
      if (brought) qk_take<E>(&own[i], &vector->own[i], FIRST, bytes[i]);
      from[i] = brought ? own[i].at : vector->in[i];
    }
    body(&one, (const void* const*)from, (void* const*)to);
    qk_keep<E>(y, &result, FIRST, size);
    qk_vector_elements<FIRST + 1, E, INS>(y, vector, p, in, spans, body);
  }
}

/* What one thread does of a call of so many elements. */
template <int E, int INS, class P, class Spans, class Advance, class Body>
QK_OF_THREAD void qk_vectors(int64_t thread, int64_t units, const P& p,
                             const void* const (&in)[INS], void* const (&out)[1], Spans spans,
                             Advance advance, Body body) {
  constexpr int each = qk_vectors_each<E>::value;
  int32_t bytes[INS] = {0}, steps[INS] = {0};
  P one;
  qk_copy_parameters(&one, p);
  const int32_t size = spans(&p, &one, (int32_t*)bytes, (int32_t*)steps);
  qk_vector<E, INS> vectors[each];
  QK_EVERY
  for (int k = 0; k < each; ++k) {
    const int64_t block = thread / QK_BLOCK_THREADS * each + k;
    vectors[k].first = (block * QK_BLOCK_THREADS + thread % QK_BLOCK_THREADS) * E;
    qk_find_vector<E, INS>(&vectors[k], units, p, in, out, advance);
    if (!vectors[k].whole) continue;
    QK_EVERY
    for (int i = 0; i < INS; ++i) {
      if (in[i]) qk_bring<E>(&vectors[k].own[i], vectors[k].in[i], bytes[i], steps[i]);
    }
  }
  QK_EVERY
  for (int k = 0; k < each; ++k) {
    const int64_t end = vectors[k].first + E;
    if (!vectors[k].whole) {
      qk_each_element<INS>(vectors[k].first, end < units ? end : units, p, one, in, out, advance,
                           body);
      continue;
    }
    qk_room<E> y = {{0}};
    qk_vector_elements<0, E, INS>(&y, &vectors[k], p, in, spans, body);
    qk_put<E>(vectors[k].out[0], &y, size);
  }
}

/* Starts a kernel that computes so many elements in vectors. */
template <int E, class... P>
static cudaError_t qk_launch_vectors(const qk_queue* queue, void (*kernel)(int64_t, P...),
                                     int64_t units, typename qk_as<P>::type... args) {
  return qk_start(queue, kernel, qk_vector_threads<E>(units) / QK_BLOCK_THREADS, 0, units, args...);
}

#endif
