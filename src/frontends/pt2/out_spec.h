// Names that a program's outputs have in what forward returns: keys of dicts and of data classes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frontends/pt2/program.h"

namespace qc::pt2 {

/// The names of the leaves of a serialised tree of outputs: keys joined by "_" ("logits",
/// "hidden_0"), from the first key of their path on; empty for leaves that have none. Nothing where
/// the text is no such tree.
std::vector<std::string> output_names(std::string_view spec, const Loc& loc);

}  // namespace qc::pt2
