// Fuzz target of the text form: any text gives a graph or a diagnostic, what prints parses again to
// the same text, and the graph goes through the compiler. Linked with libFuzzer it searches;
// without, it replays files.
#include <cstdlib>
#include <string_view>

#include "ir/text.h"
#include "ops/common/registration.h"
#include "tests/fuzz/exercise.h"
#include "tests/fuzz/replay.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  qc::register_all_ops();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto graph = qc::parse(text);
  if (!graph.ok()) return 0;
  const std::string once = qc::print(**graph);
  auto again = qc::parse(once, {.file = {}, .side = &(*graph)->pool()});
  if (!again.ok() || qc::print(**again) != once) std::abort();
  qc::exercise_all(**graph);
  return 0;
}
