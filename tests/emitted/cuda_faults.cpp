// Faults of generated CUDA, on a GPU or with the stand-in for the runtime: a network "digits" of 64
// numbers to 10 is made, run and destroyed under all of them. A line for each check; the last one
// breaks the device's context, as a fault in a kernel does.
#if defined(QK_CUDA_ON_HOST)
#include <string.h>
static const char* failing = "";
static int failing_at = 0, sticky = 0, fails = 0;
// The n-th call of a name fails; where faults are sticky, so does every call after it.
static int is_to_fail(const char* call) {
  if (fails && sticky) return 1;
  if (strcmp(call, failing) != 0 || failing_at-- != 0) return 0;
  return fails = 1;
}
#define QK_HOST_STATUS(call) (is_to_fail(call) ? cudaErrorMemoryAllocation : cudaSuccess)
#else
static __device__ int is_to_trap;
#define QK_KERNEL_BEGIN \
  if (is_to_trap) __trap();
#endif
#include "digits.cu"

static float image[64], scores[10];
static const void* inputs[] = {image};
static void* outputs[] = {scores};
static int bad = 0;

static void check(const char* what, int ok, const char* text) {
  printf("%s %s%s%s\n", ok ? "ok    " : "FAILED", what, *text ? ": " : "", text);
  bad |= !ok;
}
// The handle's text as it is once a code is there: arguments of a call have no order.
static void check_code(const char* what, int code, int wanted, digits_handle** h) {
  check(what, code == wanted, digits_error_text(*h));
}
static int has(const digits_handle* h, const char* text) {
  return strstr(digits_error_text(h), text) != NULL;
}

static void check_pointers(void) {
  digits_handle* h = NULL;
  const void* no_input[] = {NULL};
  void* no_output[] = {NULL};
  digits_analysis figures;
  digits_cache_stats stats;
  check("no place for a handle", digits_create(NULL, NULL) == DIGITS_NULL_POINTER, "");
  check("no handle",
        digits_run(NULL, inputs, outputs, NULL) == DIGITS_NULL_POINTER &&
            digits_run_host(NULL, inputs, outputs) == DIGITS_NULL_POINTER &&
            digits_analyze(NULL, &figures) == DIGITS_NULL_POINTER &&
            digits_graph_stats(NULL, &stats) == DIGITS_NULL_POINTER,
        digits_error_text(NULL));
  digits_destroy(NULL);
  check_code("a handle", digits_create(NULL, &h), DIGITS_OK, &h);
  check("null inputs and outputs",
        digits_run_host(h, NULL, outputs) == DIGITS_NULL_POINTER &&
            digits_run_host(h, inputs, NULL) == DIGITS_NULL_POINTER &&
            digits_run_host(h, no_input, outputs) == DIGITS_NULL_POINTER &&
            digits_run_host(h, inputs, no_output) == DIGITS_NULL_POINTER,
        digits_error_text(h));
  check("null figures",
        digits_analyze(h, NULL) == DIGITS_NULL_POINTER &&
            digits_graph_stats(h, NULL) == DIGITS_NULL_POINTER,
        "");
  check("the handle works after it", digits_run_host(h, inputs, outputs) == DIGITS_OK, "");
  digits_destroy(h);
}

static void check_device(void) {
  digits_handle* h = NULL;
  digits_config config = {};
  config.device = 1000;
  const int code = digits_create(&config, &h);
  check("a device that is not there", code == DIGITS_CUDA_FAILED && has(h, "cudaSetDevice failed"),
        digits_error_text(h));
  check_code("a run with a handle that could not be created", digits_run_host(h, inputs, outputs),
             DIGITS_BAD_CONFIG, &h);
  digits_destroy(h);
}

// Whether that many handles, of all deployments, are created, run and destroyed.
static int many(int count) {
  int good = 1;
  for (int i = 0; i < count && good; ++i) {
    digits_handle* h = NULL;
    digits_config config = {};
    config.deployment = i % 3;
    good =
        digits_create(&config, &h) == DIGITS_OK && digits_run_host(h, inputs, outputs) == DIGITS_OK;
    digits_destroy(h);
  }
  return good;
}

static void check_many(void) {
#if defined(QK_CUDA_ON_HOST)
  check("created, run and destroyed 1,000 times", many(1000), "");
#else
  // The runtime takes memory for itself now and then; what handles leak is lost in every round.
  // The device's memory is counted in pieces of 2 MiB, which 1,000 of the smallest leaks exceed.
  size_t before = 0, after = 0, all = 0, lost = 1;
  int good = many(100);
  for (int round = 0; round < 3 && good && lost > 0; ++round) {
    (void)cudaMemGetInfo(&before, &all);
    good = many(1000);
    (void)cudaMemGetInfo(&after, &all);
    lost = after < before ? before - after : 0;
  }
  check("created, run and destroyed 1,000 times", good, "");
  char text[80];
  snprintf(text, sizeof text, "%zu bytes free before, %zu after", before, after);
  check("the device's memory is given back", lost == 0, text);
#endif
}

#if defined(QK_CUDA_ON_HOST)

// Every call of the runtime fails one after another, alone and with all that follow.
static void check_calls(void) {
  static const char* const calls[] = {"cudaGetDevice",
                                      "cudaSetDevice",
                                      "cudaDeviceGetAttribute",
                                      "cudaFuncGetAttributes",
                                      "cudaStreamCreateWithFlags",
                                      "cudaMalloc",
                                      "cudaMemcpyAsync",
                                      "cudaStreamSynchronize",
                                      "cudaStreamIsCapturing",
                                      "cudaGraphInstantiate",
                                      "launch",
                                      "cudaGraphLaunch"};
  int reached = 0, good = 1;
  for (int deployment = 0; deployment < 4; ++deployment) {
    for (sticky = 0; sticky < 2; ++sticky) {
      for (const char* call : calls) {
        for (int at = 0;; ++at) {
          digits_handle* h = NULL;
          digits_config config = {};
          config.deployment = deployment;
          failing = call, failing_at = at, fails = 0;
          int code = digits_create(&config, &h);
          if (code == DIGITS_OK) code = digits_run_host(h, inputs, outputs);
          const int met = fails;
          good = good && code == (met ? DIGITS_CUDA_FAILED : DIGITS_OK) &&
                 (!met || has(h, "failed: out of memory"));
          failing = "", fails = 0;
          digits_destroy(h);
          reached += met;
          if (!met || at > 4) break;
        }
      }
    }
  }
  char text[80];
  snprintf(text, sizeof text, "%d calls", reached);
  check("every call fails in turn, alone and with all after it", good && reached > 80, text);
}

#else

static void check_calls(void) {
  void* taken[64];
  int count = 0;
  for (size_t bytes = (size_t)1 << 36; bytes >= 4096 && count < 64; bytes /= 2) {
    while (count < 64 && cudaMalloc(&taken[count], bytes) == cudaSuccess) ++count;
  }
  (void)cudaGetLastError();
  digits_handle* h = NULL;
  const int code = digits_create(NULL, &h);
  check("out of memory", code == DIGITS_CUDA_FAILED && has(h, "out of memory"),
        digits_error_text(h));
  digits_destroy(h);
  while (count > 0) (void)cudaFree(taken[--count]);
  check_code("memory again", digits_create(NULL, &h), DIGITS_OK, &h);
  check_code("and a run", digits_run_host(h, inputs, outputs), DIGITS_OK, &h);
  digits_destroy(h);
  digits_config config = {};
  config.check = 1;
  check_code("a handle that waits for every kernel", digits_create(&config, &h), DIGITS_OK, &h);
  float* device = NULL;
  (void)cudaMalloc((void**)&device, 4096);
  const void* in[] = {device};
  void* out[] = {device + 512};
  check_code("its runs", digits_run(h, in, out, NULL), DIGITS_OK, &h);
  const int now = 1;
  (void)cudaMemcpyToSymbol(is_to_trap, &now, sizeof now);
  const int trapped = digits_run(h, in, out, NULL);
  check("a fault in a kernel is reported with the kernel and the layer",
        trapped == DIGITS_CUDA_FAILED && has(h, "launch of kernel qk_") && has(h, " for layer '"),
        digits_error_text(h));
  digits_destroy(h);
  check_code("a handle after it is refused with a text", digits_create(NULL, &h),
             DIGITS_CUDA_FAILED, &h);
  digits_destroy(h);
}

#endif

int main(void) {
  check_pointers();
  check_device();
  check_many();
  check_calls();
  return bad;
}
