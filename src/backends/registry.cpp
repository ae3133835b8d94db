#include "backends/registry.h"

namespace qc {

// The build makes the list of folders: `FOLDER_backend()` is the backend of each.
#define QC_BACKEND(folder) const Backend& folder##_backend();
#include "backends/folders.inc"
#undef QC_BACKEND

std::span<const Backend* const> all_backends() {
  static const Backend* const all[] = {
#define QC_BACKEND(folder) &folder##_backend(),
#include "backends/folders.inc"
#undef QC_BACKEND
  };
  return all;
}

const Backend& backend_of(const Target& target) {
  for (const Backend* backend : all_backends()) {
    if (backend->language() == target.language) return *backend;
  }
  QC_CHECK(false, "a target has a language that no backend writes");
  return *all_backends().front();
}

}  // namespace qc
