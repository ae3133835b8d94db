#include "tests/random/combined.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <random>

#include "tests/random/free_graphs.h"

namespace qc {
namespace {

class Chooser {
 public:
  explicit Chooser(uint64_t seed) : random_(seed ^ 0x9e3779b97f4a7c15u) {}

  Options options(const Graph& graph) {
    Options out;
    out.verify = true;
    out.allow_unused_rules = true;
    out.level = static_cast<int>(pick<int64_t>({0, 1, 2, 2}));
    out.plan = chance(30) ? "smallest" : "fixed";
    if (chance(30)) out.arithmetic = pick<std::string>({"onnxruntime", "torch", "dot=mul_add"});
    // Each pair of buckets of two dimensions is a copy of the graph; two have them at most.
    for (const std::string& symbol : graph.symbols()) out.ranges[symbol] = range(graph, symbol);
    // The first that matches a node holds: the last is for all that others leave.
    for (int64_t i = chance(10) ? 0 : between(1, 3); i > 0; --i) {
      quantc::RuleSpec one = rule(i == 1 ? ".*" : pick<std::string>({"n[0-4]$", "n\\d*[13579]$"}));
      if (one.per_token) {  // convolutions have no tokens
        quantc::RuleSpec other = one;
        other.per_token = false;
        other.op = "conv";
        out.rules.push_back(other);
      }
      out.rules.push_back(one);
    }
    return out;
  }

 private:
  bool chance(int percent) { return between(0, 99) < percent; }
  int64_t between(int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(random_() % static_cast<uint64_t>(hi - lo + 1));
  }
  template <class T>
  T pick(std::initializer_list<T> list) {
    return list.begin()[between(0, static_cast<int64_t>(list.size()) - 1)];
  }

  quantc::SizeRange range(const Graph& graph, const std::string& symbol) {
    const DimRange& known = graph.dim_ranges.at(symbol);
    quantc::SizeRange out;
    out.min = known.min;
    out.max = known.max;
    out.own_size = true;
    if (bucketed_ == 2 || !chance(60)) return out;
    ++bucketed_;
    for (int64_t at = known.min + between(0, 5); at < known.max && out.buckets.size() < 2;
         at += between(1, 9))
      out.buckets.push_back(at);
    out.buckets.push_back(known.max);
    return out;
  }

  quantc::RuleSpec rule(const std::string& pattern) {
    quantc::RuleSpec out;
    out.pattern = pattern;
    out.skip_unsupported = true;
    out.kind = pick<std::string>(
        {"static", "static", "static", "dynamic", "dynamic", "dynamic", "weight_only", "float"});
    if (out.kind == "float") return out;
    if (chance(50)) out.per_channel = chance(70);
    if (out.kind == "weight_only") {
      out.weight_dtype = pick<std::string>({"int8", "int4", "uint8", "int16"});
      out.weight_zero_points = out.weight_dtype == "uint8" || chance(30);
      if (chance(30)) out.group = between(2, 16);
      return out;
    }
    if (chance(20)) out.weight_dtype = pick<std::string>({"int8", "int4", "int16"});
    if (chance(20)) out.attention = "float";
    if (out.kind == "dynamic") {
      out.symmetric = chance(40);
      out.dtype = out.symmetric || chance(50) ? "int8" : "uint8";
      out.per_token = chance(70);
      return out;
    }
    out.dtype = pick<std::string>({"int8", "int8", "uint8", "int16"});
    // Ranges that zero divides evenly, or not.
    const double low = pick<double>({-4, -3, -1}), high = pick<double>({4, 5, 2.5});
    out.min = {low};
    out.max = {high};
    out.input_min = {-4};
    out.input_max = {pick<double>({4, 6})};
    if (chance(15)) {
      out.op = pick<std::string>({"linear", "conv", "matmul"});
      out.output_dtype = "float32";
      out.min.clear();
      out.max.clear();
      out.input_min = {low};
      out.input_max = {high};
    }
    return out;
  }

  std::mt19937_64 random_;
  int bucketed_ = 0;
};

std::string str(const quantc::RuleSpec& rule) {
  std::string out = fmt::format("{} {} {}", rule.pattern, rule.op, rule.kind);
  for (const std::string* word :
       {&rule.dtype, &rule.weight_dtype, &rule.output_dtype, &rule.attention}) {
    if (!word->empty()) out += " " + *word;
  }
  if (rule.per_channel) out += *rule.per_channel ? " per_channel" : " one_scale";
  if (rule.group) out += fmt::format(" group={}", *rule.group);
  if (rule.weight_zero_points) out += " weight_zero_points";
  if (rule.symmetric) out += " symmetric";
  if (rule.per_token) out += " per_token";
  if (!rule.min.empty()) out += fmt::format(" {}..{}", rule.min[0], rule.max[0]);
  if (!rule.input_min.empty())
    out += fmt::format(" inputs {}..{}", rule.input_min[0], rule.input_max[0]);
  return out;
}

}  // namespace

Compilation random_compilation(uint64_t seed) {
  Compilation out;
  out.graph = random_free_graph(seed, true);
  out.options = Chooser(seed).options(*out.graph);
  if (out.options.arithmetic == "dot=mul_add") out.graph->set_dot(DotStep::mul_add);
  return out;
}

std::string str(const Options& options) {
  std::string out = fmt::format("-O{} --plan {}{}", options.level, options.plan,
                                options.arithmetic.empty() ? "" : " --arithmetic ");
  out += options.arithmetic;
  for (const auto& [symbol, range] : options.ranges) {
    out += fmt::format(" --dim {}={}..{}", symbol, range.min, range.max);
    if (!range.buckets.empty()) out += fmt::format(":buckets={}", fmt::join(range.buckets, ","));
  }
  for (const quantc::RuleSpec& rule : options.rules) out += "\n  rule " + str(rule);
  return out;
}

}  // namespace qc
