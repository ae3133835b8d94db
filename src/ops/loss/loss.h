#pragma once

#include <span>

#include "frontends/common/foreign.h"

namespace qc {

std::span<const ImportRow> loss_aten_rows();

}  // namespace qc
