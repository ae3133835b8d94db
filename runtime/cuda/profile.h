/* What each step of a run takes on the device: an event after each of them, the time between two.
 * Included after deploy.h. */
#ifndef QK_PROFILE_H
#define QK_PROFILE_H

typedef struct qk_step {
  const char *kernel, *layer;
  double device_us; /* the least of all runs */
} qk_step;

/* Steps that were marked in the run now, and room for them. */
struct qk_profile {
  qk_step* steps;
  cudaEvent_t* events; /* one more than steps: the first is the run's begin */
  int64_t room, count;
};

/* Says that a step has been put into the queue with that status, which it returns unless it fails
 * itself. */
static inline cudaError_t qk_mark(const qk_queue* queue, cudaError_t status, const char* kernel,
                                  const char* layer) {
  qk_profile* const p = queue->profile;
  if (status != cudaSuccess || !p || p->count >= p->room) return status;
  p->steps[p->count].kernel = kernel;
  p->steps[p->count].layer = layer;
  return cudaEventRecord(p->events[++p->count], queue->stream);
}

#if defined(QK_CUDA_ON_HOST)
static inline cudaError_t qk_hold(const qk_queue*, int64_t) { return cudaSuccess; }
#else
static __global__ void qk_holds(uint64_t ns) {
  uint64_t first, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(first));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - first < ns);
}
/* Keeps the device busy while the host puts so many steps into the queue, so that they follow each
 * other without gaps. */
static inline cudaError_t qk_hold(const qk_queue* queue, int64_t steps) {
  uint64_t ns = (uint64_t)(steps < 1000 ? steps : 1000) * 15000;
  void* list[] = {(void*)&ns};
  return cudaLaunchKernel((const void*)qk_holds, dim3(1), dim3(1), list, 0, queue->stream);
}
#endif

/* One run, whose times are kept where they are the least so far. */
static inline cudaError_t qk_profile_once(qk_profile* p, const qk_queue* queue, void* handle,
                                          qk_kernels kernels, int first, int* code) {
  p->count = 0;
  cudaError_t status = qk_hold(queue, p->room);
  if (status == cudaSuccess) status = cudaEventRecord(p->events[0], queue->stream);
  if (status == cudaSuccess) *code = kernels(handle, queue);
  if (*code != 0) return status;
  if (status == cudaSuccess) status = cudaStreamSynchronize(queue->stream);
  for (int64_t i = 0; i < p->count && status == cudaSuccess; ++i) {
    float ms = 0;
    status = cudaEventElapsedTime(&ms, p->events[i], p->events[i + 1]);
    const double us = (double)ms * 1e3;
    if (first || us < p->steps[i].device_us) p->steps[i].device_us = us;
  }
  return status;
}

/* Takes the memory of a profile; it is given back in either case. */
static inline cudaError_t qk_profile_open(qk_profile* p, int64_t room) {
  cudaError_t status = cudaSuccess;
  p->room = room;
  p->steps = (qk_step*)calloc((size_t)room + 1, sizeof *p->steps);
  p->events = (cudaEvent_t*)calloc((size_t)room + 1, sizeof *p->events);
  if (!p->steps || !p->events) return cudaErrorMemoryAllocation;
  for (int64_t i = 0; i <= room && status == cudaSuccess; ++i)
    status = cudaEventCreate(&p->events[i]);
  return status;
}
static inline void qk_profile_close(qk_profile* p) {
  for (int64_t i = 0; p->events && i <= p->room; ++i) {
    if (p->events[i]) (void)cudaEventDestroy(p->events[i]);
  }
  free(p->events);
  free(p->steps);
}

#endif
