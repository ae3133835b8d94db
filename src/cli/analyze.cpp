#include "driver/analyze.h"

#include <fmt/format.h>

#include <filesystem>

#include "cli/cli.h"
#include "cli/terminal.h"
#include "driver/analyze_page.h"
#include "driver/arrays.h"
#include "support/output.h"

namespace qc::cli {

void add_analyze(CLI::App& app, Session& session) {
  struct Flags : CompileFlags {
    std::string model, page;
    std::vector<std::string> data;
    bool as_json = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command =
      app.add_subcommand("analyze", "say which quantized layer is how far from the float model");
  add_model(*command, flags->model);
  add_value(*command, "--data", flags->data, "FILE",
            "samples by input name or as in_0, in_1, ..., along axis 0 (.npz, .npy)")
      ->required();
  add_value(*command, "--html", flags->page, "FILE", "write a page with plots and the graph");
  command->add_flag("--json", flags->as_json, "as JSON (docs/schema/analyze.json)");
  flags->add_dims(*command);
  flags->add_quantization(*command);
  command->footer("Example:\n  quantc analyze model.pt2 --rules rules.toml --data samples.npz");
  command->callback([flags, &session] {
    session.action = [flags]() -> Result<int> {
      QC_ASSIGN(Options options, flags->resolve());
      QC_ASSIGN(auto graph, load(flags->model, options));
      QC_ASSIGN(auto data, open_arrays(flags->data, graph->inputs().size()));
      QC_ASSIGN(Samples samples,
                Samples::open(*graph, std::move(data),
                              Bindings(options.dims.begin(), options.dims.end()), true));
      if (!flags->page.empty()) QC_TRY(check_output(flags->page, Overwrite::any));
      QC_TRY(add_dims_of(*graph, samples, options));
      Progress progress("analyzing " + flags->model);
      QC_ASSIGN(auto plain, copy(*graph));
      PassContext floats;
      floats.compute_in_f32 = true;
      QC_TRY(make_contract(*plain, without_rules(options), floats));
      PassContext context;
      QC_TRY(contract(*graph, layer_by_layer(options), context));
      const std::vector<Tensor> first = samples.first();
      watch_time_of(samples);
      QC_ASSIGN(const Analysis found, analyze(*plain, *graph, context, std::move(samples)));
      const std::string report =
          flags->as_json ? json(found) : table(found, terminal_width(), is_terminal());
      if (!flags->page.empty()) {
        const std::string title = std::filesystem::path(flags->model).filename().string();
        QC_ASSIGN(const std::string page,
                  analysis_page(found, *plain, *graph, options, first, title));
        return deliver(flags->page, page, report);
      }
      print_text(report);
      return 0;
    };
  });
}

}  // namespace qc::cli
