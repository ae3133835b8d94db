#include "driver/explain.h"

#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/terminal.h"
#include "driver/buckets.h"
#include "support/escape.h"
#include "support/wrap.h"

namespace qc::cli {

void add_explain(CLI::App& app, Session& session) {
  struct Flags : CompileFlags {
    std::string model;
    bool as_json = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand(
      "explain",
      "say how every node is quantized: rule, formats, accumulators, conversions, what is float");
  add_model(*command, flags->model);
  command->add_flag("--json", flags->as_json, "as JSON (docs/schema/explain.json)");
  flags->add_dims(*command);
  flags->add_quantization(*command);
  flags->add_disable_pass(*command);
  command->footer("Example:\n  quantc explain model.pt2 --rules rules.toml");
  command->callback([flags, &session] {
    session.action = [flags]() -> Result<int> {
      QC_ASSIGN(Options options, flags->resolve());
      PassContext context;
      QC_ASSIGN(auto graph, load(flags->model, options, &context.remarks));
      Progress progress("explaining " + flags->model);
      QC_TRY(contract(*graph, options, context));
      QC_TRY(note_padding(*graph, options, context));
      QC_TRY(note_tables(*graph, options.disabled_passes, context));
      QC_ASSIGN(const auto reports, explain(*graph, context));
      if (flags->as_json) {
        fmt::print("{}", json(reports, context));
        return 0;
      }
      fmt::print("{}", table(reports, terminal_width(), is_terminal()));
      for (const std::string& remark : context.remarks) {
        for (const std::string_view pass :
             {"dot: ", "fold_qdq: ", "lift_quantize: ", "merge_products: ", "pad_to_buckets: ",
              "store_tables: "}) {
          if (!remark.starts_with(pass)) continue;
          fmt::print("{}",
                     wrapped("remark: ", shown(remark.substr(pass.size())), terminal_width()));
        }
      }
      return 0;
    };
  });
}

}  // namespace qc::cli
