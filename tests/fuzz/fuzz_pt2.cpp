// Fuzz target of the .pt2 front end: any bytes give a graph that verifies and goes through the
// compiler, or a diagnostic. Linked with libFuzzer it searches; without, its main replays the files
// and folders named on the command line.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "frontends/pt2/importer.h"
#include "frontends/pt2/pickle.h"
#include "frontends/pt2/symexpr.h"
#include "ops/common/registration.h"
#include "tests/fuzz/exercise.h"
#include "tests/fuzz/replay.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool registered = (qc::register_all_ops(), true);
  (void)registered;
  const std::span<const std::byte> bytes{reinterpret_cast<const std::byte*>(data), size};
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  if (auto archive = qc::pt2::Archive::read(bytes, "fuzz.pt2", nullptr); archive.ok()) {
    for (const auto& spec : archive->program().input_specs) {
      (void)archive->weight(spec.target).ok();
    }
    if (auto graph = qc::pt2::import_archive(*archive); graph.ok()) {
      QC_CHECK(qc::verify(**graph).ok(), "an imported graph is not well formed");
      qc::exercise_all(**graph);
    }
  }
  (void)qc::pt2::read_pickle(bytes, {}).ok();
  (void)qc::pt2::parse_program(text, {}).ok();
  (void)qc::pt2::parse_symexpr(text, {}).ok();
  return 0;
}
