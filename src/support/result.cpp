#include "support/result.h"

#include <fmt/format.h>

#include "support/bug.h"

namespace qc {
namespace detail {

Diag* boxed(const Diag& diag) { return new Diag(diag); }
Diag* boxed(Diag&& diag) { return new Diag(std::move(diag)); }
void destroy(Diag* diag) { delete diag; }

void wrong_access() { check_failed(__FILE__, __LINE__, "a result holds the other of its two"); }

}  // namespace detail

void check_failed(const char* file, int line, const char* reason) {
  throw Bug(fmt::format("{} ({}:{})", reason, file, line));
}

}  // namespace qc
