// Runs generated CUDA from C++: a class owns the handle, errors are exceptions with the library's
// text. ./main test.bin
#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <stdexcept>

#include "digits.h"

class Digits {
 public:
  explicit Digits(int deployment = DIGITS_BALANCED) {
    digits_config config = {};
    config.deployment = deployment;
    digits_handle* made = nullptr;
    const int code = digits_create(&config, &made);
    handle_.reset(made);
    need(code);
  }
  std::array<float, DIGITS_OUTPUT_0_ELEMENTS> operator()(const float* pixels) {
    std::array<float, DIGITS_OUTPUT_0_ELEMENTS> scores;
    const void* inputs[] = {pixels};
    void* outputs[] = {scores.data()};
    need(digits_run_host(handle_.get(), inputs, outputs));
    return scores;
  }

 private:
  void need(int code) const {
    if (code != DIGITS_OK) throw std::runtime_error(digits_error_text(handle_.get()));
  }
  struct Destroy {
    void operator()(digits_handle* handle) const { digits_destroy(handle); }
  };
  std::unique_ptr<digits_handle, Destroy> handle_;
};

int main(int argc, char** argv) try {
  if (argc != 2) throw std::runtime_error("usage: main test.bin");
  Digits digits;
  std::ifstream file(argv[1], std::ios::binary);
  std::array<char, DIGITS_INPUT_0_ELEMENTS + 1> record;
  int images = 0, right = 0;
  for (; file.read(record.data(), record.size()); ++images) {
    std::array<float, DIGITS_INPUT_0_ELEMENTS> pixels;
    std::transform(record.begin(), record.end() - 1, pixels.begin(),
                   [](char p) { return static_cast<float>(p) / 16; });
    const auto scores = digits(pixels.data());
    right += std::max_element(scores.begin(), scores.end()) - scores.begin() == record.back();
  }
  std::printf("%d of %d right\n", right, images);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
