/* How the launches of a run reach the device: one after another, or all at once as a CUDA graph.
 * Included after launch.h. */
#ifndef QK_DEPLOY_H
#define QK_DEPLOY_H

enum { QK_BALANCED, QK_CONSERVATIVE, QK_AGGRESSIVE, QK_AUTO };

typedef struct qk_deployment {
  int strategy; /* one of the above; QK_AUTO until it is decided */
  int ready;    /* the graph is there */
  cudaGraphExec_t graph;
} qk_deployment;

/* Launches all kernels of a run; returns a code of the caller's, 0 where all went well. */
typedef int (*qk_kernels)(void* handle, const qk_queue* queue);

#if defined(QK_CUDA_ON_HOST)

static inline cudaError_t qk_capture(qk_deployment* d, const qk_queue*, void*, qk_kernels, int*,
                                     const char** call) {
  *call = "cudaGraphInstantiate";
  const cudaError_t status = QK_HOST_STATUS("cudaGraphInstantiate");
  d->ready = status == cudaSuccess;
  return status;
}
static inline cudaError_t qk_run_graph(const qk_deployment*, const qk_queue* queue, void* handle,
                                       qk_kernels kernels, int* code) {
  *code = kernels(handle, queue);
  return QK_HOST_STATUS("cudaGraphLaunch");
}
static inline void qk_forget(qk_deployment* d) { d->ready = 0; }
static inline cudaError_t qk_is_capturing(cudaStream_t, int* capturing) {
  *capturing = 0;
  return cudaSuccess;
}
static inline cudaError_t qk_can_overlap(int, int* overlap) {
  *overlap = 0;
  return cudaSuccess;
}

#else

/* Makes the graph of the kernels; `call` is the one that failed. */
static inline cudaError_t qk_capture(qk_deployment* d, const qk_queue* queue, void* handle,
                                     qk_kernels kernels, int* code, const char** call) {
  cudaGraph_t graph = NULL;
  *call = "cudaStreamBeginCapture";
  cudaError_t status = cudaStreamBeginCapture(queue->stream, cudaStreamCaptureModeThreadLocal);
  if (status != cudaSuccess) return status;
  *code = kernels(handle, queue);
  *call = "cudaStreamEndCapture";
  status = cudaStreamEndCapture(queue->stream, &graph);
  if (status == cudaSuccess && *code == 0) {
    *call = "cudaGraphInstantiate";
    status = cudaGraphInstantiate(&d->graph, graph, 0);
    d->ready = status == cudaSuccess;
  }
  if (graph) (void)cudaGraphDestroy(graph);
  return *code == 0 ? status : cudaSuccess;
}
static inline cudaError_t qk_run_graph(const qk_deployment* d, const qk_queue* queue, void*,
                                       qk_kernels, int* code) {
  *code = 0;
  return cudaGraphLaunch(d->graph, queue->stream);
}
static inline void qk_forget(qk_deployment* d) {
  if (d->ready) (void)cudaGraphExecDestroy(d->graph);
  d->ready = 0;
}
static inline cudaError_t qk_is_capturing(cudaStream_t stream, int* capturing) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaError_t asked = cudaStreamIsCapturing(stream, &status);
  *capturing = status != cudaStreamCaptureStatusNone;
  return asked;
}
static inline cudaError_t qk_can_overlap(int device, int* overlap) {
  int generation = 0;
  const cudaError_t status =
      cudaDeviceGetAttribute(&generation, cudaDevAttrComputeCapabilityMajor, device);
  *overlap = generation >= 9;
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

/* Measures `runs` runs: what the host takes to start one, and the device to finish it. */
static inline cudaError_t qk_measure(const qk_deployment* d, const qk_queue* queue, void* handle,
                                     qk_kernels kernels, int runs, qk_times* times, int* code) {
  cudaEvent_t first = NULL, last = NULL;
  float ms = 0;
  cudaError_t status = cudaEventCreate(&first);
  if (status == cudaSuccess) status = cudaEventCreate(&last);
  const int graph = d->ready;
  double begin = 0, end = 0;
  for (int i = -2; i < runs && status == cudaSuccess && *code == 0; ++i) {
    if (i == 0) status = cudaStreamSynchronize(queue->stream);
    if (i == 0 && status == cudaSuccess) status = cudaEventRecord(first, queue->stream);
    if (i == 0) begin = qk_now();
    if (status != cudaSuccess) break;
    if (graph) {
      status = qk_run_graph(d, queue, handle, kernels, code);
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
