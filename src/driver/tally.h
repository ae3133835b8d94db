// One comparison of a validation while its samples come in.
#pragma once

#include <string>

#include "driver/validate.h"

namespace qc {

inline constexpr const char* kInterpreter = "interpreter";
inline constexpr const char* kExpected = "expected";
inline constexpr const char* kFloats = "float";

/// The largest finite magnitude of the elements.
double largest(const Tensor& tensor);

class Tally {
 public:
  Tally(std::string got, std::string want, std::string output, const Tolerance& tolerance);

  bool is(const std::string& got, const std::string& want, const std::string& output) const {
    return out_.got == got && out_.want == want && out_.output == output;
  }
  /// `tokens` are what the logits should predict; may be null.
  void see(const Tensor& got, const Tensor& want, int64_t sample, const Tensor* tokens);
  /// The comparison with its verdict: bits against the interpreter, else the bars of `v`.
  Comparison finish(const ValidateOptions& v);

 private:
  void judge(const ValidateOptions& v);

  Tolerance tolerance_;
  double nll_got_ = 0, nll_want_ = 0;  // sums over all predicted tokens
  Comparison out_;
};

}  // namespace qc
