// Weights of the generated project: one blob, streamed constant by constant.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backends/common/project.h"

namespace qc {

/// Where each constant that is used lies in the blob, and the blob's size. Parts share constants.
struct WeightMap {
  std::map<ConstId, int64_t> offsets;
  int64_t bytes = 0;
  std::map<ConstId, std::string> names = {};  // members of a struct; empty: weights are bytes
};
WeightMap map_weights(const Module& module);
/// Where the constants lie that one program's device reads: it has no room for those of others.
WeightMap map_device_weights(const Program& program);

/// Bytes that lie together, in the blob and on the device.
struct WeightRange {
  int64_t from = 0, to = 0, bytes = 0;
};
std::vector<WeightRange> ranges_between(const WeightMap& blob, const WeightMap& device);

struct WrittenWeights {
  uint64_t hash = 0;                    // FNV-1a, 64 bits
  std::vector<std::string> not_finite;  // names of those with a NaN or a positive infinity
};

/// Writes the blob in the chosen form. Negative infinities are not counted: masks are made of them.
Result<WrittenWeights> write_weights(const ConstantPool& pool, const WeightMap& map,
                                     const ProjectOptions& options, FileSet& files);

/// NAME_check_weights(weights): whether bytes are those that were written.
std::string weight_check_text(const ProjectOptions& options);

/// C string literal rows of 2 KiB: `"..."` lines for `unsigned char x[n][2048]`. Feeds on any
/// split.
class LiteralRows {
 public:
  static constexpr size_t kRow = 2048;
  explicit LiteralRows(FileSet& files) : files_(files) {}
  Result<Ok> add(const std::byte* data, size_t size);
  Result<Ok> finish();

 private:
  Result<Ok> flush();
  FileSet& files_;
  std::string text_;
  size_t in_row_ = 0;
};

}  // namespace qc
