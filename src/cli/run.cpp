#include "driver/run.h"

#include <fmt/format.h>

#include "cli/cli.h"
#include "driver/arrays.h"
#include "support/escape.h"
#include "support/output.h"

namespace qc::cli {

void add_run(CLI::App& app, Session& session) {
  struct Flags : CompileFlags {
    std::string model, out, after;
    int threads = 0;
    InputFlags input;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("run", "run a model in the reference interpreter");
  add_model(*command, flags->model);
  flags->input.add(*command);
  add_value(*command, "-o,--output", flags->out, "FILE", "write the outputs here (.npz)");
  add_value(*command, "--after", flags->after, "PASS", "run the graph as it is after this pass");
  add_value(*command, "--threads", flags->threads, "N",
            "run the compiled Program in process, on 1 to 256 threads, instead of the interpreter")
      ->check(CLI::Range(1, 256).description(""));
  flags->add_dims(*command);
  flags->add_quantization(*command);
  flags->add_disable_pass(*command);
  command->footer(
      "Examples:\n  quantc run model.onnx -i in.npz -o out.npz\n"
      "  quantc run model.pt2 --random 1 -o out.npz\n"
      "  quantc run model.pt2 --data samples.npz --threads 4 -o out.npz");
  command->callback([flags, &session] {
    session.action = [flags]() -> Result<int> {
      QC_ASSIGN(Options options, flags->resolve());
      if (!flags->after.empty()) options.stop_after = flags->after;
      QC_ASSIGN(auto graph, load(flags->model, options));
      QC_ASSIGN(Samples samples, flags->input.open(*graph, options));
      if (!flags->out.empty()) QC_TRY(check_output(flags->out, Overwrite::any));
      QC_TRY(add_dims_of(*graph, samples, options));
      Progress progress("running " + flags->model);
      PassContext context;
      QC_TRY(contract(*graph, options, context));
      QC_TRY(flags->input.renew(*graph, samples));
      watch_time_of(samples);
      QC_ASSIGN(const auto sets, run_all(*graph, options, std::move(samples), flags->threads));
      std::vector<NamedArray> arrays;
      std::string report;
      for (size_t set = 0; set < sets.size(); ++set) {
        for (size_t i = 0; i < sets[set].size(); ++i) {
          const Output& output = graph->outputs()[i];
          const std::string name =
              sets.size() == 1 ? output.name : fmt::format("{}/{}", set, output.name);
          Type type = output.value->type();
          type.shape = to_dims(sets[set][i].shape());
          report += fmt::format("{} {}\n", shown(name), str(type));
          arrays.push_back({name, sets[set][i]});
        }
      }
      if (!flags->out.empty()) {
        QC_ASSIGN(const std::string bytes, npz_bytes(arrays));
        return deliver(flags->out, bytes, report);
      }
      print_text(report);
      return 0;
    };
  });
}

}  // namespace qc::cli
