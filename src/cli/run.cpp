#include <fmt/format.h>

#include "cli/cli.h"
#include "driver/arrays.h"
#include "driver/in_process.h"
#include "interp/interpreter.h"
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
  command->add_option("MODEL", flags->model, "an .onnx or .pt2 file")->required();
  flags->input.add(*command);
  command->add_option("-o,--output", flags->out, "write the outputs here (.npz)");
  command->add_option("--after", flags->after, "run the graph as it is after this pass");
  command
      ->add_option("--threads", flags->threads,
                   "run the compiled Program in process, on this many threads, instead")
      ->check(CLI::Range(1, 256));
  flags->add_dims(*command);
  flags->add_quantization(*command);
  command->footer(
      "Examples:\n  quantc run model.onnx -i in.npz -o out.npz\n"
      "  quantc run model.pt2 --random 1 -o out.npz");
  command->callback([flags, &session] {
    session.action = [flags]() -> Result<int> {
      QC_ASSIGN(Options options, flags->resolve());
      if (!flags->after.empty()) options.stop_after = flags->after;
      QC_ASSIGN(auto graph, load(flags->model, options));
      QC_ASSIGN(std::vector<Tensor> inputs, flags->input.read(*graph));
      if (!flags->out.empty()) QC_TRY(check_output(flags->out, Overwrite::any));
      QC_TRY(add_dims_of(*graph, inputs, options));
      Progress progress("running " + flags->model);
      PassContext context;
      QC_TRY(contract(*graph, options, context));
      std::vector<Tensor> results;
      if (flags->threads > 0) {
        QC_ASSIGN(results, run_in_process(*graph, options, inputs, flags->threads));
      } else {
        QC_ASSIGN(RunResult result, interpret(*graph, inputs));
        results = std::move(result.outputs);
      }
      std::vector<NamedArray> arrays;
      for (size_t i = 0; i < results.size(); ++i) {
        const std::string& name = graph->outputs()[i].name;
        Type type = graph->outputs()[i].value->type();
        type.shape = to_dims(results[i].shape());
        fmt::print("{} {}\n", shown(name), str(type));
        arrays.push_back({name, results[i]});
      }
      if (!flags->out.empty()) QC_TRY(write_npz(flags->out, arrays));
      return 0;
    };
  });
}

}  // namespace qc::cli
