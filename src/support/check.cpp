#include <cstdio>
#include <cstdlib>

#include "support/result.h"

namespace qc {
void check_failed(const char* file, int line, const char* reason) {
  std::fprintf(stderr, "quantc: error[bug]: %s (%s:%d)\n", reason, file, line);
  std::abort();
}
}  // namespace qc
