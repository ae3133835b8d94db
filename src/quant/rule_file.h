// Rule files: quantization rules as TOML. docs/rules.md explains every key.
#pragma once

#include <string>
#include <vector>

#include "arrays/npz.h"
#include "quant/rules.h"
#include "quantc/rules.h"
#include "support/result.h"

namespace qc {

/// Begins a file that calibration wrote, or rules of it: its rules are `calibrated`.
inline constexpr std::string_view kCalibrationMark = "# Written by quantc calibrate";

/// The rules of a file in order, each with `origin` "file:line". Unknown keys, values of the wrong
/// kind and numbers that are no scales are errors naming file and line.
/// Numbers that calibration can find may be left out where `missing` says so.
Result<std::vector<quantc::RuleSpec>> read_rules(const std::string& path,
                                                 Missing missing = Missing::refused);
/// The same from text; `path` is for messages and for files named in it.
Result<std::vector<quantc::RuleSpec>> parse_rules(const std::string& text, const std::string& path,
                                                  Missing missing = Missing::refused);

/// The keys of a rule that are not empty, one line each. Long lists are added to `arrays`, which
/// the caller writes to the file `archive` beside the rules.
std::string rule_keys(const quantc::RuleSpec& spec, const std::string& archive,
                      std::vector<NamedArray>& arrays);

}  // namespace qc
