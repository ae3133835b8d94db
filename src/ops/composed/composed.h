// Small ops that are a line or two of others: the rows of one front end each.
#pragma once

#include <span>

#include "frontends/common/foreign.h"

namespace qc {

std::span<const ImportRow> composed_aten_rows();

}  // namespace qc
