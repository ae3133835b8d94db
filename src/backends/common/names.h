// Names of generated projects: prefixes of files, C symbols, libraries and targets.
#pragma once

#include <string>
#include <string_view>

namespace qc {

/// What is wrong with `name` as the prefix of a project's files, symbols and targets; empty where
/// nothing is.
std::string name_problem(std::string_view name);
/// Whether a generated project with this prefix has, or may come to have, another thing of this
/// name, which begins with the prefix and an underscore.
bool is_reserved(std::string_view prefix, std::string_view name);
/// A name without problems, after a model's file.
std::string project_name(std::string_view stem);

}  // namespace qc
