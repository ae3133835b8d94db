#include "program/select_kernels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "kernels/added.h"
#include "program/epilogue.h"
#include "program/estimate.h"
#include "program/split.h"
#include "support/escape.h"
#include "support/located.h"
#include "support/suggest.h"
#include "support/wrap.h"

namespace qc {
namespace {

class Selector {
 public:
  Selector(Program& program, const Target& target, PackedConstants& constants,
           std::vector<KernelChoice>* choices, std::span<const ForcedKernel> forced,
           bool allow_host)
      : program_(program),
        target_(target),
        constants_(constants),
        choices_(choices),
        forced_(forced),
        allow_host_(allow_host),
        met_(forced.size(), false),
        lacking_(forced.size()) {
    uses_.resize(program.buffers.size(), 0);
    for_each_step(program.steps, [&](const Step& s) {
      for_each_view(
          s, [&](const View& v, bool) { ++uses_[static_cast<size_t>(program_.owner(v.buffer))]; });
    });
  }

  Result<Ok> run(Steps& steps) {
    Steps out;
    out.reserve(steps.size());
    for (Step& step : steps) {
      if (auto* branch = std::get_if<BranchStep>(&step.op)) {
        QC_TRY(run(branch->body));
        QC_TRY(run(branch->otherwise));
      } else if (auto* loop = std::get_if<LoopStep>(&step.op)) {
        QC_TRY(run(loop->body));
      } else if (Call* call = step.call()) {
        QC_TRY(select(*call, step.loc, out));
        by_units(step);
      }
      out.push_back(std::move(step));
    }
    steps = std::move(out);
    return Ok{};
  }

  /// Every forced layer was there, and has a call of a kernel with that variant.
  Result<Ok> check_forced() const {
    for (size_t i = 0; i < forced_.size(); ++i) {
      if (met_[i]) continue;
      if (lacking_[i]) return *lacking_[i];
      return error(
          Code::usage,
          "no layer '{}' has variants to choose from: `quantc inspect --kernels` lists them{}",
          forced_[i].layer, did_you_mean(forced_[i].layer, layers_));
    }
    return Ok{};
  }

  /// All layers that the target has no kernel for, with what speaks against the variants.
  Result<Ok> complete() const {
    if (missing_.empty()) return Ok{};
    Diag diag = error(Code::unsupported, missing_[0].loc, "target {} has no kernel for {}",
                      target_.name, missing_[0].text);
    for (size_t i = 1; i < missing_.size(); ++i)
      diag.notes.push_back(fmt::format("nor for {} of layer {}", missing_[i].text,
                                       fmt::join(missing_[i].loc.names, " + ")));
    return diag;
  }

 private:
  struct Missing {
    Loc loc;
    std::string text;
  };

  Result<Ok> select(Call& call, const Loc& loc, Steps& before) {
    fold_epilogue(call);
    Steps packings;
    Binder binder(program_, target_, constants_, uses_, packed_, packings);
    const Variant* best = nullptr;
    KernelChoice choice{loc, call.kernel->name, {}, 0, {}, {}};
    const ForcedKernel* forced = forced_of(loc, call.kernel->name);
    for (const Variant& v : all_variants()) {
      if (v.kernel != call.kernel->name) continue;
      std::string why = refusal(v, call, binder);
      if (why.empty() && forced && forced->variant != v.name) why = "another was asked for";
      const bool fits = why.empty();
      const double cost = fits ? v.cost(call, binder) : 0;
      if (fits && (!best || cost < choice.cost)) {
        best = &v;
        choice.cost = cost;
      }
      choice.others.push_back(
          {std::string(v.name), std::string(v.feature), std::move(why), cost, fits});
    }
    if (forced && !best) return not_possible(*forced, choice);
    note(choice, best);
    const std::string asked = described(call, choice);
    if (best) {
      QC_ASSIGN(call, located(best->bind(call, binder), loc));
    }
    for (Step& step : packings) {
      step.loc = loc;
      QC_TRY(find(*step.call(), loc, asked));
      by_units(step);
      before.push_back(std::move(step));
    }
    QC_TRY(find(call, loc, asked));
    if (!call.body) return Ok{};
    if (choices_) {
      choice.body = call.body->symbol;
      choices_->push_back(std::move(choice));
    }
    return Ok{};
  }

  /// What the user chose for the calls of a kernel in a layer; null where nothing. A layer may have
  /// calls of several kernels: a choice is for those that have the variant.
  const ForcedKernel* forced_of(const Loc& loc, std::string_view kernel) {
    if (forced_.empty()) return nullptr;
    std::vector<std::string> known;
    for (const Variant& v : all_variants()) {
      if (v.kernel == kernel) known.emplace_back(v.name);
    }
    if (known.empty()) return nullptr;
    layers_.insert(layers_.end(), loc.names.begin(), loc.names.end());
    const ForcedKernel* found = nullptr;
    for (size_t i = 0; i < forced_.size(); ++i) {
      const ForcedKernel& own = forced_[i];
      if (std::find(loc.names.begin(), loc.names.end(), own.layer) == loc.names.end()) continue;
      if (std::find(known.begin(), known.end(), own.variant) == known.end()) {
        if (lacking_[i]) continue;
        lacking_[i] = error(Code::usage, loc, "'{}' has no variant '{}': use one of {}{}", kernel,
                            own.variant, fmt::join(known, ", "), did_you_mean(own.variant, known));
      } else {
        met_[i] = true;
        if (!found) found = &own;
      }
    }
    return found;
  }

  static Diag not_possible(const ForcedKernel& forced, const KernelChoice& choice) {
    const auto own =
        std::find_if(choice.others.begin(), choice.others.end(),
                     [&](const KernelChoice::Other& o) { return o.variant == forced.variant; });
    QC_CHECK(own != choice.others.end(), "a variant is forced that the kernel does not have");
    return error(Code::usage, choice.loc, "'{}' cannot compute it: {}", forced.variant, own->why);
  }

  std::string refusal(const Variant& v, const Call& call, const Binder& binder) const {
    if (!target_.has(v.feature)) return fmt::format("target {} has no {}", target_.name, v.feature);
    return v.refusal(call, binder);
  }

  /// A call that nothing of the target computes, and why those that could do not.
  std::string described(const Call& call, const KernelChoice& choice) const {
    std::string out = fmt::format("'{}' of [{}]", call.kernel->name, fmt::join(call.select, ", "));
    for (const KernelChoice::Other& other : choice.others) {
      if (target_.has(other.feature)) out += fmt::format(" ({}: {})", other.variant, other.why);
    }
    return out;
  }

  /// Those that could have computed the call take longer, or as long and were found later.
  void note(KernelChoice& choice, const Variant* best) const {
    if (!best) return;
    choice.variant = best->name;
    std::erase_if(choice.others, [&](const auto& o) { return o.variant == best->name; });
    for (KernelChoice::Other& other : choice.others) {
      if (other.fits) other.why = "estimated " + shown_duration(other.cost);
    }
  }

  /// Gives a call its body. On a device one for all machines serves, too: a thread computes each of
  /// its units. `asked` says what a layer wanted that has none.
  Result<Ok> find(Call& call, const Loc& loc, const std::string& asked) {
    const Body* body = find_body(*call.kernel, call.select);
    const bool device = target_.device;
    if (const AddedKernel* own = device ? find_added_kernel(call.kernel->name) : nullptr;
        own && own->device && target_.has(own->device->body.machine)) {
      body = &own->device->body;
      call.kernel = body->kernel;
    }
    if (body && target_.has(body->machine)) {
      call.body = body;
      return Ok{};
    }
    if (device) {
      missing_.push_back({loc, asked});
      return Ok{};
    }
    return error(Code::bug, loc, "nothing computes '{}' of [{}] for target {}", call.kernel->name,
                 fmt::join(call.select, ", "), target_.name);
  }

  /// Whether the host computes it: no thread but one could on the device, and it is allowed.
  bool is_hosts(const Body& body) const {
    return allow_host_ && body.machine.empty() && !body.units;
  }

  /// A call whose body computes all units becomes a step of as many threads: one where it has none.
  void by_units(Step& step) const {
    Call* call = std::get_if<Call>(&step.op);
    if (!target_.device || !call || !call->body || !call->body->machine.empty()) return;
    if (is_hosts(*call->body)) return;
    const Dim units = is_static(*call) || !call->body->units ? Dim(units_of(*call)) : Dim(0);
    if (const int i = scratch_of_units(*call->kernel); i >= 0)
      give_each_unit(call->out[static_cast<size_t>(i)], most_units(*call));
    step.op = ParallelStep{std::move(*call), units};
  }

  /// Units of a call at the largest sizes.
  int64_t most_units(Call call) const {
    for (Param& p : call.params) {
      if (Dim* size = std::get_if<Dim>(&p)) *size = program_.largest(*size);
    }
    return units_of(call);
  }
  /// Room for the scratch of all units.
  void give_each_unit(View& view, int64_t units) const {
    Buffer& buffer = program_.buffer(program_.owner(view.buffer));
    QC_CHECK(!view.dims.empty(), "scratch is a list");
    view.dims[0] = view.dims[0] * Dim(units);
    buffer.bytes = buffer.bytes * Dim(units);
  }

  Program& program_;
  const Target& target_;
  PackedConstants& constants_;
  std::vector<KernelChoice>* choices_;
  std::span<const ForcedKernel> forced_;
  bool allow_host_;
  std::vector<bool> met_;                     // of those: a call takes the variant
  std::vector<std::optional<Diag>> lacking_;  // .. its layer is there, but no such variant
  std::vector<std::string> layers_;           // that have variants, where some are forced
  std::vector<int> uses_;
  Binder::PackedBuffers packed_;
  std::vector<Missing> missing_;
};

}  // namespace

Result<Ok> select_kernels(Program& program, const Target& target, PackedConstants& constants,
                          std::vector<KernelChoice>* choices, std::span<const ForcedKernel> forced,
                          bool allow_host) {
  Selector selector(program, target, constants, choices, forced, allow_host);
  QC_TRY(selector.run(program.steps));
  QC_TRY(selector.check_forced());
  return selector.complete();
}

Result<ForcedKernel> parse_forced_kernel(const std::string& text) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    return error(Code::usage, "'{}' does not say which variant computes a layer: use LAYER=VARIANT",
                 text);
  return ForcedKernel{text.substr(0, equals), text.substr(equals + 1)};
}

std::string str(const std::vector<KernelChoice>& choices, size_t width) {
  std::string out;
  for (const KernelChoice& c : choices) {
    const std::string layers =
        clipped(shown(fmt::format("{}", fmt::join(c.loc.names, " + "))), width - 1);
    std::string what = fmt::format("{} by {}", c.kernel, c.body);
    if (!c.variant.empty())
      what += fmt::format(" ({}), estimated {}", c.variant, shown_duration(c.cost));
    const bool fits = layers.size() + 2 + what.size() <= width;
    out += layers + ":" + (fits ? " " + what + "\n" : "\n" + wrapped("    ", what, width));
    for (const KernelChoice::Other& other : c.others)
      out += wrapped(fmt::format("  not {}: ", other.variant), other.why, width);
  }
  return out;
}

Result<Ok> select_kernels(Program& program) {
  PackedConstants constants;
  return select_kernels(program, all_targets()[0], constants);
}

}  // namespace qc
