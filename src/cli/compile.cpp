#include <fmt/format.h>

#include <iterator>

#include "cli/cli.h"
#include "driver/arrays.h"
#include "driver/compile_json.h"
#include "driver/explain.h"
#include "support/counted.h"
#include "support/escape.h"

namespace qc::cli {

void add_compile(CLI::App& app, Session& session) {
  struct Flags : CompileFlags {
    std::string model, out;
    std::vector<std::string> vectors;
    bool as_json = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("compile", "compile a model to C");
  add_model(*command, flags->model);
  add_value(*command, "-o,--output", flags->out, "DIR", "folder for the generated files")
      ->required();
  add_value(*command, "--vectors", flags->vectors, "FILE",
            "inputs to record in the test program (.npz, .npy, .pb)");
  command->add_flag("--json", flags->as_json,
                    "say what was written as JSON (docs/schema/compile.json)");
  flags->add_all(*command);
  flags->add_force(*command);
  command->footer(
      "Examples:\n  quantc compile model.onnx -o out\n"
      "  quantc compile model.pt2 -o out --name net --dim batch=1 --weights incbin\n"
      "  quantc compile model.onnx -o out --vectors in.npz && make -C out test");
  command->callback([flags, &session] {
    session.action = [flags, &session]() -> Result<int> {
      QC_ASSIGN(Options options, flags->resolve());
      PassContext context;
      QC_ASSIGN(auto graph, load(flags->model, options, &context.remarks));
      Progress progress("compiling " + flags->model);
      QC_TRY(contract(*graph, options, context, flags->observer()));
      std::optional<std::vector<Tensor>> inputs;
      if (!flags->vectors.empty()) {
        QC_ASSIGN(auto arrays, read_arrays(flags->vectors));
        QC_ASSIGN(inputs, match_inputs(*graph, arrays));
      }
      const Totals computed = totals(*graph);
      QC_ASSIGN(CompileResult result,
                compile_project(*graph, options, flags->out, inputs ? &*inputs : nullptr,
                                flags->observer()));
      warn(flags->model, result.warnings);
      std::string report;  // whole before the files are in place: making it may fail
      const auto out = std::back_inserter(report);
      if (flags->as_json) {
        context.remarks.insert(context.remarks.end(), result.remarks.begin(), result.remarks.end());
        context.warnings.insert(context.warnings.end(), result.warnings.begin(),
                                result.warnings.end());
        return deliver(result.files,
                       json(result, computed, context, flags->model, flags->out, options));
      }
      const ProjectReport& r = result.report;
      const Target target = *target_of(options);
      fmt::format_to(out, "{}: {}/{} for target {}\n", shown(flags->model), shown(flags->out),
                     result.source, target.name);
      if (!target.device) {
        fmt::format_to(
            out,
            "  arena {} bytes, state {} bytes, stack at most {} bytes, weights {} bytes, {} MACs\n",
            r.arena_bytes, r.state_bytes, r.stack_bytes, r.weight_bytes, r.macs);
      } else {
        const SpaceStats& device = r.spaces.back();
        fmt::format_to(out,
                       "  on the device: arena {} bytes, of which {} are live together, weights {} "
                       "bytes{}, {} MACs\n",
                       device.arena_bytes, device.live_bytes, device.weight_bytes,
                       r.state_bytes > 0 ? fmt::format(", state {} bytes", r.state_bytes) : "",
                       r.macs);
      }
      fmt::format_to(out, "  {}\n", str(computed));
      if (r.fma_by_flags > 0) {
        fmt::format_to(
            out,
            "  note: {} MACs are float: build for a processor with fma (x86: -mfma or "
            "-march=native,\n  which the generated build files set), or each calls fmaf and takes "
            "up to 200 times as long;\n  for a processor without fma: --arithmetic dot=mul_add\n",
            r.fma_by_flags);
      }
      if (r.notes_floats) {
        fmt::format_to(
            out,
            "  note: {} step{} with floats, which a core without an FPU does in software;\n  for "
            "such a core: --no-float\n",
            r.float_steps, r.float_steps == 1 ? " computes" : "s compute");
      }
      if (session.verbosity > 0) {
        context.remarks.insert(context.remarks.end(), result.remarks.begin(), result.remarks.end());
        for (const std::string& remark : context.remarks)
          fmt::format_to(out, "  {}\n", shown(remark));
        fmt::format_to(out, "  {} in the final graph\n", counted(graph->node_count(), "node"));
      }
      return deliver(result.files, report);
    };
  });
}

}  // namespace qc::cli
