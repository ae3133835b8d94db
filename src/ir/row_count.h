// CountsRows: a capability (see ir/capability.h) of ops whose result has a size the data decide.
#pragma once

namespace qc {

/// An op whose output 0 has room for the most rows there can be; output 1 (i64, rank 0) says how
/// many of the first rows are meant, the rest is padding.
class CountsRows {
 public:
  virtual ~CountsRows() = default;
};

}  // namespace qc
