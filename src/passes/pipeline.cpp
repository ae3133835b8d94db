#include "passes/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "passes/assign_layouts.h"
#include "passes/decide_masks.h"
#include "passes/drop_repeats.h"
#include "passes/eliminate_common_subexpressions.h"
#include "passes/expose_codes.h"
#include "passes/fold_constants.h"
#include "passes/fold_pads.h"
#include "passes/fold_qdq.h"
#include "passes/fold_relayouts.h"
#include "passes/fold_scale_shift.h"
#include "passes/fuse_clamp.h"
#include "passes/fuse_prologues.h"
#include "passes/fuse_quantize.h"
#include "passes/insert_qdq.h"
#include "passes/lift_quantize.h"
#include "passes/merge_products.h"
#include "passes/merge_slices.h"
#include "passes/note_rules.h"
#include "passes/pad_to_buckets.h"
#include "passes/raise_patterns.h"
#include "passes/recover_codes.h"
#include "passes/remove_no_ops.h"
#include "passes/shift_signed.h"
#include "passes/sink_transposes.h"
#include "passes/store_tables.h"
#include "passes/store_unsigned.h"
#include "passes/widen_floats.h"
#include "support/budget.h"

namespace qc {
namespace {

constexpr Pass kPipeline[] = {
    // Normalise: what is known is decided and computed, what does nothing goes, what is spelled out
    // gets a
    // name.
    {"decide_masks", PassStage::normalise, decide_masks,
     "comparisons of positions that sizes decide become numbers, masks become windows"},
    {"fold_constants", PassStage::normalise, fold_constants, "results known now become constants"},
    {"remove_no_ops", PassStage::normalise, remove_no_ops,
     "nodes that do nothing or are not read vanish"},
    {"eliminate_common_subexpressions", PassStage::normalise, eliminate_common_subexpressions,
     "equal computations are done once, constant operands come second"},
    {"widen_floats", PassStage::normalise, widen_floats,
     "models of f16 or bf16 that rules quantize compute in f32"},
    {"raise_patterns", PassStage::normalise, raise_patterns, "decomposed ops become one op again"},
    // Fuse: neighbours become one op where the answer allows.
    {"note_rules", PassStage::fuse, note_rules, "rules are matched with nodes by name"},
    {"sink_transposes", PassStage::fuse, sink_transposes, "transposes cancel, views merge"},
    {"fold_pads", PassStage::fuse, fold_pads, "frames of zeros become pads of what reads them"},
    {"fold_scale_shift", PassStage::fuse, fold_scale_shift,
     "batch norms and biases go into weights"},
    {"fuse_clamp", PassStage::fuse, fuse_clamp, "clamps become limits of the op before"},
    // Quantize: rules and quantized models become nodes that compute on codes.
    {"recover_codes", PassStage::quantize, recover_codes,
     "weights folded from narrow integers become codes again"},
    {"insert_qdq", PassStage::quantize, insert_qdq, "schemes become quantize and dequantize nodes"},
    {"shift_signed", PassStage::quantize, shift_signed,
     "signed codes become unsigned where the arithmetic says so"},
    {"fold_qdq", PassStage::quantize, fold_qdq, "ops between them compute on codes"},
    {"lift_quantize", PassStage::quantize, lift_quantize,
     "quantizes move up past views and slices, equal ones of a value become one", nullptr, false,
     true},
    {"eliminate_common_subexpressions", PassStage::quantize, eliminate_common_subexpressions,
     "again: views of lifted codes that are equal are one"},
    {"merge_products", PassStage::quantize, merge_products,
     "products of one operand with constant weights become one", nullptr, false, true},
    {"eliminate_common_subexpressions", PassStage::quantize, eliminate_common_subexpressions,
     "again: views of merged products that are equal are one"},
    {"fuse_prologues", PassStage::quantize, fuse_prologues,
     "norms of heads become part of the rotations that read them", nullptr, false, true},
    {"merge_slices", PassStage::quantize, merge_slices,
     "what is done alike to parts of a value is done to all of it", nullptr, false, true},
    {"lift_quantize", PassStage::quantize, lift_quantize, "again: merged parts have one quantize",
     nullptr, false, true},
    {"eliminate_common_subexpressions", PassStage::quantize, eliminate_common_subexpressions,
     "again: views of lifted codes that are equal are one"},
    {"expose_codes", PassStage::quantize, expose_codes,
     "inputs and outputs of the model become codes where that was asked for",
     &PassOptions::codes_at_ports, true},
    {"fuse_quantize", PassStage::quantize, fuse_quantize,
     "norms, softmax and activations write the codes that alone are read of them", nullptr, false,
     true},
    // Here the contract graph is complete. Lower: every pass keeps every bit.
    {"fold_code_pads", PassStage::lower, fold_code_pads,
     "frames of the code of zero become pads of what reads them"},
    {"drop_repeats", PassStage::lower, drop_repeats,
     "operands are repeated by the op that reads them"},
    {"store_tables", PassStage::lower, store_tables,
     "tables that follow from a size alone are stored for the largest one", nullptr, true},
    {"pad_to_buckets", PassStage::lower, pad_to_buckets,
     "sizes are padded to the buckets of their dimension", &PassOptions::buckets, true},
    {"store_unsigned", PassStage::lower, store_unsigned,
     "signed codes of 8 bits become unsigned where the target wants them",
     &PassOptions::unsigned_codes},
    {"assign_layouts", PassStage::lower, assign_layouts, "channels-last around convolutions"},
    {"fold_relayouts", PassStage::lower, fold_relayouts,
     "changes of layout go into conversions and into the weights of products of codes"},
};

}  // namespace

std::span<const Pass> pipeline() { return kPipeline; }

bool is_repeat(const Pass& pass) {
  const auto same = [&](const Pass& p) { return std::string_view(p.name) == pass.name; };
  return std::ranges::find_if(kPipeline, same) != &pass;
}

Result<const Pass*> find_pass(std::string_view name) {
  std::string known;
  for (const Pass& pass : kPipeline) {
    if (pass.name == name) return &pass;
    if (is_repeat(pass)) continue;
    known += (known.empty() ? "" : ", ") + std::string(pass.name);
  }
  return error(Code::usage, "there is no pass '{}' (passes: {})", name, known);
}

Result<bool> run_pass(const Pass& pass, Graph& graph, PassContext& context) {
  const Doing doing(pass.name);
  spend(Cost::work, static_cast<int64_t>(graph.node_count()) * kNodeWork);
  QC_ASSIGN(bool changed, pass.run(graph, context));
  if (pass.outermost || !graph.may_have_regions()) return changed;
  for (Node* n = graph.first(); n; n = n->next()) {
    for (const auto& region : n->regions()) {
      QC_ASSIGN(bool inner, run_pass(pass, *region, context));
      changed = changed || inner;
    }
  }
  return changed;
}

Result<Ok> run_passes(Graph& graph, const PassOptions& options, PassContext& context) {
  for (const std::string& name : options.disabled) {
    QC_ASSIGN(const Pass* pass, find_pass(name));
    if (!pass->optional()) {
      return error(Code::usage, "pass '{}' makes the contract graph and cannot be switched off",
                   name);
    }
  }
  context.left_out = options.disabled;
  if (!options.stop_after.empty()) QC_TRY(find_pass(options.stop_after));
  for (const Pass& pass : kPipeline) {
    if (pass.stage < options.first) continue;
    if (pass.stage > options.last) break;
    const auto& off = options.disabled;
    const bool wanted = !pass.only_with || options.*pass.only_with;
    const bool left_out = std::find(off.begin(), off.end(), pass.name) != off.end();
    if (left_out && pass.can_skip && !is_repeat(pass)) {
      context.remarks.push_back(fmt::format("{0}: pass {0} is left out, as asked for", pass.name));
    }
    if (wanted && !left_out) {
      const auto begin = std::chrono::steady_clock::now();
      QC_ASSIGN(bool changed, run_pass(pass, graph, context));
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
      if (options.verify) {
        if (auto checked = verify(graph); !checked.ok()) {
          Diag diag = std::move(checked).diag();
          diag.notes.push_back(fmt::format("after pass '{}'", pass.name));
          return diag;
        }
      }
      if (options.observe) options.observe(pass, changed, spent.count(), graph);
    }
    if (options.stop_after == pass.name) break;
  }
  return Ok{};
}

}  // namespace qc
