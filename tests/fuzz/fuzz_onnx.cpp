// Fuzz target of the ONNX front end: any bytes give a graph that verifies and goes through the
// compiler, or a diagnostic. Linked with libFuzzer it searches; without, its main replays the files
// and folders named on the command line.
#include <cstddef>
#include <cstdint>

#include "frontends/onnx/import.h"
#include "frontends/onnx/tensor.h"
#include "ops/common/registration.h"
#include "tests/fuzz/exercise.h"
#include "tests/fuzz/replay.h"

namespace {

void touch(qc::onnx::TensorReader& reader, const qc::onnx::GraphProto& graph) {
  for (const auto& t : graph.initializers) (void)reader.read(t).ok();
  for (const auto& t : graph.sparse_initializers) (void)reader.read(t).ok();
  for (const auto& node : graph.nodes) {
    for (const auto& a : node.attributes) {
      if (a.t) (void)reader.read(*a.t).ok();
      if (a.sparse_tensor) (void)reader.read(*a.sparse_tensor).ok();
      for (const auto& t : a.tensors) (void)reader.read(t).ok();
      if (a.g) touch(reader, *a.g);
      for (const auto& g : a.graphs) touch(reader, g);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes{reinterpret_cast<const std::byte*>(data), size};
  [[maybe_unused]] static const bool registered = (qc::register_all_ops(), true);
  qc::onnx::TensorReader reader;
  if (auto model = qc::onnx::parse_model(bytes, "fuzz.onnx"); model.ok()) {
    touch(reader, model->graph);
    if (auto graph = qc::onnx::import_model(*model); graph.ok()) {
      QC_CHECK(verify(**graph).ok(), "an imported graph is broken");
      qc::exercise_all(**graph);
    }
  }
  if (auto tensor = qc::onnx::parse_tensor(bytes, "fuzz.pb"); tensor.ok()) {
    (void)reader.read(*tensor).ok();
  }
  return 0;
}
