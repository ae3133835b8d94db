// The inside of a Model.
#pragma once

#include "api/convert.h"
#include "api/program_cache.h"
#include "quantc/model.h"
#include "support/budget.h"

namespace quantc {

struct Model::State {
  State(std::shared_ptr<Network> network, Options options, const qc::Budget& budget)
      : network(std::move(network)),
        options(std::move(options)),
        budget(budget),
        program_cache(this->network, this->options) {}

  std::shared_ptr<Network> network;
  const Options options;
  qc::Budget budget;  // each call may spend as much as loading may
  ProgramCache program_cache;

  /// Calls `f` with a budget of its own.
  template <class F>
  auto within(F&& f) const {
    qc::Budget own(budget);
    return converted(qc::within(&own, f));
  }
  /// The same while nothing else compiles.
  template <class F>
  auto alone(F&& f) const {
    const std::lock_guard lock(*network->work);
    return within(f);
  }
};

}  // namespace quantc
