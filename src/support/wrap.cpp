#include "support/wrap.h"

namespace qc {

std::string wrapped(std::string_view front, std::string_view text, size_t width) {
  std::string out(front);
  size_t used = front.size();
  bool first = true;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!first && used + 1 + word.size() > width) {
      out += "\n" + std::string(front.size(), ' ');
      used = front.size();
      first = true;
    }
    if (!first) out += ' ';
    out += word;
    used += word.size() + (first ? 0 : 1);
    first = false;
  }
  return out + "\n";
}

}  // namespace qc
