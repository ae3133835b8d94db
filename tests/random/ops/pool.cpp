#include "tests/random/sampling.h"

namespace qc {

namespace {

AttrMap window(Sampling& s, const Value& x) {
  const size_t axes = static_cast<size_t>(x.rank()) - 2;
  Ints kernel, strides, dilations, pads(2 * axes);
  for (size_t i = 0; i < axes; ++i) {
    kernel.push_back(s.between(1, 4));
    strides.push_back(s.between(1, 3));
    dilations.push_back(1);
    pads[i] = s.between(0, kernel.back() / 2);
    pads[i + axes] = s.between(0, kernel.back() / 2);
  }
  return {{"kernel", kernel},
          {"strides", strides},
          {"dilations", dilations},
          {"pads", pads},
          {"ceil", s.chance(20)}};
}

}  // namespace

void sample_pool(Samplers& r) {
  r.add("max_pool", [](Sampling& s) {
    Value* x = s.floats(3, 5);
    s.emit("max_pool", {x}, window(s, *x));
  });
  r.add("average_pool", [](Sampling& s) {
    Value* x = s.floats(3, 5);
    AttrMap attrs = window(s, *x);
    attrs["include_pad"] = s.chance(50);
    s.emit("average_pool", {x}, attrs);
  });
  r.add("qavg_pool", [](Sampling& s) {
    Value* x = s.codes(3, 5);
    AttrMap attrs = window(s, *x);
    if (s.chance(30)) {
      attrs = {{"output_size", s.chance(50) ? Ints(static_cast<size_t>(x->rank()) - 2, 1)
                                            : s.shape(x->rank() - 2, 8)}};
    }
    attrs["include_pad"] = s.chance(50);
    attrs["to"] = s.format();
    attrs["arithmetic"] = s.arithmetic();
    s.emit("qavg_pool", {x}, attrs);
  });
  r.add("lp_pool", [](Sampling& s) {
    Value* x = s.floats(3, 4);
    s.emit("lp_pool", {x}, window(s, *x));
  });
}

}  // namespace qc
