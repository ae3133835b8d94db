// Buckets of dimensions: which sizes programs are compiled for, and what padding to them costs.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "passes/pipeline.h"
#include "quantc/options.h"

namespace qc {

/// Whether buckets ascend, lie in the range and end at its largest size.
Result<Ok> check_buckets(const std::string& symbol, const quantc::SizeRange& range);

/// The buckets of every dimension that has some; those of a file of sizes are chosen for the work
/// that the graph does. Notes for each how much is computed beside what is needed.
Result<std::map<std::string, PassContext::Buckets>> buckets_of(const Graph& graph,
                                                               const quantc::Options& options,
                                                               PassContext& context);

/// Notes what buckets do to a contract graph: what padding costs, which layers take the run's own
/// size, and which are refused.
Result<Ok> note_padding(const Graph& graph, const quantc::Options& options, PassContext& context);

/// At most `count` buckets of the sizes that occur, `max` among them, with the least sum of
/// work(bucket) over all of them; `work` never falls.
std::vector<int64_t> choose_buckets(std::vector<int64_t> observed, int64_t max, int64_t count,
                                    const std::function<double(int64_t)>& work);

}  // namespace qc
