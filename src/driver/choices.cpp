#include "driver/choices.h"

#include <fmt/format.h>

#include <algorithm>

#include "quant/arithmetic.h"
#include "support/suggest.h"
#include "target/target.h"

namespace qc {
namespace {

struct Row {
  std::string_view option;
  std::vector<std::string> words;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {"weights", {"literal", "incbin", "file"}},
      {"specialise", {"speed", "size"}},
      {"plan", {"fixed", "smallest"}},
      {"state", {"kept", "io"}},
      {"io_dtype", {"keep", "quantized"}},
      {"level", {"0", "1", "2"}},
      {"shell", {"bash", "zsh", "fish"}},
      {"method", {"minmax", "percentile", "entropy", "mse"}},
      {"activations", {"int8", "uint8", "int16"}},
      {"results", {"auto", "narrow", "sums", "wide", "float32"}},
  };
  return all;
}

}  // namespace

std::vector<std::string> choices(std::string_view option) {
  if (option == "target") {
    std::vector<std::string> out = {"native"};
    for (const Target& t : all_targets()) out.push_back(t.name);
    return out;
  }
  if (option == "arithmetic") {
    const auto presets = arithmetic_presets();
    return {presets.begin(), presets.end()};
  }
  const auto row = std::ranges::find(rows(), option, &Row::option);
  return row == rows().end() ? std::vector<std::string>{} : row->words;
}

Result<Ok> check_choice(std::string_view option, std::string_view value, std::string_view shown) {
  const std::vector<std::string> words = choices(option);
  if (std::ranges::find(words, value) != words.end()) return Ok{};
  return error(Code::usage, "{} is '{}': use one of {}{}", shown, value, fmt::join(words, ", "),
               did_you_mean(value, words));
}

}  // namespace qc
