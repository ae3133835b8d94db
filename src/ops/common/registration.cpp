#include "ops/common/registration.h"

#include <mutex>

namespace qc {

#define QC_OP_FOLDER(folder) void register_##folder(Registration&);
#include "ops/folders.inc"
#undef QC_OP_FOLDER

void register_all_ops() {
  static std::once_flag once;
  std::call_once(once, [] {
#define QC_OP_FOLDER(folder)            \
  {                                     \
    Registration registration(#folder); \
    register_##folder(registration);    \
  }
#include "ops/folders.inc"
#undef QC_OP_FOLDER
  });
}

}  // namespace qc
