// A library to preload: it makes one chosen step of a program fail. Steps are allocations and calls
// of the system that create, read and write files, numbered from the beginning of main.
//
//   QUANTC_INJECT_LIST=FILE  nothing fails; the file gets the number and the kind ("alloc", or the
//                            name of the call) of the first step of each distinct stack
//   QUANTC_INJECT_AT=N       step N goes as QUANTC_INJECT_AS says:
//     fail     no memory, or no space on the disk
//     half     a write takes half of what it gets; anything else fails
//     limit    the limit of the processor's time is met: the next count of the budget is refused
//     late     it was met long ago and nothing counted: the program ends itself
//     crash    the program gets SIGSEGV
//
// Programs that this one starts are left alone.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unwind.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

enum { kFrames = 48, kStacks = 1 << 18 };

static atomic_long step;
static long chosen = -1;
static char how[16];
static int list = -1;
static atomic_bool armed;
static __thread int inside;  // of this library

// Stacks that were seen, by hash. Only when they are listed.
static uint64_t seen[kStacks];
static pthread_mutex_t seen_mutex = PTHREAD_MUTEX_INITIALIZER;

struct Walk {
  uint64_t hash;
  int frames;
};

static _Unwind_Reason_Code add_frame(struct _Unwind_Context* context, void* data) {
  struct Walk* walk = data;
  walk->hash = (walk->hash ^ (uint64_t)_Unwind_GetIP(context)) * 0x9e3779b97f4a7c15u;
  walk->hash ^= walk->hash >> 29;
  return ++walk->frames < kFrames ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static int is_new_stack(void) {
  struct Walk walk = {1, 0};
  _Unwind_Backtrace(add_frame, &walk);
  size_t i = walk.hash % kStacks;
  while (seen[i] && seen[i] != walk.hash) i = (i + 1) % kStacks;
  const int fresh = seen[i] == 0;
  seen[i] = walk.hash;
  return fresh;
}

/// The processor's time is up, as the program's own timer would say so many times.
static void let_time_pass(int seconds) {
  struct sigaction now;
  if (sigaction(SIGPROF, NULL, &now) != 0 || now.sa_handler == SIG_DFL) return;
  for (int i = 0; i < seconds; ++i) raise(SIGPROF);
}

/// Counts a step; true where it has to fail.
static int fails(const char* what) {
  if (!atomic_load(&armed) || inside) return 0;
  const long now = atomic_fetch_add(&step, 1);
  if (list >= 0) {
    inside = 1;
    pthread_mutex_lock(&seen_mutex);
    if (is_new_stack()) dprintf(list, "%ld %s\n", now, what);
    pthread_mutex_unlock(&seen_mutex);
    inside = 0;
    return 0;
  }
  if (now != chosen) return 0;
  if (!strcmp(how, "crash")) raise(SIGSEGV);
  if (!strcmp(how, "limit")) let_time_pass(6);
  if (!strcmp(how, "late")) let_time_pass(12);
  return !strcmp(how, "fail") || !strcmp(how, "half");
}

void* malloc(size_t size) {
  if (!fails("alloc")) return __libc_malloc(size);
  errno = ENOMEM;
  return NULL;
}
void* calloc(size_t count, size_t size) {
  if (!fails("alloc")) return __libc_calloc(count, size);
  errno = ENOMEM;
  return NULL;
}
void* realloc(void* block, size_t size) {
  if (!fails("alloc")) return __libc_realloc(block, size);
  errno = ENOMEM;
  return NULL;
}
void* aligned_alloc(size_t alignment, size_t size) {
  if (!fails("alloc")) return __libc_memalign(alignment, size);
  errno = ENOMEM;
  return NULL;
}

#define NEXT(name)                                     \
  static __typeof__(name)* next;                       \
  if (!next) {                                         \
    ++inside;                                          \
    next = (__typeof__(name)*)dlsym(RTLD_NEXT, #name); \
    --inside;                                          \
  }
#define FAIL(reason) return errno = (reason), -1

ssize_t write(int fd, const void* data, size_t size) {
  NEXT(write);
  if (fd <= STDERR_FILENO || !fails("write")) return next(fd, data, size);
  if (!strcmp(how, "half") && size > 1) return next(fd, data, size / 2);
  FAIL(ENOSPC);
}
ssize_t pread(int fd, void* data, size_t size, off_t at) {
  NEXT(pread);
  if (!fails("pread")) return next(fd, data, size, at);
  FAIL(EIO);
}
int open(const char* path, int flags, ...) {
  NEXT(open);
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (!fails("open")) return next(path, flags, mode);
  FAIL(EMFILE);
}
int openat(int folder, const char* path, int flags, ...) {
  NEXT(openat);
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  // Folders are opened to be removed: nothing comes after that.
  if (flags & O_DIRECTORY || !fails("openat")) return next(folder, path, flags, mode);
  FAIL(flags & O_CREAT ? ENOSPC : EMFILE);
}
int close(int fd) {
  NEXT(close);
  const int done = next(fd);  // as the system does: closed in any case
  if (!fails("close")) return done;
  FAIL(EIO);
}
int mkdir(const char* path, mode_t mode) {
  NEXT(mkdir);
  if (!fails("mkdir")) return next(path, mode);
  FAIL(ENOSPC);
}
int rename(const char* from, const char* to) {
  NEXT(rename);
  if (!fails("rename")) return next(from, to);
  FAIL(ENOSPC);
}
int renameat(int from, const char* name, int to, const char* other) {
  NEXT(renameat);
  if (!fails("renameat")) return next(from, name, to, other);
  FAIL(ENOSPC);
}
int linkat(int from, const char* name, int to, const char* other, int flags) {
  NEXT(linkat);
  if (!fails("linkat")) return next(from, name, to, other, flags);
  FAIL(EMLINK);
}
int fsync(int fd) {
  NEXT(fsync);
  if (!fails("fsync")) return next(fd);
  FAIL(EIO);
}
int fstat(int fd, struct stat* out) {
  NEXT(fstat);
  if (!fails("fstat")) return next(fd, out);
  FAIL(EIO);
}
void* mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset) {
  NEXT(mmap);
  if (fd < 0 || !fails("mmap")) return next(at, size, protection, flags, fd, offset);
  errno = ENOMEM;
  return MAP_FAILED;
}

static int (*real_main)(int, char**, char**);

static int armed_main(int argc, char** argv, char** environment) {
  const char* path = getenv("QUANTC_INJECT_LIST");
  const char* at = getenv("QUANTC_INJECT_AT");
  const char* as = getenv("QUANTC_INJECT_AS");
  if (path) list = (open)(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (at) chosen = strtol(at, NULL, 10);
  if (as) strncpy(how, as, sizeof how - 1);
  unsetenv("LD_PRELOAD");
  atomic_store(&armed, path || at);
  return real_main(argc, argv, environment);
}

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void* stack_end) {
  real_main = main;
  int (*next)(int (*)(int, char**, char**), int, char**, void (*)(void), void (*)(void),
              void (*)(void), void*) = dlsym(RTLD_NEXT, "__libc_start_main");
  return next(armed_main, argc, argv, init, fini, rtld_fini, stack_end);
}
