#include "program/program.h"

namespace qc {

View Program::resolve(View view) const {
  while (buffers[static_cast<size_t>(view.buffer)].alias_of >= 0) {
    const Buffer& b = buffers[static_cast<size_t>(view.buffer)];
    view = View{b.alias_of, view.offset + b.alias_offset};
  }
  return view;
}

}  // namespace qc
