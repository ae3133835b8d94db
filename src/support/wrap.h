// Text for terminals of a given width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace qc {

/// `text` behind `front`, broken between words where lines grow longer than `width`; lines after
/// the first begin below the text. A word that is too long stays whole.
std::string wrapped(std::string_view front, std::string_view text, size_t width);

}  // namespace qc
