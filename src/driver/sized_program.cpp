#include "driver/sized_program.h"

#include <fmt/format.h>

#include "program/bind.h"

namespace qc {

std::string str(const Bindings& sizes) {
  std::string out;
  for (const auto& [symbol, size] : sizes)
    out += fmt::format("{}{}={}", out.empty() ? "" : ", ", symbol, size);
  return out;
}

Options without_buckets(Options options) {
  for (auto& [symbol, range] : options.ranges)
    range = {range.min, range.max, range.step, {}, 0, {}};
  return options;
}

Result<SizedProgram> SizedProgram::create(const Graph& contract, Options options) {
  QC_ASSIGN(auto own, copy(contract));
  own->file = contract.file;
  SizedProgram out(std::move(own), std::move(options));
  if (out.contract_->symbols().empty()) return out;
  bool all = true;
  for (const std::string& symbol : out.contract_->symbols())
    all = all && out.options_.ranges.count(symbol) > 0;
  if (!all) return out;
  for (const Options& tried : {out.options_, without_buckets(out.options_)}) {
    QC_ASSIGN(auto graph, copy(*out.contract_));
    auto whole = make_program(*graph, tried);
    if (!whole.ok()) continue;
    out.whole_ = std::move(*whole);
    break;
  }
  return out;
}

Result<Program> SizedProgram::at(const Bindings& sizes) const {
  if (whole_) {
    QC_TRY(check_sizes(*whole_, sizes));
    return bound(*whole_, sizes);
  }
  Options options = options_;
  options.ranges.clear();
  QC_ASSIGN(auto graph, copy(*contract_));
  if (!sizes.empty()) QC_TRY(graph->bind(sizes));
  return make_program(*graph, options);
}

}  // namespace qc
