// Files that are no models quantc reads, but models or programs of others: what to do with them.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "support/diag.h"

namespace qc {

/// What the file is and how to get from it to one that quantc reads; empty for files of no kind
/// known here, which the front ends judge.
std::string other_kind(const std::string& path, std::span<const std::byte> bytes);

/// The same of a folder in the place of a model; empty for one of no kind known here.
std::string folder_kind(const std::string& path);

/// Adds what to do about a failure to import that users can mend by exporting in another way.
void add_advice(Diag& diag);

}  // namespace qc
