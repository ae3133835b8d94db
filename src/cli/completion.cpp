// Completion for shells, made from the commands and flags themselves.
#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/help.h"
#include "driver/choices.h"

namespace qc::cli {
namespace {

/// Calls `f` with each option of a command that has a name, those of its groups included.
template <class F>
void for_each_option(const CLI::App& command, F&& f) {
  for (const CLI::Option* option : command.get_options()) f(*option);
  for (const CLI::App* group : command.get_subcommands({})) {
    if (group->get_name().empty()) for_each_option(*group, f);
  }
}

/// "speed|size" as words; nothing for kinds of values such as FILE.
std::vector<std::string> words_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (type == "TARGET") return choices("target");
  if (type.find('|') == std::string::npos) return {};
  return CLI::detail::split(type, '|');
}

std::string bash(const CLI::App& app) {
  std::string commands, flags, values;
  for (const CLI::App* command : app.get_subcommands({})) {
    commands += (commands.empty() ? "" : " ") + command->get_name();
    flags += fmt::format("    {}) flags=\"{}\" ;;\n", command->get_name(),
                         fmt::join(flag_names(*command), " "));
    for_each_option(*command, [&](const CLI::Option& option) {
      const auto words = words_of(option);
      if (words.empty() || option.get_positional()) return;
      const std::string name = option.get_lnames().empty() ? "-" + option.get_snames()[0]
                                                           : "--" + option.get_lnames()[0];
      values += fmt::format("    {}:{}) words=\"{}\" ;;\n", command->get_name(), name,
                            fmt::join(words, " "));
    });
  }
  return fmt::format(R"(_quantc() {{
  local now="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" command="${{COMP_WORDS[1]}}"
  local flags="" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{}" -- "$now"))
    return
  fi
  case "$command:$before" in
    help:*) words="{}" ;;
    completion:*) words="bash zsh fish" ;;
{}  esac
  case "$command" in
{}  esac
  if [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$now"))
  elif [ "${{now#-}}" != "$now" ]; then
    COMPREPLY=($(compgen -W "$flags" -- "$now"))
  else
    COMPREPLY=($(compgen -f -- "$now"))
  fi
}}
complete -o filenames -F _quantc quantc
)",
                     commands, commands, values, flags);
}

std::string fish(const CLI::App& app) {
  std::string out = "complete -c quantc -n __fish_use_subcommand -f\n";
  for (const CLI::App* command : app.get_subcommands({})) {
    out += fmt::format("complete -c quantc -n __fish_use_subcommand -a {} -d '{}'\n",
                       command->get_name(), command->get_description());
    for_each_option(*command, [&](const CLI::Option& option) {
      if (option.get_positional()) return;
      std::string line = fmt::format("complete -c quantc -n '__fish_seen_subcommand_from {}'",
                                     command->get_name());
      for (const std::string& name : option.get_lnames()) line += " -l " + name;
      for (const std::string& name : option.get_snames()) line += " -s " + name;
      const auto words = words_of(option);
      if (option.get_type_size() != 0) line += " -r";
      if (!words.empty()) line += fmt::format(" -f -a '{}'", fmt::join(words, " "));
      out += line + "\n";
    });
  }
  return out;
}

}  // namespace

void add_completion(CLI::App& app, Session& session) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("completion", "print what makes a shell complete commands and flags");
  command->add_option("SHELL", *shell, "bash, zsh or fish")->required();
  command->footer(
      "Examples:\n  source <(quantc completion bash)    # in ~/.bashrc\n"
      "  source <(quantc completion zsh)     # in ~/.zshrc\n"
      "  quantc completion fish > ~/.config/fish/completions/quantc.fish");
  command->callback([shell, &app, &session] {
    session.action = [shell, &app]() -> Result<int> {
      QC_TRY(check_choice("shell", *shell, "SHELL"));
      if (*shell == "fish") {
        fmt::print("{}", fish(app));
      } else {
        fmt::print("{}{}", *shell == "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" : "",
                   bash(app));
      }
      return 0;
    };
  });
}

}  // namespace qc::cli
