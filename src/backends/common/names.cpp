#include "backends/common/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "backends/common/text.h"

namespace qc {
namespace {

constexpr size_t kMaxName = 64;

/// Names in lower case, between spaces: some file systems tell no cases apart.
struct Taken {
  const char* names;
  const char* why;
};
constexpr Taken kTaken[] = {
    {" aio alloca ar arm_neon arm_sve assert byteswap complex cpio cpuid ctype dirent dlfcn elf "
     "emmintrin endian envz err errno error execinfo fcntl features fenv float fmtmsg fnmatch "
     "fstab "
     "ftw getopt glob grp iconv ifaddrs immintrin inttypes iso646 langinfo libgen libintl limits "
     "link locale malloc math memory mm_malloc mntent monetary mqueue ndbm netdb nl_types nss "
     "obstack omp paths poll printf pthread pty pwd quadmath re_comp regex regexp resolv sched "
     "search semaphore setjmp sgtty shadow signal spawn stab stdalign stdarg stdatomic stdbool "
     "stddef stdfix stdint stdio stdlib stdnoreturn string strings stropts syscall sysexits syslog "
     "tar termio termios tgmath threads time trace ttyent uchar ucontext ulimit unistd unwind "
     "utime "
     "utmp utmpx values varargs wait wchar wctype wordexp x86intrin xmmintrin ",
     "its header would stand before that of the C library"},
    {" all all_build clean codegen continuous depend edit_cache experimental help install "
     "list_install_components nightly package package_source preinstall rebuild_cache run_tests "
     "test uninstall zero_check ",
     "CMake and make have targets of that name"},
    {" cmake cmakefiles cmakelists gnumakefile makefile project ",
     "the build tools use files or variables of that name"},
    {" qc qk qn ", "the kernels' own names begin so"},
};

}  // namespace

std::string name_problem(std::string_view name) {
  if (!is_c_identifier(name)) {
    return fmt::format("use letters, digits and underscores, at most {}, no digit first", kMaxName);
  }
  if (name[0] == '_') return "names that begin with an underscore are the C library's";
  std::string key(name);
  std::ranges::transform(key, key.begin(), [](unsigned char c) { return std::tolower(c); });
  key = " " + key + " ";
  for (const Taken& taken : kTaken) {
    if (std::string_view(taken.names).find(key) != std::string_view::npos) return taken.why;
  }
  return {};
}

bool is_reserved(std::string_view prefix, std::string_view name) {
  constexpr std::string_view kOwn[] = {
      "analysis",      "analyze",       "args",          "arena_bytes", "bad_index",   "capture",
      "check_indices", "check_text",    "check_weights", "compute",     "download",    "has_null",
      "size_error",    "index_error",   "upload",        "config",      "create",      "destroy",
      "entry",         "error_text",    "handle",        "invoke",      "invoke_args", "kernels",
      "open",          "parallel_call", "parallel_for",  "reset",       "run",         "run_host",
      "sizes",         "steps",         "weights",       "weights_t"};
  std::string_view suffix = name.substr(prefix.size() + 1);
  if (std::find(std::begin(kOwn), std::end(kOwn), suffix) != std::end(kOwn)) return true;
  if (c_upper(suffix) == suffix || suffix.ends_with("_steps")) return true;  // macros, parts
  while (!suffix.empty() && suffix.back() >= '0' && suffix.back() <= '9') suffix.remove_suffix(1);
  return suffix == "form" || suffix == "p" || suffix == "t";
}

std::string project_name(std::string_view stem) {
  if (stem.empty()) return "model";
  std::string name;
  for (const char c : stem) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (name[0] == '_' || std::isdigit(static_cast<unsigned char>(name[0]))) {
    name = "model" + (name.starts_with('_') ? name : "_" + name);
  }
  if (name.size() > kMaxName) name.resize(kMaxName);
  return name_problem(name).empty() ? name : name + "_model";
}

}  // namespace qc
