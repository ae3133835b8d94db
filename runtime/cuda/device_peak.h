/* What a GPU can do at most, measured: products of codes by the instruction that kernels for it
 * use, fused products of floats, bytes that a copy reads and writes. A file of its own with
 * launch.h in front; without CUDA the same loops are the host's. */
#ifndef QK_DEVICE_PEAK_H
#define QK_DEVICE_PEAK_H

enum { QK_PEAK_ROUNDS = 2048, QK_PEAK_CHAINS = 8 };

/* A step of a chain: one product of codes, a tile of a warp's, or four sums of four products. */
#if defined(QK_CUDA_ON_HOST)
typedef int32_t qk_peak_codes;
static inline void qk_peak_code_step(qk_peak_codes* c, int32_t x) { *c += x * (*c | 1); }
static inline void qk_peak_float_step(float* c, float x) { *c = *c * x + x; }
#else
typedef struct qk_peak_codes {
  int32_t at[4];
} qk_peak_codes;
static __device__ inline void qk_peak_code_step(qk_peak_codes* c, int32_t x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, "
      "{%4, %4}, {%0, %1, %2, %3};"
      : "+r"(c->at[0]), "+r"(c->at[1]), "+r"(c->at[2]), "+r"(c->at[3])
      : "r"(x));
#else
  for (int i = 0; i < 4; ++i) c->at[i] = __dp4a(x, x, c->at[i]);
#endif
}
static __device__ inline void qk_peak_float_step(float* c, float x) { *c = __fmaf_rn(*c, x, x); }
#endif

/* Chains that do not wait for each other. Their sums are 0, which no compiler knows, so that it
 * computes them and nothing is stored. */
QK_GLOBAL qk_peak_code_kernel(int64_t units, int32_t x, int32_t* sink) {
  QK_FOR_UNIT(units) {
    qk_peak_codes c[QK_PEAK_CHAINS] = {};
#if !defined(QK_CUDA_ON_HOST)
#pragma unroll 8
#endif
    for (int round = 0; round < QK_PEAK_ROUNDS; ++round) {
      for (int i = 0; i < QK_PEAK_CHAINS; ++i) qk_peak_code_step(&c[i], x);
    }
    int32_t all = 0;
    const int32_t* const sums = (const int32_t*)c;
    for (unsigned i = 0; i < sizeof c / sizeof all; ++i) all |= sums[i];
    if (all != 0) *sink = all;
  }
}
QK_GLOBAL qk_peak_float_kernel(int64_t units, float x, int32_t* sink) {
  QK_FOR_UNIT(units) {
    float c[QK_PEAK_CHAINS] = {};
#if !defined(QK_CUDA_ON_HOST)
#pragma unroll 8
#endif
    for (int round = 0; round < QK_PEAK_ROUNDS; ++round) {
      for (int i = 0; i < QK_PEAK_CHAINS; ++i) qk_peak_float_step(&c[i], x);
    }
    float all = 0;
    for (int i = 0; i < QK_PEAK_CHAINS; ++i) all += c[i];
    if (all != 0) *sink = 1;
  }
}

#if defined(QK_PEAK_WGMMA) && !defined(QK_CUDA_ON_HOST)
/* The same by instructions of sm_90a: four warps multiply 64 rows by 64 columns of 32 codes, which
 * are 0, in shared memory. */
enum { QK_PEAK_TILE = 64 * 64 * 32 / 128 }; /* products of a thread */
#define QK_PEAK_8(c, i)                                                                       \
  "+r"(c[i]), "+r"(c[i + 1]), "+r"(c[i + 2]), "+r"(c[i + 3]), "+r"(c[i + 4]), "+r"(c[i + 5]), \
      "+r"(c[i + 6]), "+r"(c[i + 7])
QK_GLOBAL qk_peak_tile_kernel(int64_t units, int32_t x, int32_t* sink) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  __shared__ __align__(1024) int32_t codes[2048];
  for (int i = (int)threadIdx.x; i < 2048; i += QK_BLOCK_THREADS) codes[i] = x;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  /* Rows of 128 bytes, of which eight make a group. */
  const uint64_t at = (uint64_t)__cvta_generic_to_shared(codes) >> 4 | (uint64_t)1 << 16 |
                      (uint64_t)64 << 32 | (uint64_t)1 << 62;
  int32_t c[32] = {};
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  for (int round = 0; round < QK_PEAK_ROUNDS; ++round) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.eq.b32 p, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, "
        "%10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, "
        "%28, %29, %30, %31}, %32, %32, p;\n}"
        : QK_PEAK_8(c, 0), QK_PEAK_8(c, 8), QK_PEAK_8(c, 16), QK_PEAK_8(c, 24)
        : "l"(at));
  }
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
  int32_t all = 0;
  for (int i = 0; i < 32; ++i) all |= c[i];
  if (all != 0) *sink = all;
#endif
  (void)units;
}
#endif

/* What is measured, and the memory it takes. */
typedef struct qk_peak_work {
  qk_queue queue;
  cudaEvent_t first, last;
  unsigned char *from, *to;
  int64_t bytes, threads;
} qk_peak_work;

enum { QK_PEAK_CODES, QK_PEAK_FLOATS, QK_PEAK_COPY };

static volatile int32_t qk_peak_zero = 0;

static cudaError_t qk_peak_start(const qk_peak_work* w, int what) {
  const int32_t zero = qk_peak_zero;
#if defined(QK_PEAK_WGMMA) && !defined(QK_CUDA_ON_HOST)
  if (what == QK_PEAK_CODES)
    return qk_launch(&w->queue, qk_peak_tile_kernel, w->threads, zero, (int32_t*)w->to);
#endif
  if (what == QK_PEAK_CODES)
    return qk_launch(&w->queue, qk_peak_code_kernel, w->threads, zero, (int32_t*)w->to);
  if (what == QK_PEAK_FLOATS)
    return qk_launch(&w->queue, qk_peak_float_kernel, w->threads, (float)zero, (int32_t*)w->to);
  return cudaMemcpyAsync(w->to, w->from, (size_t)w->bytes, cudaMemcpyDeviceToDevice,
                         w->queue.stream);
}

/* The least seconds of several tries. */
static cudaError_t qk_peak_seconds(const qk_peak_work* w, int what, double* seconds) {
  enum { TRIES = 10 };
  cudaError_t status = cudaSuccess;
  for (int i = -2; i < TRIES && status == cudaSuccess; ++i) {
    float ms = 0;
    status = cudaEventRecord(w->first, w->queue.stream);
    if (status == cudaSuccess) status = qk_peak_start(w, what);
    if (status == cudaSuccess) status = cudaEventRecord(w->last, w->queue.stream);
    if (status == cudaSuccess) status = cudaEventSynchronize(w->last);
    if (status == cudaSuccess) status = cudaEventElapsedTime(&ms, w->first, w->last);
    if (i <= 0 || (double)ms * 1e-3 < *seconds) *seconds = (double)ms * 1e-3;
  }
  return status;
}

/* Threads that fill the device, and products of codes that each computes in a step. */
static cudaError_t qk_peak_device(int64_t* threads, int* products, int* capability) {
#if defined(QK_CUDA_ON_HOST)
  *threads = 64;
  *products = 1;
  *capability = 0;
  return cudaSuccess;
#else
  int device = 0, processors = 0, major = 0, minor = 0;
  cudaFuncAttributes own = {};
  cudaError_t status = cudaGetDevice(&device);
  if (status == cudaSuccess)
    status = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  if (status == cudaSuccess)
    status = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  if (status == cudaSuccess)
    status = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  if (status == cudaSuccess) status = cudaFuncGetAttributes(&own, (const void*)qk_peak_code_kernel);
  *threads = (int64_t)processors * 4 * QK_BLOCK_THREADS;
  *products = own.ptxVersion >= 80 ? 16 * 8 * 32 / 32 : 16; /* of a warp's tile, or four dp4a */
  *capability = 10 * major + minor;
  return status;
#endif
}

/* Billions a second of products of codes and of floats, and of bytes that a copy reads and writes;
 * the capability is 0 without CUDA. Returns NULL or what failed. */
extern "C" const char* qk_device_peak(double* codes, double* floats, double* bytes,
                                      int* tensor_cores, int* capability) {
  qk_peak_work w = {};
  int products = 0;
  double seconds[3] = {};
  cudaError_t status = qk_peak_device(&w.threads, &products, capability);
  w.bytes = (int64_t)(*capability ? 512 : 32) << 20;
  if (status == cudaSuccess) status = cudaMalloc(&w.from, (size_t)w.bytes);
  if (status == cudaSuccess) status = cudaMalloc(&w.to, (size_t)w.bytes);
  if (status == cudaSuccess) status = cudaEventCreate(&w.first);
  if (status == cudaSuccess) status = cudaEventCreate(&w.last);
#if defined(QK_CUDA_ON_HOST) /* pages that were never written to are all one */
  if (status == cudaSuccess) memset(w.from, 1, (size_t)w.bytes);
#endif
  for (int what = 0; what < 3 && status == cudaSuccess; ++what)
    status = qk_peak_seconds(&w, what, &seconds[what]);
  const double steps = 1e-9 * (double)(w.threads * QK_PEAK_ROUNDS * QK_PEAK_CHAINS);
#if defined(QK_PEAK_WGMMA) && !defined(QK_CUDA_ON_HOST)
  *codes = 1e-9 * (double)(w.threads * QK_PEAK_ROUNDS * QK_PEAK_TILE) / seconds[QK_PEAK_CODES];
#else
  *codes = steps * products / seconds[QK_PEAK_CODES];
#endif
  *floats = steps / seconds[QK_PEAK_FLOATS];
  *bytes = 2e-9 * (double)w.bytes / seconds[QK_PEAK_COPY];
  *tensor_cores = products > 16;
  if (w.first) (void)cudaEventDestroy(w.first);
  if (w.last) (void)cudaEventDestroy(w.last);
  (void)cudaFree(w.from);
  (void)cudaFree(w.to);
  static char text[160];
  if (status == cudaSuccess) return NULL;
  qk_describe(text, sizeof text, status, "measuring the limits", "", "");
  return text;
}

#endif
