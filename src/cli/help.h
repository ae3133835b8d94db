// What users are told about flags: the pages of --help, and what a mistaken call may have meant.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "support/result.h"

namespace qc::cli {

/// Pages of --help in at most 100 columns: a flag with its words or kind of value, what it does,
/// its default.
class HelpPage : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* command) const override;
};

/// All names of a command's flags ("--dim", "-o"), those of every command included.
std::vector<std::string> flag_names(const CLI::App& command);

/// The diagnostic for arguments that could not be parsed: which one, what was probably meant, and
/// whose --help tells more.
Diag mistake(const CLI::App& app, const CLI::ParseError& thrown);

}  // namespace qc::cli
