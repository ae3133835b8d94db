/* How the launches of a run reach the device: one after another, or all at once as a CUDA graph.
 * Graphs are kept in a cache, those that were used last. Included after launch.h. */
#ifndef QK_DEPLOY_H
#define QK_DEPLOY_H

enum { QK_BALANCED, QK_CONSERVATIVE, QK_AGGRESSIVE, QK_AUTO };

/* Launches all kernels of a run; returns a code of the caller's, 0 where all went well. */
typedef int (*qk_kernels)(void* handle, const qk_queue* queue);

#if defined(QK_CUDA_ON_HOST)

/* A graph is a byte of memory, so that one that is not given back is found. */
static inline cudaError_t qk_capture(cudaGraphExec_t* graph, const qk_queue* queue, void* handle,
                                     qk_kernels kernels, int* code, const char** call) {
  *graph = NULL;
  qk_host_capturing = 1;
  *code = kernels(handle, queue);
  qk_host_capturing = 0;
  if (*code != 0) return cudaSuccess;
  *call = "cudaGraphInstantiate";
  const cudaError_t status = QK_HOST_STATUS("cudaGraphInstantiate");
  if (status == cudaSuccess) *graph = (cudaGraphExec_t)malloc(1);
  return status == cudaSuccess && !*graph ? cudaErrorMemoryAllocation : status;
}
static inline cudaError_t qk_run_graph(cudaGraphExec_t, const qk_queue* queue, void* handle,
                                       qk_kernels kernels, int* code) {
  *code = kernels(handle, queue);
  return QK_HOST_STATUS("cudaGraphLaunch");
}
static inline void qk_forget(cudaGraphExec_t graph) { free(graph); }
static inline cudaError_t qk_is_capturing(cudaStream_t, int* capturing) {
  *capturing = qk_host_capturing;
  return QK_HOST_STATUS("cudaStreamIsCapturing");
}
static inline cudaError_t qk_capability(int, int* capability) {
  *capability = QK_HOST_CAPABILITY;
  return QK_HOST_STATUS("cudaDeviceGetAttribute");
}
static inline cudaError_t qk_compiled_for(int* capability) {
  *capability = QK_HOST_COMPILED;
  return QK_HOST_STATUS("cudaFuncGetAttributes");
}

#else

/* Makes the graph of the kernels, for which nobody may wait: `queue` does not check. `call` is the
 * one that failed. */
static inline cudaError_t qk_capture(cudaGraphExec_t* made, const qk_queue* queue, void* handle,
                                     qk_kernels kernels, int* code, const char** call) {
  cudaGraph_t graph = NULL;
  *made = NULL;
  *call = "cudaStreamBeginCapture";
  cudaError_t status = cudaStreamBeginCapture(queue->stream, cudaStreamCaptureModeThreadLocal);
  if (status != cudaSuccess) return status;
  *code = kernels(handle, queue);
  *call = "cudaStreamEndCapture";
  status = cudaStreamEndCapture(queue->stream, &graph);
  if (status == cudaSuccess && *code == 0) {
    *call = "cudaGraphInstantiate";
    status = cudaGraphInstantiate(made, graph, 0);
  }
  if (graph) (void)cudaGraphDestroy(graph);
  return *code == 0 ? status : cudaSuccess;
}
static inline cudaError_t qk_run_graph(cudaGraphExec_t graph, const qk_queue* queue, void*,
                                       qk_kernels, int* code) {
  *code = 0;
  return cudaGraphLaunch(graph, queue->stream);
}
/* One that still runs is given back by the runtime when it is done. */
static inline void qk_forget(cudaGraphExec_t graph) {
  if (graph) (void)cudaGraphExecDestroy(graph);
}
static inline cudaError_t qk_is_capturing(cudaStream_t stream, int* capturing) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaError_t asked = cudaStreamIsCapturing(stream, &status);
  *capturing = status != cudaStreamCaptureStatusNone;
  return asked;
}
/* Compute capability 9.0 is 90. */
static inline cudaError_t qk_capability(int device, int* capability) {
  int major = 0, minor = 0;
  cudaError_t status = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  if (status == cudaSuccess)
    status = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  *capability = 10 * major + minor;
  return status;
}
static __global__ void qk_compiled(void) {}
/* The capability that this file's kernels were compiled for, which may be older than the device:
 * what they are depends on it (__CUDA_ARCH__). */
static inline cudaError_t qk_compiled_for(int* capability) {
  cudaFuncAttributes own = {};
  const cudaError_t status = cudaFuncGetAttributes(&own, (const void*)qk_compiled);
  *capability = own.ptxVersion;
  return status;
}

#endif

/* Times of one run, in microseconds. */
typedef struct qk_times {
  double host, device;
} qk_times;

static inline double qk_now(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* Measures `runs` runs, by the graph where there is one: what the host takes to start one, and the
 * device to finish it. */
static inline cudaError_t qk_measure(cudaGraphExec_t graph, const qk_queue* queue, void* handle,
                                     qk_kernels kernels, int runs, qk_times* times, int* code) {
  cudaEvent_t first = NULL, last = NULL;
  float ms = 0;
  cudaError_t status = cudaEventCreate(&first);
  if (status == cudaSuccess) status = cudaEventCreate(&last);
  double begin = 0, end = 0;
  for (int i = -2; i < runs && status == cudaSuccess && *code == 0; ++i) {
    if (i == 0) status = cudaStreamSynchronize(queue->stream);
    if (i == 0 && status == cudaSuccess) status = cudaEventRecord(first, queue->stream);
    if (i == 0) begin = qk_now();
    if (status != cudaSuccess) break;
    if (graph) {
      status = qk_run_graph(graph, queue, handle, kernels, code);
    } else {
      *code = kernels(handle, queue);
    }
  }
  end = qk_now();
  if (status == cudaSuccess && *code == 0) status = cudaEventRecord(last, queue->stream);
  if (status == cudaSuccess && *code == 0) status = cudaEventSynchronize(last);
  if (status == cudaSuccess && *code == 0) status = cudaEventElapsedTime(&ms, first, last);
  if (first) (void)cudaEventDestroy(first);
  if (last) (void)cudaEventDestroy(last);
  times->host = (end - begin) / runs;
  times->device = (double)ms * 1e3 / runs;
  return status;
}

#endif
