/* Launches, and calls of the CUDA runtime, for generated CUDA C++. With QK_CUDA_ON_HOST the same
 * text is plain C++: functions of the same names stand in for the runtime, the device's memory is
 * the host's, and the threads of a launch run one after another. */
#ifndef QK_LAUNCH_H
#define QK_LAUNCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if !defined(QK_CUDA_ON_HOST)

#include <cuda_runtime.h>

#define QK_GLOBAL static __global__ void __launch_bounds__(256)
/* One of whose blocks so many are to share a multiprocessor. */
#define QK_GLOBAL_OF(blocks) static __global__ void __launch_bounds__(256, blocks)
#define QK_BOTH [[maybe_unused]] static __host__ __device__ inline
#define QK_MEMBER __host__ __device__
/* Waits for the kernels before, where this one was launched while they run. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define QK_AWAIT_OTHERS cudaGridDependencySynchronize();
#else
#define QK_AWAIT_OTHERS
#endif
/* Code for GPUs from a compute capability on is empty in what is compiled for older ones. */
#if defined(__CUDA_ARCH__)
#define QK_ARCH_FROM(capability) (__CUDA_ARCH__ >= (capability)*10)
#else
#define QK_ARCH_FROM(capability) 1
#endif
/* What every kernel does first: a test may make them fail. */
#if !defined(QK_KERNEL_BEGIN)
#define QK_KERNEL_BEGIN
#endif
/* An optional operand that is there: compilers then leave out what would be without it. */
#if defined(__CUDA_ARCH__)
#define QK_PRESENT(operand) __builtin_assume((operand) != nullptr);
#else
#define QK_PRESENT(operand)
#endif
#define QK_FOR_UNIT(units)                                             \
  QK_AWAIT_OTHERS                                                      \
  QK_KERNEL_BEGIN                                                      \
  const int64_t unit = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; \
  if (unit < (units))
#define QK_FOR_BLOCK(units)        \
  QK_AWAIT_OTHERS                  \
  QK_KERNEL_BEGIN                  \
  const int64_t unit = blockIdx.x; \
  if (unit < (units))

#else

#define QK_GLOBAL static __attribute__((noinline)) void
#define QK_GLOBAL_OF(blocks) QK_GLOBAL
#define QK_BOTH static inline
#define QK_MEMBER
#define QK_FOR_UNIT(units) for (int64_t unit = 0; unit < (units); ++unit)
#define QK_FOR_BLOCK QK_FOR_UNIT
#define QK_PRESENT(operand)
#define QK_ARCH_FROM(capability) 1

/* What a call of the runtime returns: a test may make calls fail. */
#if !defined(QK_HOST_STATUS)
#define QK_HOST_STATUS(call) cudaSuccess
#endif
#if !defined(QK_HOST_DEVICES)
#define QK_HOST_DEVICES 1
#endif
/* The compute capability of all devices; 9.0 is 90. */
#if !defined(QK_HOST_CAPABILITY)
#define QK_HOST_CAPABILITY 90
#endif
/* What the code was compiled for: older code runs on newer devices, too. */
#if !defined(QK_HOST_COMPILED)
#define QK_HOST_COMPILED QK_HOST_CAPABILITY
#endif

typedef enum cudaError {
  cudaSuccess = 0,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidDevice = 101,
  cudaErrorStreamCaptureUnsupported = 900
} cudaError_t;
typedef enum {
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3
} cudaMemcpyKind;
typedef struct qk_host_stream* cudaStream_t;
typedef struct qk_host_graph* cudaGraphExec_t;
typedef struct timespec* cudaEvent_t;
enum { cudaStreamNonBlocking = 1 };

static inline const char* cudaGetErrorName(cudaError_t status) {
  return status == cudaErrorMemoryAllocation           ? "cudaErrorMemoryAllocation"
         : status == cudaErrorInvalidDevice            ? "cudaErrorInvalidDevice"
         : status == cudaErrorStreamCaptureUnsupported ? "cudaErrorStreamCaptureUnsupported"
                                                       : "cudaError";
}
static inline const char* cudaGetErrorString(cudaError_t status) {
  return status == cudaErrorMemoryAllocation ? "out of memory"
         : status == cudaErrorInvalidDevice  ? "invalid device ordinal"
         : status == cudaErrorStreamCaptureUnsupported
             ? "operation not permitted when stream is capturing"
             : "failed on request";
}
static inline cudaError_t cudaGetLastError(void) { return cudaSuccess; }
/* Whether a graph is being made of what is put into streams: nothing of that is done then, and
 * nobody may wait for it. */
static thread_local int qk_host_capturing = 0;
static thread_local int qk_host_device = 0; /* the current one */
static inline cudaError_t cudaGetDevice(int* device) {
  *device = qk_host_device;
  return QK_HOST_STATUS("cudaGetDevice");
}
static inline cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= QK_HOST_DEVICES) return cudaErrorInvalidDevice;
  const cudaError_t status = QK_HOST_STATUS("cudaSetDevice");
  if (status == cudaSuccess) qk_host_device = device;
  return status;
}
static inline cudaError_t cudaMalloc(unsigned char** to, size_t bytes) {
  const cudaError_t status = QK_HOST_STATUS("cudaMalloc");
  *to = status == cudaSuccess ? (unsigned char*)aligned_alloc(256, (bytes + 255) / 256 * 256) : 0;
  return status == cudaSuccess && !*to ? cudaErrorMemoryAllocation : status;
}
static inline cudaError_t cudaFree(void* from) {
  free(from);
  return cudaSuccess;
}
static inline cudaError_t cudaMallocHost(unsigned char** to, size_t bytes) {
  const cudaError_t status = QK_HOST_STATUS("cudaMallocHost");
  *to = status == cudaSuccess ? (unsigned char*)aligned_alloc(256, (bytes + 255) / 256 * 256) : 0;
  return status == cudaSuccess && !*to ? cudaErrorMemoryAllocation : status;
}
static inline cudaError_t cudaFreeHost(void* from) {
  free(from);
  return cudaSuccess;
}
static inline cudaError_t cudaLaunchHostFunc(cudaStream_t, void (*function)(void*), void* data) {
  const cudaError_t status = QK_HOST_STATUS("cudaLaunchHostFunc");
  if (status == cudaSuccess && !qk_host_capturing) function(data);
  return status;
}
static inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* to, unsigned) {
  *to = 0;
  return QK_HOST_STATUS("cudaStreamCreateWithFlags");
}
static inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
static inline cudaError_t cudaStreamSynchronize(cudaStream_t) {
  if (qk_host_capturing) return cudaErrorStreamCaptureUnsupported;
  return QK_HOST_STATUS("cudaStreamSynchronize");
}
static inline cudaError_t cudaEventCreate(cudaEvent_t* to) {
  const cudaError_t status = QK_HOST_STATUS("cudaEventCreate");
  *to = status == cudaSuccess ? (cudaEvent_t)calloc(1, sizeof(struct timespec)) : 0;
  return status == cudaSuccess && !*to ? cudaErrorMemoryAllocation : status;
}
static inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
  free(event);
  return cudaSuccess;
}
static inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  timespec_get(event, TIME_UTC);
  return QK_HOST_STATUS("cudaEventRecord");
}
static inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
static inline cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t from, cudaEvent_t to) {
  *ms = (float)(to->tv_sec - from->tv_sec) * 1e3f + (float)(to->tv_nsec - from->tv_nsec) * 1e-6f;
  return cudaSuccess;
}
static inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                                          cudaStream_t) {
  const cudaError_t status = QK_HOST_STATUS("cudaMemcpyAsync");
  if (status == cudaSuccess && !qk_host_capturing) memcpy(to, from, bytes);
  return status;
}

#endif

struct qk_profile;
/* Where work goes; with `check` every launch is waited for, so that a fault in a kernel is reported
 * with the kernel's name. With `overlap` a kernel is set up while the one before it still runs.
 * With a profile the time of every step is measured. */
typedef struct qk_queue {
  cudaStream_t stream;
  int check, overlap;
  qk_profile* profile;
} qk_queue;

/* A pointer to whatever a body takes: C converts void pointers by itself. */
struct qk_pointer {
  void* at;
  QK_MEMBER qk_pointer(const void* to) : at((void*)to) {}
  template <class T>
  QK_MEMBER operator T*() const {
    return (T*)at;
  }
};

template <class T>
struct qk_as {
  typedef T type;
};

#define QK_BLOCK_THREADS 256

/* Starts `blocks` blocks of a kernel that computes `units` units, each with so many bytes of shared
 * memory. */
template <class... P>
static cudaError_t qk_start(const qk_queue* queue, void (*kernel)(int64_t, P...), int64_t blocks,
                            int32_t shared, int64_t units, typename qk_as<P>::type... args) {
  if (units == 0) return cudaSuccess;
#if defined(QK_CUDA_ON_HOST)
  (void)blocks;
  (void)shared;
  if (!qk_host_capturing) kernel(units, args...);
  const cudaError_t status = QK_HOST_STATUS("launch");
#else
  void* list[] = {(void*)&units, (void*)&args...};
  if (shared > 48 * 1024) {
    const cudaError_t more = cudaFuncSetAttribute(
        (const void*)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
    if (more != cudaSuccess) return more;
  }
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute overlap = {};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  config.gridDim = dim3((unsigned)blocks);
  config.blockDim = dim3(QK_BLOCK_THREADS);
  config.dynamicSmemBytes = (size_t)shared;
  config.stream = queue->stream;
  config.attrs = &overlap;
  config.numAttrs = queue->overlap ? 1 : 0;
  const cudaError_t status = cudaLaunchKernelExC(&config, (const void*)kernel, list);
#endif
  return status == cudaSuccess && queue->check ? cudaStreamSynchronize(queue->stream) : status;
}
/* A thread for each unit. */
template <class... P>
static cudaError_t qk_launch(const qk_queue* queue, void (*kernel)(int64_t, P...), int64_t units,
                             typename qk_as<P>::type... args) {
  return qk_start(queue, kernel, (units + QK_BLOCK_THREADS - 1) / QK_BLOCK_THREADS, 0, units,
                  args...);
}
/* A block of threads for each unit. */
template <class... P>
static cudaError_t qk_launch_blocks(const qk_queue* queue, void (*kernel)(int64_t, P...),
                                    int32_t shared, int64_t units,
                                    typename qk_as<P>::type... args) {
  return qk_start(queue, kernel, units, shared, units, args...);
}

/* Writes what failed: the call, the kernel and the layer it was for where there are any. The
 * runtime forgets the error, so that nobody else finds it. */
static inline void qk_describe(char* text, size_t size, cudaError_t status, const char* call,
                               const char* kernel, const char* layer) {
  snprintf(text, size, "%s%s%s%s%s%s failed: %s (%s)", call, *kernel ? " of kernel " : "", kernel,
           *layer ? " for layer '" : "", layer, *layer ? "'" : "", cudaGetErrorString(status),
           cudaGetErrorName(status));
  (void)cudaGetLastError();
}

#endif
