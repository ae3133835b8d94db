#include "driver/compile_json.h"

#include "support/escape.h"
#include "support/json_text.h"
#include "target/target.h"

namespace qc {

std::string json(const CompileResult& result, const Totals& computed, const PassContext& context,
                 const std::string& model, const std::string& folder, const Options& options) {
  const ProjectReport& r = result.report;
  auto count = [&](Computes what) { return json_number(static_cast<int64_t>(computed[what])); };
  const Result<Target> target = target_of(options);
  return JsonObject()
      .add("model", json_string(model))
      .add("folder", json_string(folder))
      .add("name", json_string(result.name))
      .add("source", json_string(result.source))
      .add("target", json_string(target.ok() ? target->name : options.target))
      .add("arena_bytes", json_number(r.arena_bytes))
      .add("state_bytes", json_number(r.state_bytes))
      .add("stack_bytes", json_number(r.stack_bytes))
      .add("weight_bytes", json_number(r.weight_bytes))
      .add("macs", json_number(r.macs))
      .add("macs_slow_without_fma", json_number(r.fma_by_flags))
      .add("float_steps", json_number(r.float_steps))
      .add("nodes", JsonObject()
                        .add("nodes", json_number(static_cast<int64_t>(computed.nodes)))
                        .add("integer", count(Computes::integer))
                        .add("float", count(Computes::floats))
                        .add("moves", count(Computes::moves))
                        .add("converts", count(Computes::converts))
                        .add("indices", count(Computes::indices))
                        .line())
      .add("remarks", json_strings(context.remarks))
      .add("warnings", json_strings(context.warnings))
      .lines();
}

}  // namespace qc
