// Numbers that depend on the size of a free dimension, as C expressions.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace qc {

/// Finds expressions in `n` that give known values for known sizes, exactly: a number, a polynomial
/// of up to the second degree, a rounded quotient, or else a table.
class Formulas {
 public:
  /// `prefix` begins the names of tables.
  explicit Formulas(std::string prefix) : prefix_(std::move(prefix)) {}

  /// An int64_t expression with values[i] at n = sizes[i].
  std::string integer(std::span<const int64_t> sizes, std::span<const int64_t> values);
  /// The same as a table, which is 0 for n between the sizes.
  std::string table(std::span<const int64_t> sizes, std::span<const int64_t> values);
  /// A float expression; always a table, of the bits as given.
  std::string real(std::span<const int64_t> sizes, std::span<const float> values);

  /// Definitions of the tables used so far.
  const std::string& tables() const { return tables_; }

 private:
  std::string table(const char* type, std::span<const int64_t> sizes,
                    const std::vector<std::string>& values);

  std::string prefix_, tables_;
  std::map<std::string, std::string> names_;  // by contents
};

}  // namespace qc
