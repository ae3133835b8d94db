// The pass pipeline: one visible list, in order, and the runner that verifies, prints and times.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "quant/notes.h"

namespace qc {

struct RuleSet;

/// Where in the pipeline a pass stands. Passes up to and including `quantize` may change a bit and
/// so make the contract graph, the same for every target; those of `lower` keep every bit and can
/// be switched off, and so can some before them.
enum class PassStage : uint8_t { normalise, fuse, quantize, lower };

struct PassContext {
  /// The rules of a quantization; null for none.
  const RuleSet* rules = nullptr;
  /// Values of f16 and bf16 are computed in f32 as if rules quantized them, to be compared with.
  bool compute_in_f32 = false;
  /// What the rules said, by Value::note().
  QNotes notes;
  /// How the rules of the set fared, one for each.
  struct RuleUse {
    size_t matched = 0, held = 0;  // nodes it matches, and those no earlier rule took
    size_t hidden_by = 0;          // the rule that took the first of the others
    bool excepted = true;          // rules that keep nodes float took all of the others
    size_t weightless = 0;         // nodes that a rule for weights left as they are
    size_t inserted = 0;           // nodes that became what it asks for
  };
  std::vector<RuleUse> rule_uses;
  /// The f32 constants that weights became codes of, by the codes.
  std::map<ConstId, ConstId> weight_sources;
  /// What rules made codes, as opposed to the model: a node that stays float reads what was there.
  struct InsertedCodes {
    std::set<std::pair<const Graph*, size_t>> codes;  // results of quantizes, by number
    std::map<ConstId, ConstId> constants;             // f32 constants, by their codes

    void add(const Value* v) { codes.emplace(v->graph(), v->number()); }
    bool has(const Value* v) const { return codes.contains({v->graph(), v->number()}); }
  };
  InsertedCodes inserted;
  /// Constants made of others while lowering, by what they are made of and for what: graphs of one
  /// model share them. Null: nobody does.
  std::map<std::pair<ConstId, std::string>, ConstId>* derived = nullptr;
  /// Sizes that a dimension is padded to, ascending, and whether layers that cannot be padded take
  /// the run's own size instead of being refused; by symbol.
  struct Buckets {
    std::vector<int64_t> sizes;
    bool own_size = false;
  };
  std::map<std::string, Buckets> buckets;
  /// Why nodes between dequantize and quantize stayed float, by their first name.
  std::map<std::string, std::string> refusals;
  /// Why quantize nodes stayed beside the float node before them, by the number of their result.
  std::map<size_t, std::string> not_fused;
  /// Passes that are left out, as asked for.
  std::vector<std::string> left_out;
  /// Remarks for -v, one line each.
  std::vector<std::string> remarks;
  /// What a user should know without asking, one line each: something was not done as asked, or
  /// costs more than it seems to.
  std::vector<std::string> warnings;
};

struct Pass;

struct PassOptions {
  bool verify = false;                     // check every invariant after each pass
  std::vector<std::string> disabled;       // only optional passes
  std::string stop_after;                  // empty: run to the end
  PassStage first = PassStage::normalise;  // run no pass of an earlier stage
  PassStage last = PassStage::lower;       // run no pass of a later stage
  bool unsigned_codes = false;             // the target wants unsigned codes of 8 bits
  bool codes_at_ports = false;             // inputs and outputs become codes
  bool buckets = false;                    // sizes of some dimensions are padded
  /// Called after each pass that ran: name, whether the graph changed, seconds.
  std::function<void(const Pass&, bool changed, double seconds, const Graph&)> observe;
};

struct Pass {
  const char* name;
  PassStage stage;
  /// True when the graph changed. Works on this graph only; the runner visits regions.
  Result<bool> (*run)(Graph&, PassContext&);
  const char* summary;
  /// The option without which the pipeline leaves it out; null for a pass of every pipeline.
  bool PassOptions::*only_with = nullptr;
  /// For the graph of the model only, not for regions.
  bool outermost = false;
  /// Before the contract graph, and yet can be switched off, as a debugging aid.
  bool can_skip = false;

  bool optional() const { return can_skip || stage == PassStage::lower; }
};

/// All runs of passes, in order. A pass that runs twice has two rows of one name: options that name
/// it leave out or print both, and stop after the first.
std::span<const Pass> pipeline();

/// Whether an earlier row of the pipeline is a run of the same pass.
bool is_repeat(const Pass& pass);

/// The first run of the pass of this name; the error lists those there are.
Result<const Pass*> find_pass(std::string_view name);

/// Runs one pass on the graph and every region below it.
Result<bool> run_pass(const Pass& pass, Graph& graph, PassContext& context);

/// Runs the pipeline. Unknown names, and disabling a pass that is not optional, are errors.
Result<Ok> run_passes(Graph& graph, const PassOptions& options, PassContext& context);

}  // namespace qc
