#include "cli/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/cli.h"
#include "support/suggest.h"
#include "support/wrap.h"

namespace qc::cli {
namespace {

constexpr size_t kWidth = 100, kColumn = 30;

/// `text` from the column on; `left` is what stands before it.
std::string beside(std::string left, const std::string& text) {
  if (left.size() + 1 > kColumn)
    return left + "\n" + wrapped(std::string(kColumn, ' '), text, kWidth);
  left.resize(kColumn, ' ');
  return wrapped(left, text, kWidth);
}

/// "compile", or nothing before a command is known.
const CLI::App* chosen(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? nullptr : parsed.front();
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!command->get_name().empty()) out.push_back(command->get_name());
  }
  return out;
}

/// Whether a word in the place of a command is a model.
bool is_model(const std::string& word) {
  constexpr std::string_view kQuantizeEpilogues[] = {".onnx", ".pt2", ".json", ".ir"};
  std::error_code ignored;
  return std::ranges::any_of(kQuantizeEpilogues, [&](auto end) { return word.ends_with(end); }) ||
         std::filesystem::is_regular_file(word, ignored);
}

Diag wrong_command(const CLI::App& app, const std::string& word) {
  if (is_model(word)) {
    return error(Code::usage,
                 "a command is missing before '{0}': `quantc inspect {0}` looks at the model, "
                 "`quantc compile {0} -o DIR` writes C (see quantc --help)",
                 word);
  }
  const std::vector<std::string> known = command_names(app);
  return error(Code::usage, "there is no command '{}': use one of {}{} (see quantc --help)", word,
               fmt::join(known, ", "), did_you_mean(word, known));
}

/// A flag that `command` does not have.
Diag wrong_flag(const CLI::App& app, const CLI::App& command, const std::string& given) {
  const std::string flag = given.substr(0, given.find('='));
  const std::string help = fmt::format("(see quantc {} --help)", command.get_name());
  const std::vector<std::string> own = flag_names(command);
  if (const auto near = closest(flag, own)) {
    return error(Code::usage, "{} has no flag {}; did you mean '{}'? {}", command.get_name(), flag,
                 *near, help);
  }
  std::vector<std::string> others;
  for (const CLI::App* other : app.get_subcommands({})) {
    const std::vector<std::string> names = flag_names(*other);
    if (std::find(names.begin(), names.end(), flag) != names.end())
      others.push_back(other->get_name());
  }
  if (!others.empty()) {
    return error(Code::usage, "{} has no flag {}: it is one of {} {}", command.get_name(), flag,
                 fmt::join(others, ", "), help);
  }
  return error(Code::usage, "{} has no flag {}: use one of {} {}", command.get_name(), flag,
               fmt::join(own, ", "), help);
}

/// All options of a command, those of its groups too.
std::vector<const CLI::Option*> options_of(const CLI::App& command) {
  std::vector<const CLI::Option*> out = command.get_options();
  for (const CLI::App* group : command.get_subcommands({})) {
    const auto more = group->get_options();
    if (group->get_name().empty()) out.insert(out.end(), more.begin(), more.end());
  }
  return out;
}

/// A value that is no number, or a flag that takes none: "Could not convert: --random = abc".
std::string not_converted(const CLI::App& command, const std::string& thrown) {
  for (const CLI::Option* option : options_of(command)) {
    const std::string start = fmt::format("Could not convert: {} = ", option->get_name());
    if (!thrown.starts_with(start)) continue;
    const std::string value = thrown.substr(start.size()), &kind = option->get_type_name();
    if (kind.empty()) return fmt::format("{} takes no value, got '{}'", option->get_name(), value);
    if (kind.find('|') != kind.npos)
      return fmt::format("{} is '{}': use one of {}", option->get_name(), value,
                         fmt::join(CLI::detail::split(kind, '|'), ", "));
    return fmt::format("{} is '{}': give a {}number", option->get_name(), value,
                       kind == "N" || kind == "SEED" ? "whole " : "");
  }
  return thrown;
}

/// What the library for command lines found, in this program's words.
std::string in_words(const CLI::App& command, const CLI::ParseError& thrown) {
  const std::string& kind = thrown.get_name();
  if (kind == "ConversionError") return not_converted(command, thrown.what());
  if (kind == "RequiredError" &&
      std::string_view(thrown.what()).starts_with("Requires at most 1")) {
    std::vector<std::string> given;
    for (const CLI::Option* option : options_of(command)) {
      if (option->count() > 0 && option->get_expected_max() <= 1 && !option->get_positional())
        given.push_back(option->get_name());
    }
    return fmt::format("give one of {}, not several", fmt::join(given, ", "));
  }
  if (kind == "ArgumentMismatch") {
    for (const CLI::Option* option : options_of(command)) {
      const size_t count = option->results().size();
      if (count > 1 && option->get_expected_max() == 1)
        return fmt::format("{} is given {} times: it takes one value", option->get_name(), count);
      if (std::string_view(thrown.what()).starts_with(option->get_name() + ":") && count == 0)
        return fmt::format("{} needs a value, {}", option->get_name(), option->get_type_name());
    }
  }
  return thrown.what();
}

bool is_flag(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

}  // namespace

std::string HelpPage::make_option(const CLI::Option* option, bool is_positional) const {
  std::string left = "  ";
  if (is_positional) {
    left += option->get_name(true);
  } else {
    std::vector<std::string> names;
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    left += fmt::format("{}", fmt::join(names, ", "));
    if (option->get_type_size() != 0 && !option->get_type_name().empty())
      left += " " + option->get_type_name();
  }
  std::string text = option->get_description();
  if (option->get_expected_max() >= CLI::detail::expected_max_vector_size) text += " (repeatable)";
  if (option->get_required()) text += " (required)";
  return beside(left, text);
}

std::string HelpPage::make_subcommand(const CLI::App* command) const {
  return beside("  " + command->get_name(), command->get_description());
}

std::vector<std::string> flag_names(const CLI::App& command) {
  std::vector<std::string> out;
  auto add = [&](const CLI::App& app) {
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
      for (const std::string& name : option->get_snames()) out.push_back("-" + name);
    }
  };
  add(command);
  for (const CLI::App* group : command.get_subcommands({})) {
    if (group->get_name().empty()) add(*group);
  }
  if (const CLI::App* app = command.get_parent()) add(*app);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

void add_help(CLI::App& app, Session& session) {
  auto topic = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("help", "print the page of a command, as its --help does");
  command->add_option("COMMAND", *topic, "the command (default: all of quantc)");
  command->footer("Example:\n  quantc help compile");
  command->callback([topic, &app, &session] {
    session.action = [topic, &app]() -> Result<int> {
      const std::vector<std::string> known = command_names(app);
      if (!topic->empty() && std::find(known.begin(), known.end(), *topic) == known.end())
        return wrong_command(app, *topic);
      app.clear();
      fmt::print("{}", topic->empty() ? app.help() : app.get_subcommand(*topic)->help("quantc"));
      return 0;
    };
  });
}

Diag mistake(const CLI::App& app, const CLI::ParseError& thrown) {
  const std::vector<std::string> left = app.remaining(true);
  const CLI::App* command = chosen(app);
  if (!command) {
    for (const std::string& word : left) {
      if (!is_flag(word)) return wrong_command(app, word);
    }
    if (!left.empty()) {
      return error(Code::usage, "quantc has no flag {}{} (see quantc --help)", left[0],
                   did_you_mean(left[0], flag_names(app)));
    }
    return error(Code::usage, "a command is missing: use one of {} (see quantc --help)",
                 fmt::join(command_names(app), ", "));
  }
  for (const std::string& word : left) {
    if (is_flag(word)) return wrong_flag(app, *command, word);
  }
  const std::string& name = command->get_name();
  if (!left.empty()) {
    return error(
        Code::usage,
        "'{}' is one argument too many: a flag takes one value and is repeated for more, as "
        "in -i a.npy -i b.npy (see quantc {} --help)",
        left[0], name);
  }
  return error(Code::usage, "{} (see quantc {} --help)", in_words(*command, thrown), name);
}

}  // namespace qc::cli
