// Loads a model, runs it once on zeros and compiles it: use_library MODEL FOLDER.
#include <quantc/quantc.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: use_library MODEL FOLDER\n");
    return 1;
  }
  auto model = quantc::Model::load(argv[1]);
  if (!model) {
    std::fprintf(stderr, "%s\n", model.diagnostic().message.c_str());
    return static_cast<int>(model.diagnostic().kind);
  }
  std::vector<quantc::Array> inputs;
  for (const quantc::Port& port : model->inputs()) {
    quantc::Array array{port.name, port.type, {}, {}};
    size_t elements = 1;
    for (const std::string& size : port.shape) {
      array.shape.push_back(std::atoll(size.c_str()));
      elements *= static_cast<size_t>(array.shape.back());
    }
    array.data.resize(elements * sizeof(float));
    inputs.push_back(array);
  }
  auto outputs = model->run(inputs);
  if (!outputs) {
    std::fprintf(stderr, "%s\n", outputs.diagnostic().message.c_str());
    return static_cast<int>(outputs.diagnostic().kind);
  }
  auto report = model->compile(argv[2]);
  if (!report) {
    std::fprintf(stderr, "%s\n", report.diagnostic().message.c_str());
    return static_cast<int>(report.diagnostic().kind);
  }
  std::printf("%s: %zu outputs, arena %lld bytes, weights %lld bytes\n", report->name.c_str(),
              outputs->size(), static_cast<long long>(report->arena_bytes),
              static_cast<long long>(report->weight_bytes));
  return 0;
}
