// A caller of generated CUDA with memory, streams and graphs of its own, on a GPU or with the
// stand-in for the runtime: the network "digits" of 64 numbers to 10. A line for each check.
#include <thread>

#include "digits.cu"

enum { IMAGES = 3 };
static float images[IMAGES][64], expected[IMAGES][10];
static unsigned char *in[IMAGES], *out[IMAGES];  // the device's
static int bad = 0;

static void check(const char* what, int ok, const digits_handle* h) {
  const char* const text = h ? digits_error_text(h) : "";
  printf("%s %s%s%s\n", ok ? "ok    " : "FAILED", what, *text ? ": " : "", text);
  bad |= !ok;
}
static digits_handle* made(const digits_config* config) {
  digits_handle* h = NULL;
  if (digits_create(config, &h) != DIGITS_OK) check("a handle", 0, h);
  return h;
}
static int run(digits_handle* h, int from, int to, cudaStream_t stream) {
  const void* inputs[] = {in[from]};
  void* outputs[] = {out[to]};
  return digits_run(h, inputs, outputs, (void*)stream);
}
// Whether the device's result `at` is that of an image.
static int is_answer(int at, int image, cudaStream_t stream) {
  float got[10];
  if (cudaMemcpyAsync(got, out[at], sizeof got, cudaMemcpyDeviceToHost, stream) != cudaSuccess ||
      cudaStreamSynchronize(stream) != cudaSuccess)
    return 0;
  return memcmp(got, expected[image], sizeof got) == 0;
}

static void check_pointers(digits_handle* h, cudaStream_t stream) {
  int good = 1;
  for (int round = 0; round < 6 && good; ++round) {
    for (int i = 0; i < IMAGES; ++i) good = good && run(h, i, (i + round) % IMAGES, stream) == 0;
    for (int i = 0; i < IMAGES; ++i) good = good && is_answer((i + round) % IMAGES, i, stream);
  }
  check("pointers that change on every call", good, h);
}

static void check_streams(digits_handle* h, const cudaStream_t* streams) {
  digits_handle* const other = made(NULL);
  int good = 1;
  for (int round = 0; round < 50 && good; ++round)
    good = run(h, 0, 0, streams[0]) == 0 && run(other, 1, 1, streams[1]) == 0;
  good = good && is_answer(0, 0, streams[0]) && is_answer(1, 1, streams[1]);
  check("two handles on two streams at once", good, other);
  digits_destroy(other);
}

// Handles of threads, each on a stream of its own.
static void check_threads(void) {
  enum { ROUNDS = 30 };
  int good[IMAGES] = {};
  std::thread threads[IMAGES];
  for (int i = 0; i < IMAGES; ++i) {
    threads[i] = std::thread([i, &good] {
      cudaStream_t stream = NULL;
      digits_handle* h = NULL;
      int round = 0;
      good[i] = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess &&
                digits_create(NULL, &h) == DIGITS_OK;
      while (good[i] && round++ < ROUNDS) good[i] = run(h, i, i, stream) == 0;
      good[i] = good[i] && is_answer(i, i, stream);
      digits_destroy(h);
      (void)cudaStreamDestroy(stream);
    });
  }
  for (std::thread& t : threads) t.join();
  check("a handle and a stream for each thread", good[0] && good[1] && good[2], NULL);
}

// A run returns while the device is still busy with what was before it, and takes no memory.
static void check_asynchronous(digits_handle* h, cudaStream_t stream) {
#if defined(QK_CUDA_ON_HOST)
  (void)h, (void)stream;  // what it asks of the runtime is counted in tests/emitted
#else
  size_t before = 0, after = 0, all = 0;
  qk_queue queue = {};
  queue.stream = stream;
  int good = run(h, 0, 0, stream) == 0 && cudaStreamSynchronize(stream) == cudaSuccess &&
             cudaMemGetInfo(&before, &all) == cudaSuccess && qk_hold(&queue, 1000) == cudaSuccess;
  for (int round = 0; round < 20 && good; ++round) good = run(h, 0, 0, stream) == 0;
  const int busy = cudaStreamQuery(stream) == cudaErrorNotReady;
  good = good && is_answer(0, 0, stream) && cudaMemGetInfo(&after, &all) == cudaSuccess;
  check("runs return before they are done", good && busy, h);
  check("runs take no memory", before == after, h);
#endif
}

static void check_memory(cudaStream_t stream) {
  unsigned char *arena = NULL, *weights = NULL;
  digits_config config = {};
  if (cudaMalloc(&arena, DIGITS_DEVICE_ARENA_BYTES) != cudaSuccess ||
      cudaMalloc(&weights, DIGITS_DEVICE_WEIGHT_BYTES) != cudaSuccess)
    return check("memory of the caller's", 0, NULL);
  config.arena = arena;
  config.weights = weights;
  digits_handle* const h = made(&config);
  check("memory of the caller's", run(h, 2, 2, stream) == 0 && is_answer(2, 2, stream), h);
  digits_destroy(h);
  (void)cudaFree(arena);
  (void)cudaFree(weights);
}

// The caller's graph of two runs, launched twice with other images in the same memory.
static void check_capturing(digits_handle* h, cudaStream_t stream, const char* what) {
#if defined(QK_CUDA_ON_HOST)
  qk_host_capturing = 1;
  int good = run(h, 0, 0, stream) == 0 && run(h, 1, 1, stream) == 0;
  qk_host_capturing = 0;
  good = good && run(h, 0, 0, stream) == 0 && run(h, 1, 1, stream) == 0;
#else
  cudaGraph_t graph = NULL;
  cudaGraphExec_t exec = NULL;
  int good = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess;
  good = good && run(h, 0, 0, stream) == 0 && run(h, 1, 1, stream) == 0;
  good = cudaStreamEndCapture(stream, &graph) == cudaSuccess && good;
  good = good && cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess;
  for (int round = 0; round < 2 && good; ++round)
    good = cudaGraphLaunch(exec, stream) == cudaSuccess;
#endif
  check(what, good && is_answer(0, 0, stream) && is_answer(1, 1, stream), h);
#if !defined(QK_CUDA_ON_HOST)
  if (exec) (void)cudaGraphExecDestroy(exec);
  if (graph) (void)cudaGraphDestroy(graph);
#endif
}

int main(void) {
  cudaStream_t streams[2];
  digits_handle* h = made(NULL);
  for (int i = 0; i < IMAGES; ++i) {
    for (int k = 0; k < 64; ++k) images[i][k] = (float)((k * (i + 3)) % 17) / 16;
    const void* inputs[] = {images[i]};
    void* outputs[] = {expected[i]};
    if (digits_run_host(h, inputs, outputs) != DIGITS_OK) check("a run", 0, h);
    if (cudaMalloc(&in[i], sizeof images[i]) != cudaSuccess ||
        cudaMalloc(&out[i], sizeof expected[i]) != cudaSuccess ||
        cudaMemcpyAsync(in[i], images[i], sizeof images[i], cudaMemcpyHostToDevice, NULL) !=
            cudaSuccess)
      check("memory", 0, NULL);
  }
  check("images have answers of their own", memcmp(expected[0], expected[1], sizeof *expected) != 0,
        NULL);
  for (cudaStream_t& stream : streams) {
    if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess)
      check("a stream", 0, NULL);
  }
  (void)cudaStreamSynchronize(NULL);
  check_streams(h, streams);
  check_memory(streams[0]);
  check_threads();
  digits_destroy(h);
  static const char* const names[] = {"balanced", "conservative", "aggressive", "auto"};
  for (int deployment = 0; deployment < 8; ++deployment) {
    digits_config config = {};
    config.deployment = deployment % 4;
    config.check = deployment >= 4;
    printf("       %s%s\n", names[deployment % 4], config.check ? ", waiting for kernels" : "");
    h = made(&config);
    check_pointers(h, streams[0]);
    check_pointers(h, NULL);
    if (!config.check) check_asynchronous(h, streams[1]);
    check_capturing(h, streams[1], "part of the caller's graph");
    digits_destroy(h);
  }
  for (int i = 0; i < IMAGES; ++i) {
    (void)cudaFree(in[i]);
    (void)cudaFree(out[i]);
  }
  for (cudaStream_t stream : streams) (void)cudaStreamDestroy(stream);
  return bad;
}
