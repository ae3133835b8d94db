// Descriptor: an open file of the system that is closed at the end of its scope.
#pragma once

#include <unistd.h>

namespace qc {

struct Descriptor {
  explicit Descriptor(int fd) : fd(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { reset(); }
  /// Closes it before that.
  void reset() {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
  int fd;
};

}  // namespace qc
