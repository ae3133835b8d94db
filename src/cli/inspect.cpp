#include "driver/inspect.h"

#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/terminal.h"
#include "ir/text.h"
#include "ops/common/registration.h"
#include "support/escape.h"
#include "support/output.h"

namespace qc::cli {

void add_inspect(CLI::App& app, Session& session) {
  struct Flags : CompileFlags {
    std::string model, svg;
    bool ir = false, program = false, kernels = false, summary = false, names = false, dot = false,
         raw = false, json = false, constants = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command =
      app.add_subcommand("inspect", "look at a model: a table, its graph, its program, a picture");
  add_model(*command, flags->model);
  auto* what = command->add_option_group("what", "what to show (default: --summary)");
  what->add_flag("--summary", flags->summary, "a table of layers with sizes and work");
  what->add_flag("--json", flags->json, "that table as JSON (docs/schema/inspect.json)");
  what->add_flag("--ir", flags->ir, "the graph in text form");
  what->add_flag("--program", flags->program, "buffers and kernel calls");
  what->add_flag("--kernels", flags->kernels,
                 "what computes each kernel call, and why other variants do not");
  what->add_flag("--names", flags->names,
                 "the model's own node names, which rules match, with the op");
  what->add_flag("--dot", flags->dot, "the graph in Graphviz's language");
  add_value(*what, "--svg", flags->svg, "FILE", "write a picture to this file (needs Graphviz)");
  what->require_option(0, 1);
  command->add_flag("--constants", flags->constants,
                    "for --ir: every constant with its values, so that the text is a model (.ir)");
  command->add_flag("--imported", flags->raw, "as imported, before any pass");
  flags->add_dims(*command);
  flags->add_quantization(*command);
  flags->add_target(*command, "for --program and --kernels: see `quantc targets`");
  flags->add(*command, "--kernel", &Options::kernels, "LAYER=VARIANT",
             "for --program and --kernels: what computes a layer");
  flags->add(*command, "--threads", &Options::threads, "", "for --program: split large steps");
  flags->add_allow_host(*command);
  command->footer(
      "Examples:\n  quantc inspect model.onnx\n  quantc inspect model.pt2 --ir\n"
      "  quantc inspect model.onnx --svg model.svg");
  command->callback([flags, &session] {
    session.action = [flags]() -> Result<int> {
      QC_ASSIGN(Options options, flags->resolve());
      QC_ASSIGN(auto graph, load(flags->model, options));
      if (!flags->svg.empty()) QC_TRY(check_output(flags->svg, Overwrite::any));
      Progress progress("inspecting " + flags->model);
      if (flags->names) {
        // Rules are matched here, before nodes fuse.
        options.stop_after = "raise_patterns";
        options.allow_unused_rules = true;
      }
      PassContext context;
      if (!flags->raw) QC_TRY(contract(*graph, options, context));
      if (flags->program) {
        QC_ASSIGN(Program program, make_program(*graph, options));
        fmt::print("{}", str(program));
      } else if (flags->kernels) {
        QC_ASSIGN(const std::string choices, kernel_choices(*graph, options, terminal_width()));
        fmt::print("{}", choices);
      } else if (flags->ir) {
        fmt::print("{}", print(*graph, {.all_constants = flags->constants}));
      } else if (flags->names) {
        fmt::print("{}", names(*graph));
      } else if (flags->dot) {
        fmt::print("{}", dot(*graph));
      } else if (!flags->svg.empty()) {
        QC_ASSIGN(std::string picture, svg(*graph));
        return deliver(flags->svg, picture, shown(flags->svg) + "\n");
      } else {
        fmt::print("{}", flags->json ? summary_json(*graph) : summary(*graph, terminal_width()));
      }
      return 0;
    };
  });
}

void add_ops(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("ops", "list the supported operations (Markdown)");
  command->footer("Example:\n  quantc ops > docs/ops.md");
  command->callback([&session] {
    session.action = []() -> Result<int> {
      register_all_ops();
      fmt::print("{}", ops_markdown());
      return 0;
    };
  });
}

}  // namespace qc::cli
