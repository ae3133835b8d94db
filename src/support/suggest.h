// What a user may have meant by a word that is none of those allowed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qc {

/// Letters to be changed, added, left out or swapped with their neighbours to make one word the
/// other; case does not count.
size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `word`, when it is near enough to be meant: a third of its letters may
/// differ, or one is a part of the other (avx2 of x86-avx2), best at its start, or short for it
/// (onnxrt for onnxruntime). The first of several that are as near.
std::optional<std::string> closest(std::string_view word,
                                   const std::vector<std::string>& candidates);

/// "; did you mean 'x'?" for ends of messages; empty where nothing is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace qc
