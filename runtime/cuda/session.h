/* What a handle does, for every model: choosing code for the GPU, memory, weights, runs, figures.
 * Generated code describes a model and calls these functions. Included after graph_cache.h and
 * profile.h. */
#ifndef QK_SESSION_H
#define QK_SESSION_H

/* What functions return; headers have the same numbers under the model's name. */
enum {
  QK_OK = 0,
  QK_NULL_POINTER = 1,
  QK_BAD_SIZE = 3,
  QK_BAD_CONFIG = 4,
  QK_NO_MEMORY = 5,
  QK_CUDA_FAILED = 6,
  QK_BAD_DEVICE = 7,
  QK_BAD_INDEX = 8
};

struct qk_session;
typedef int (*qk_copies)(qk_session* s, const void* const* inputs, void* const* outputs,
                         cudaMemcpyKind kind, cudaStream_t stream);

/* Bytes of the model's weights that lie together, there and on the device. */
typedef struct qk_extent {
  int64_t from, to, bytes;
} qk_extent;

/* Code for GPUs from one compute capability on, or for it alone. */
typedef struct qk_program {
  int capability; /* 8.0 is 80; 0: any */
  int alone;
  int64_t arena_bytes, weight_bytes; /* of the device's memory */
  int64_t host_bytes;                /* of the host's, for steps that run there */
  int64_t state_bytes;               /* of the device's, kept between runs */
  int64_t launches;
  const qk_extent *ranges, *initial; /* of weights, and of those that a state begins with */
  int64_t range_count, initial_count;
  qk_kernels kernels;
  qk_copies upload, download;
} qk_program;

typedef struct qk_model {
  const qk_program* programs; /* best first */
  int64_t program_count;
  int64_t inputs, outputs, dims;
  const char* (*size_error)(const int64_t* dims); /* NULL where sizes are numbers */
  const int64_t* warm;                            /* sizes of runs, `dims` each, the largest last */
  int64_t warm_count;
  const void* weights; /* NULL: the caller brings them */
  int64_t weight_bytes;
  uint64_t weight_hash;
  /* What a check of indices says by its number; NULL where none are checked. What a run found lies
   * at the start of the arena (kernels/bad_index). */
  const char* (*check_text)(int64_t number);
} qk_model;

/* The fields of NAME_config. */
typedef struct qk_config {
  int device, check, deployment;
  void *arena, *weights;
  int64_t cache_entries, cache_bytes;
  const void* host_weights;
  void* state;
} qk_config;

typedef struct qk_analysis {
  int launches;
  double host_us_per_launch, device_us, device_us_graph, host_us, host_us_graph;
  int64_t weight_bytes, arena_bytes;
  int deployment;
  const char* reason;
} qk_analysis;

struct qk_session {
  const qk_model* model;
  const qk_program* program;
  qk_queue queue;
  int strategy, device, ready;
  unsigned char *arena, *weights, *state;             /* on the device */
  unsigned char *own_arena, *own_weights, *own_state; /* to be given back */
  unsigned char* host_arena;                          /* of steps that run on the host */
  const unsigned char* host_weights;                  /* of the model */
  int64_t* dims;                                      /* of the run */
  qk_graph_cache cache;
  char reason[160], error[512];
};

/* Leaves a function when a call of the runtime fails. */
#define QK_TRY(status, call, kernel, layer)                                   \
  do {                                                                        \
    const cudaError_t qk_status = (status);                                   \
    if (qk_status != cudaSuccess) {                                           \
      qk_describe(s->error, sizeof s->error, qk_status, call, kernel, layer); \
      return QK_CUDA_FAILED;                                                  \
    }                                                                         \
  } while (0)
/* A step of a run: it is marked once it is in the queue. */
#define QK_STEP(status, call, kernel, layer) \
  QK_TRY(qk_mark(queue, status, kernel, layer), call, kernel, layer)
/* Leaves a function with the code of another. */
#define QK_PASS(expression)               \
  do {                                    \
    const int qk_code = (expression);     \
    if (qk_code != QK_OK) return qk_code; \
  } while (0)

static inline int qk_fail(qk_session* s, int code, const char* text) {
  snprintf(s->error, sizeof s->error, "%s", text);
  return code;
}

/* Makes the session's device the current one, and afterwards the caller's again. */
static inline int qk_enter(qk_session* s, int* before) {
  *before = s->device;
  QK_TRY(cudaGetDevice(before), "cudaGetDevice", "", "");
  if (*before != s->device || !s->ready) QK_TRY(cudaSetDevice(s->device), "cudaSetDevice", "", "");
  return QK_OK;
}
static inline void qk_leave(const qk_session* s, int before) {
  if (before != s->device) (void)cudaSetDevice(before);
}

/* Code for the session's GPU: the first part that it can run. */
static inline int qk_choose_program(qk_session* s) {
  int capability = 0;
  QK_TRY(qk_capability(s->device, &capability), "cudaDeviceGetAttribute", "", "");
  for (int64_t i = 0; i < s->model->program_count && !s->program; ++i) {
    const qk_program* const program = &s->model->programs[i];
    if (program->alone ? program->capability == capability : program->capability <= capability)
      s->program = program;
  }
  /* Kernels for older devices do not wait for those before them, wherever they run. */
  if (s->strategy == QK_AGGRESSIVE) {
    int compiled = 0;
    QK_TRY(qk_compiled_for(&compiled), "cudaFuncGetAttributes", "", "");
    s->queue.overlap = capability >= 90 && compiled >= 90;
  }
  if (s->program) return QK_OK;
  const qk_program* const last = &s->model->programs[s->model->program_count - 1];
  snprintf(s->error, sizeof s->error,
           "device %d has compute capability %d.%d, and the code is for %d.%d %s", s->device,
           capability / 10, capability % 10, last->capability / 10, last->capability % 10,
           last->alone ? "alone" : "and later");
  return QK_BAD_DEVICE;
}

/* Puts the state's initial contents into its place. */
static inline int qk_reset_here(qk_session* s, cudaStream_t stream) {
  for (int64_t i = 0; i < s->program->initial_count; ++i) {
    const qk_extent r = s->program->initial[i];
    QK_TRY(cudaMemcpyAsync(s->state + r.to, s->weights + r.from, (size_t)r.bytes,
                           cudaMemcpyDeviceToDevice, stream),
           "cudaMemcpyAsync of the state", "", "");
  }
  return QK_OK;
}

/* Takes the memory that the caller did not bring, and uploads the weights. */
static inline int qk_take_memory(qk_session* s) {
  const qk_program* const program = s->program;
  if (program->weight_bytes > 0 && !s->weights) {
    QK_TRY(cudaMalloc(&s->own_weights, (size_t)program->weight_bytes), "cudaMalloc of the weights",
           "", "");
    s->weights = s->own_weights;
  }
  for (int64_t i = 0; i < program->range_count; ++i) {
    const qk_extent r = program->ranges[i];
    QK_TRY(cudaMemcpyAsync(s->weights + r.to, s->host_weights + r.from, (size_t)r.bytes,
                           cudaMemcpyHostToDevice, s->queue.stream),
           "cudaMemcpyAsync of the weights", "", "");
  }
  if (program->arena_bytes > 0 && !s->arena) {
    QK_TRY(cudaMalloc(&s->own_arena, (size_t)program->arena_bytes), "cudaMalloc of the arena", "",
           "");
    s->arena = s->own_arena;
  }
  if (program->state_bytes > 0 && !s->state) {
    QK_TRY(cudaMalloc(&s->own_state, (size_t)program->state_bytes), "cudaMalloc of the state", "",
           "");
    s->state = s->own_state;
  }
  QK_PASS(qk_reset_here(s, s->queue.stream));
  if (program->host_bytes > 0)
    QK_TRY(cudaMallocHost(&s->host_arena, (size_t)program->host_bytes), "cudaMallocHost", "", "");
  QK_TRY(cudaStreamSynchronize(s->queue.stream), "cudaStreamSynchronize", "", "");
  return QK_OK;
}

static inline uint64_t qk_options_of(const qk_session* s) {
  return (uint64_t)(s->program - s->model->programs) << 1 | (uint64_t)s->queue.overlap;
}

/* Where graphs are made and times measured: what is put there is not waited for. */
static inline qk_queue qk_unchecked(const qk_session* s) {
  qk_queue queue = s->queue;
  queue.check = 0;
  return queue;
}

/* The graph of the run's sizes, made where there is none yet; NULL where it may not be kept. */
static inline int qk_graph_of(qk_session* s, cudaGraphExec_t* graph) {
  const uint64_t weights = s->model->weight_hash, options = qk_options_of(s);
  const int64_t bytes = s->program->launches * QK_GRAPH_NODE_BYTES;
  *graph = qk_cache_get(&s->cache, weights, options, s->dims);
  if (*graph || bytes > s->cache.max_bytes) return QK_OK;
  const char* call = "";
  int code = QK_OK;
  const qk_queue queue = qk_unchecked(s);
  QK_TRY(qk_capture(graph, &queue, s, s->program->kernels, &code, &call), call, "", "");
  if (code != QK_OK) return code;
  (void)qk_cache_put(&s->cache, weights, options, s->dims, *graph, bytes);
  return QK_OK;
}

static inline void qk_set_dims(qk_session* s, const int64_t* dims) {
  for (int64_t i = 0; i < s->model->dims; ++i) s->dims[i] = dims[i];
}

/* What deployments cost for the session's sizes; QK_AUTO becomes what is faster. */
static inline int qk_analyze_here(qk_session* s, qk_analysis* out) {
  enum { RUNS = 20 };
  int code = QK_OK;
  qk_times plain, graph;
  cudaGraphExec_t made = NULL;
  const qk_queue queue = qk_unchecked(s);
  QK_PASS(qk_graph_of(s, &made));
  QK_TRY(qk_measure(NULL, &queue, s, s->program->kernels, RUNS, &plain, &code), "timing", "", "");
  if (code != QK_OK) return code;
  graph = plain;
  if (made)
    QK_TRY(qk_measure(made, &queue, s, s->program->kernels, RUNS, &graph, &code), "timing", "", "");
  if (code != QK_OK) return code;
  const int better = graph.device < plain.device || graph.host < plain.host;
  if (s->strategy == QK_AUTO) s->strategy = better ? QK_BALANCED : QK_CONSERVATIVE;
  snprintf(s->reason, sizeof s->reason,
           "a graph takes %.1f us on the device and %.1f on the host, launches %.1f and %.1f",
           graph.device, graph.host, plain.device, plain.host);
  const double launches = (double)s->program->launches;
  out->launches = (int)s->program->launches;
  out->host_us_per_launch = launches > 0 ? plain.host / launches : 0;
  out->device_us = plain.device;
  out->device_us_graph = graph.device;
  out->host_us = plain.host;
  out->host_us_graph = graph.host;
  out->weight_bytes = s->program->weight_bytes;
  out->arena_bytes = s->program->arena_bytes;
  out->deployment = s->strategy;
  out->reason = s->reason;
  return QK_OK;
}

/* Graphs for all sizes that are known, as many as are kept; the largest is the one used last. */
static inline int qk_warm(qk_session* s) {
  const int64_t count = s->model->warm_count, saved = s->cache.capacity;
  for (int64_t i = count > saved ? count - saved : 0; i < count; ++i) {
    cudaGraphExec_t graph = NULL;
    qk_set_dims(s, s->model->warm + i * s->model->dims);
    QK_PASS(qk_graph_of(s, &graph));
  }
  return QK_OK;
}

static inline int qk_open(qk_session* s) {
  QK_PASS(qk_choose_program(s));
  QK_TRY(cudaStreamCreateWithFlags(&s->queue.stream, cudaStreamNonBlocking),
         "cudaStreamCreateWithFlags", "", "");
  QK_PASS(qk_take_memory(s));
  if (s->strategy == QK_AGGRESSIVE) return qk_warm(s);
  if (s->strategy != QK_AUTO) return QK_OK;
  qk_analysis figures;
  qk_set_dims(s, s->model->warm + (s->model->warm_count - 1) * s->model->dims);
  QK_PASS(qk_analyze_here(s, &figures));
  QK_PASS(qk_reset_here(s, s->queue.stream));
  QK_TRY(cudaStreamSynchronize(s->queue.stream), "cudaStreamSynchronize", "", "");
  return QK_OK;
}

/* Sets a session up that is all zeros, but for its `dims`. */
static inline int qk_create(qk_session* s, const qk_model* model, const qk_config* config) {
  s->model = model;
  s->host_weights = (const unsigned char*)model->weights;
  if (config) {
    s->device = config->device;
    s->queue.check = config->check != 0;
    s->strategy = config->deployment;
    s->arena = (unsigned char*)config->arena;
    s->weights = (unsigned char*)config->weights;
    s->state = (unsigned char*)config->state;
    if (!s->host_weights) s->host_weights = (const unsigned char*)config->host_weights;
  }
  if (s->strategy < QK_BALANCED || s->strategy > QK_AUTO) {
    snprintf(s->error, sizeof s->error, "there is no deployment %d", s->strategy);
    return QK_BAD_CONFIG;
  }
  if (config && (config->cache_entries < 0 || config->cache_bytes < 0))
    return qk_fail(s, QK_BAD_CONFIG, "the capacity of the cache is negative");
  if (model->weight_bytes > 0 && !s->host_weights)
    return qk_fail(s, QK_NULL_POINTER, "the weights are a file, and host_weights is null");
  if (!qk_cache_open(&s->cache, config ? config->cache_entries : 0,
                     config ? config->cache_bytes : 0, model->dims))
    return qk_fail(s, QK_NO_MEMORY, "the host has no memory for the cache of graphs");
  int before = 0, code = qk_enter(s, &before);
  if (code == QK_OK) code = qk_open(s);
  s->ready = code == QK_OK;
  qk_leave(s, before);
  return code;
}

/* After a fault these calls fail too; there is nothing else to do. */
static inline void qk_destroy(qk_session* s) {
  int before = s->device;
  (void)cudaGetDevice(&before);
  (void)cudaSetDevice(s->device);
  qk_cache_close(&s->cache);
  if (s->own_weights) (void)cudaFree(s->own_weights);
  if (s->own_arena) (void)cudaFree(s->own_arena);
  if (s->own_state) (void)cudaFree(s->own_state);
  if (s->host_arena) (void)cudaFreeHost(s->host_arena);
  if (s->queue.stream) (void)cudaStreamDestroy(s->queue.stream);
  qk_leave(s, before);
}

/* Whether the model takes these sizes. */
static inline int qk_check_sizes(qk_session* s, const int64_t* dims) {
  if (!s->model->size_error) return QK_OK;
  if (!dims) return qk_fail(s, QK_NULL_POINTER, "dims is null");
  const char* const wrong = s->model->size_error(dims);
  return wrong ? qk_fail(s, QK_BAD_SIZE, wrong) : QK_OK;
}

/* Whether a run may be made of these; the session is ready. */
static inline int qk_check_run(qk_session* s, const int64_t* dims, const void* const* inputs,
                               void* const* outputs) {
  int null = !inputs || !outputs;
  for (int64_t i = 0; i < s->model->inputs && !null; ++i) null = !inputs[i];
  for (int64_t i = 0; i < s->model->outputs && !null; ++i) null = !outputs[i];
  if (null) return qk_fail(s, QK_NULL_POINTER, "an input or output is null");
  if (!s->ready) return qk_fail(s, QK_BAD_CONFIG, "the handle could not be created");
  return qk_check_sizes(s, dims);
}

/* All kernels, by a graph where that is wanted and the caller is not making one itself. */
static inline int qk_compute(qk_session* s, cudaStream_t stream) {
  qk_queue queue = s->queue;
  int capturing = 0, code = QK_OK;
  cudaGraphExec_t graph = NULL;
  queue.stream = stream;
  QK_TRY(qk_is_capturing(stream, &capturing), "cudaStreamIsCapturing", "", "");
  if (capturing) queue.check = 0; /* nobody may wait for what becomes part of a graph */
  if (s->strategy != QK_CONSERVATIVE && !queue.check && !capturing) QK_PASS(qk_graph_of(s, &graph));
  if (!graph) return s->program->kernels(s, &queue);
  QK_TRY(qk_run_graph(graph, &queue, s, s->program->kernels, &code), "cudaGraphLaunch", "", "");
  return code;
}

/* Waits for the stream and says whether its last run met an index that is out of range. */
static inline int qk_check_indices_here(qk_session* s, cudaStream_t stream) {
  int64_t found[2] = {0, 0};
  if (s->model->check_text)
    QK_TRY(cudaMemcpyAsync(found, s->arena, sizeof found, cudaMemcpyDeviceToHost, stream),
           "cudaMemcpyAsync of what was found", "", "");
  QK_TRY(cudaStreamSynchronize(stream), "cudaStreamSynchronize", "", "");
  if (found[0] == 0) return QK_OK;
  snprintf(s->error, sizeof s->error, "%s: it is %lld", s->model->check_text(found[0]),
           (long long)found[1]);
  return QK_BAD_INDEX;
}
static inline int qk_check_indices(qk_session* s, cudaStream_t stream) {
  if (!s->ready) return qk_fail(s, QK_BAD_CONFIG, "the handle could not be created");
  int before = 0, code = qk_enter(s, &before);
  if (code == QK_OK) code = qk_check_indices_here(s, stream);
  qk_leave(s, before);
  return code;
}

/* One run of the session's sizes on its device. */
static inline int qk_run_here(qk_session* s, const void* const* inputs, void* const* outputs,
                              int host, cudaStream_t stream) {
  QK_PASS(s->program->upload(s, inputs, outputs,
                             host ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToDevice, stream));
  QK_PASS(qk_compute(s, stream));
  QK_PASS(s->program->download(s, inputs, outputs,
                               host ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice, stream));
  return host ? qk_check_indices_here(s, stream) : QK_OK;
}
/* One run with memory of the device, or of the host. */
static inline int qk_run(qk_session* s, const int64_t* dims, const void* const* inputs,
                         void* const* outputs, int host, cudaStream_t stream) {
  QK_PASS(qk_check_run(s, dims, inputs, outputs));
  qk_set_dims(s, dims);
  int before = 0, code = qk_enter(s, &before);
  if (code == QK_OK) code = qk_run_here(s, inputs, outputs, host, stream);
  /* Nothing touches the caller's memory later. */
  if (host && code == QK_CUDA_FAILED) (void)cudaStreamSynchronize(stream);
  qk_leave(s, before);
  return code;
}
static inline int qk_run_host(qk_session* s, const int64_t* dims, const void* const* inputs,
                              void* const* outputs) {
  return qk_run(s, dims, inputs, outputs, 1, s->queue.stream);
}

/* The state as it was when the first run is made; runs on other streams are not waited for. */
static inline int qk_reset(qk_session* s, cudaStream_t stream) {
  if (!s->ready) return qk_fail(s, QK_BAD_CONFIG, "the handle could not be created");
  int before = 0, code = qk_enter(s, &before);
  if (code == QK_OK) code = qk_reset_here(s, stream);
  qk_leave(s, before);
  return code;
}

static inline int qk_copy_state(qk_session* s, unsigned char* to, const unsigned char* from) {
  QK_TRY(cudaMemcpyAsync(to, from, (size_t)s->program->state_bytes, cudaMemcpyDeviceToDevice,
                         s->queue.stream),
         "cudaMemcpyAsync of the state", "", "");
  QK_TRY(cudaStreamSynchronize(s->queue.stream), "cudaStreamSynchronize", "", "");
  return QK_OK;
}

/* Measures something for these sizes; the state is afterwards what it was. */
static inline int qk_measured(qk_session* s, const int64_t* dims, int (*work)(qk_session*, void*),
                              void* data) {
  if (!s->ready) return qk_fail(s, QK_BAD_CONFIG, "the handle could not be created");
  QK_PASS(qk_check_sizes(s, dims));
  qk_set_dims(s, dims);
  unsigned char* saved = NULL;
  int before = 0, code = qk_enter(s, &before);
  if (code == QK_OK && s->program->state_bytes > 0) {
    const cudaError_t status = cudaMalloc(&saved, (size_t)s->program->state_bytes);
    if (status != cudaSuccess) {
      qk_describe(s->error, sizeof s->error, status, "cudaMalloc of a copy of the state", "", "");
      code = QK_CUDA_FAILED;
    } else {
      code = qk_copy_state(s, saved, s->state);
    }
  }
  if (code == QK_OK) code = work(s, data);
  if (code == QK_OK && saved) code = qk_copy_state(s, s->state, saved);
  if (saved) (void)cudaFree(saved);
  qk_leave(s, before);
  return code;
}

static inline int qk_analyze_work(qk_session* s, void* figures) {
  return qk_analyze_here(s, (qk_analysis*)figures);
}
static inline int qk_analyze(qk_session* s, const int64_t* dims, qk_analysis* figures) {
  if (!figures) return qk_fail(s, QK_NULL_POINTER, "figures is null");
  return qk_measured(s, dims, qk_analyze_work, figures);
}

static inline int qk_profile_work(qk_session* s, void* profile) {
  enum { RUNS = 5 };
  qk_profile* const own = (qk_profile*)profile;
  qk_queue queue = qk_unchecked(s);
  int code = QK_OK;
  queue.overlap = 0; /* a kernel that is set up early has no begin of its own */
  QK_TRY(qk_profile_open(own, s->program->launches), "cudaEventCreate", "", "");
  queue.profile = own;
  for (int i = -1; i < RUNS && code == QK_OK; ++i)
    QK_TRY(qk_profile_once(own, &queue, s, s->program->kernels, i <= 0, &code), "timing", "", "");
  return code;
}

/* Tells what each step of a run takes, in order: its layer, the kernel, microseconds. */
static inline int qk_profile_run(qk_session* s, const int64_t* dims,
                                 void (*callback)(void*, const char*, const char*, double),
                                 void* data) {
  if (!callback) return qk_fail(s, QK_NULL_POINTER, "callback is null");
  qk_profile profile = {};
  const int code = qk_measured(s, dims, qk_profile_work, &profile);
  for (int64_t i = 0; i < profile.count && code == QK_OK; ++i)
    callback(data, profile.steps[i].layer, profile.steps[i].kernel, profile.steps[i].device_us);
  qk_profile_close(&profile);
  return code;
}

#endif
