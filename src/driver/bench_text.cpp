#include <fmt/format.h>

#include <algorithm>

#include "driver/bench.h"
#include "support/escape.h"
#include "support/json_text.h"
#include "support/layer_names.h"
#include "support/wrap.h"

namespace qc {
namespace {

double rate(int64_t amount, double seconds) {
  return seconds > 0 ? static_cast<double>(amount) / seconds * 1e-9 : 0;
}

/// A bar of at most `most` columns.
std::string bar(double part, double whole, size_t most) {
  const double length = whole > 0 ? part / whole * static_cast<double>(most) : 0;
  return std::string(std::clamp<size_t>(static_cast<size_t>(length + 0.5), 1, most), '#');
}

/// What rates are stated in: billions a second for a processor, thousands of them for a GPU, where
/// a product and its sum are two operations.
struct Units {
  const char *products, *bytes;
  double product = 1, byte = 1;
};
Units units_of(const Bench& b) {
  if (b.figures) return {"TOPS", "TB/s", 2e-3, 1e-3};
  return {"GMAC/s", "GB/s", 1, 1};
}

std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f} %", 100 * *share) : "-";
}

/// A rate in a column of few characters: small ones keep their digits.
std::string figure(double value) {
  if (value == 0) return "-";
  return value < 1 ? fmt::format("{:.3g}", value) : fmt::format("{:.1f}", value);
}

std::string runners(const Bench& b) {
  const Units u = units_of(b);
  std::string out = fmt::format("{:<26}{:>12}{:>12}{:>10}{:>10}{:>10}{:>10}\n", "", "least ms",
                                "median ms", u.products, u.bytes, "of limit", "ratio");
  out += fmt::format(
      "{:<26}{:>12.4f}{:>12.4f}{:>10}{:>10}{:>10}{:>10}\n", b.own.what, 1e3 * b.own.least(),
      1e3 * b.own.median(), figure(u.product * rate(b.macs, b.own.least())),
      figure(u.byte * rate(b.bytes, b.own.least())), percent(b.share_of_limit()), "1.00");
  for (const Runner& p : b.peers) {
    out +=
        fmt::format("{:<26}{:>12.4f}{:>12.4f}{:>10}{:>10}{:>10}{:>10.2f}\n",
                    clipped(shown(p.what), 25), 1e3 * p.least(), 1e3 * p.median(),
                    figure(u.product * rate(b.macs, p.least())), "", "", p.least() / b.own.least());
  }
  return out;
}

std::string chart(const Bench& b, size_t width) {
  double most = b.own.least();
  for (const Runner& p : b.peers) most = std::max(most, p.least());
  const size_t columns = width - 30;
  std::string out = "\n";
  const auto line = [&](const Runner& r) {
    out += fmt::format("{:<14}{} {:.4f} ms\n", clipped(r.name, 13), bar(r.least(), most, columns),
                       1e3 * r.least());
  };
  line(b.own);
  for (const Runner& p : b.peers) line(p);
  return out;
}

std::string layers(const Bench& b, size_t width, bool cut) {
  if (b.layers.empty()) return {};
  std::vector<std::vector<std::string>> all;
  for (const StepTime& l : b.layers) all.push_back(l.names);
  const LayerNames names(all, cut);
  const Units u = units_of(b);
  double most = 0;
  for (const StepTime& l : b.layers) most = std::max(most, l.seconds);
  const size_t name = std::clamp<size_t>(width / 4, 16, 40), variant = name;
  const size_t rest = width > name + variant + 38 ? width - name - variant - 38 : 1;
  std::string out = fmt::format("\n{}{:<{}}{:<{}}{:>9}{:>9}{:>9}{:>9}\n", names.note(), "layer",
                                name, "variant", variant, "us", u.products, u.bytes, "of limit");
  for (const StepTime& l : b.layers) {
    std::string front = names.of(l.names);
    if (front.size() >= name) {
      out += name_lines(front, width);
      front.clear();
    }
    out += fmt::format("{:<{}}{:<{}}", front, name,
                       clipped(l.variant.empty() ? l.kernel : l.variant, variant - 1), variant);
    out += fmt::format("{:>9.2f}{:>9}{:>9}{:>9}  {}\n", 1e6 * l.seconds,
                       figure(u.product * rate(l.macs, l.seconds)),
                       figure(u.byte * rate(l.bytes, l.seconds)), percent(b.share_of_limit(l)),
                       bar(l.seconds, most, std::min<size_t>(rest, 30)));
  }
  return out;
}

std::string json_share(const std::optional<double>& share) {
  return share ? json_number(*share) : "null";
}

JsonObject object_of(const Runner& r, const Bench& b) {
  return JsonObject()
      .add("name", json_string(r.name))
      .add("what", json_string(r.what))
      .add("runs", json_number(static_cast<int64_t>(r.seconds.size())))
      .add("least_ms", json_number(1e3 * r.least()))
      .add("median_ms", json_number(1e3 * r.median()))
      .add("gmacs", json_number(rate(b.macs, r.least())))
      .add("ratio", json_number(r.least() / b.own.least()));
}

}  // namespace

std::string str(const Bench& b, size_t width, bool cut) {
  std::string out =
      fmt::format("target {}, {}, {} multiply-accumulates a run ({} of codes)\n", b.target,
                  b.figures ? "arrays on the device" : "one thread", b.macs, b.integer_macs);
  out += runners(b);
  for (const auto& [peer, why] : b.missing)
    out += wrapped("", peer + " did not run: " + why, width);
  if (b.peak) {
    const MachinePeak& p = *b.peak;
    const Units u = units_of(b);
    out += wrapped(
        "",
        fmt::format("limit of this machine, measured now: {} {} of 8-bit codes "
                    "({}), {} {} of floats ({}), {} {} {}",
                    figure(u.product * p.int8_gmacs), u.products,
                    p.int8_by.empty() ? "unknown" : p.int8_by, figure(u.product * p.float_gmacs),
                    u.products, p.float_by.empty() ? "unknown" : p.float_by,
                    figure(u.byte * p.gbytes), u.bytes, p.bytes_by),
        width);
  }
  if (b.figures) {
    out += fmt::format(
        "{} launches, {:.1f} us of the host; with copies from and to its memory {:.4f} ms\n",
        b.figures->launches, b.figures->host_us, 1e-3 * b.figures->copied_us);
  }
  return out + chart(b, width) + layers(b, width, cut);
}

std::string json(const Bench& b, const std::string& model) {
  std::vector<std::string> peers, missing, steps;
  for (const Runner& p : b.peers) peers.push_back(object_of(p, b).line());
  for (const auto& [peer, why] : b.missing) {
    missing.push_back(
        JsonObject().add("name", json_string(peer)).add("why", json_string(why)).line());
  }
  for (const StepTime& l : b.layers) {
    steps.push_back(JsonObject()
                        .add("names", json_strings(l.names))
                        .add("kernel", json_string(l.kernel))
                        .add("variant", json_string(l.variant))
                        .add("macs", json_number(l.macs))
                        .add("bytes", json_number(l.bytes))
                        .add("us", json_number(1e6 * l.seconds))
                        .add("share_of_limit", json_share(b.share_of_limit(l)))
                        .line());
  }
  JsonObject limit;
  if (b.peak) {
    limit.add("int8_gmacs", json_number(b.peak->int8_gmacs));
    limit.add("float_gmacs", json_number(b.peak->float_gmacs));
    limit.add(b.figures ? "copy_gbytes" : "read_gbytes", json_number(b.peak->gbytes));
  }
  if (b.figures) {
    limit.add("launches", json_number(int64_t{b.figures->launches}));
    limit.add("device_us", json_number(b.figures->device_us));
    limit.add("host_us", json_number(b.figures->host_us));
    limit.add("copied_us", json_number(b.figures->copied_us));
  }
  return JsonObject()
      .add("model", json_string(model))
      .add("target", json_string(b.target))
      .add("macs", json_number(b.macs))
      .add("integer_macs", json_number(b.integer_macs))
      .add("bytes", json_number(b.bytes))
      .add("own", object_of(b.own, b)
                      .add("gbytes", json_number(rate(b.bytes, b.own.least())))
                      .add("share_of_limit", json_share(b.share_of_limit()))
                      .line())
      .add("machine", limit.line())
      .add("peers", json_array(peers, true))
      .add("missing", json_array(missing, true))
      .add("layers", json_array(steps, true))
      .lines();
}

}  // namespace qc
