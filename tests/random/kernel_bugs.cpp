#include "tests/random/kernel_bugs.h"

namespace qc {
namespace {

/// `right` in the text of the kernels becomes a choice between it and `wrong`, or with `statement`
/// is preceded by `wrong`.
struct KernelBug {
  const char* name;
  const char* right;
  const char* wrong;
  bool statement = false;
};

const KernelBug kBugs[] = {
    {"ties go away from zero", "(int32_t)qn_round_f32(within) + zero",
     "(int32_t)(within + (within < 0 ? -0.5f : 0.5f)) + zero"},
    {"the zero point is added before rounding", "(int32_t)qn_round_f32(within) + zero",
     "(int32_t)qn_round_f32(within + (float)zero)"},
    {"codes are cut, not rounded", "(int32_t)qn_round_f32(within) + zero",
     "(int32_t)within + zero"},
    {"the highest code is one too high", "above < most ? above : most",
     "above < most + 1.0f ? above : most + 1.0f"},
    {"the lowest code is one too low", "v > least ? v : least",
     "v > least - 1.0f ? v : least - 1.0f"},
    {"a quotient is a product with the reciprocal", "*x / s[at]", "qn_mulf(*x, 1.0f / s[at])"},
    {"decoding drops the zero point", "(float)((int64_t)code - zero)", "(float)code"},
    {"a sum drops a zero point", "qn_mulf((float)(a - za), ra)", "qn_mulf((float)a, ra)"},
    {"a sum is not fused", "qn_fmaf((float)(b - zb), rb, first)",
     "(qn_mulf((float)(b - zb), rb) + first)"},
    {"a sum takes its operands in the other order",
     "qn_fmaf((float)a, ra, qn_fmaf((float)b, rb, shift))",
     "qn_fmaf((float)b, rb, qn_fmaf((float)a, ra, shift))"},
    {"a product is fused with its zero point",
     "qn_mulf((float)((a - za) * (b - zb)), multiplier) + (float)zero",
     "qn_fmaf((float)((a - za) * (b - zb)), multiplier, (float)zero)"},
    {"a product drops a zero point", "qn_rescale((a - za) * (b - zb), multiplier, zero, lo, hi)",
     "qn_rescale(a * (b - zb), multiplier, zero, lo, hi)"},
    {"a mean divides twice", "sx / qn_mulf(sy, (float)n)", "sx / sy / (float)n"},
    {"a mean adds its zero point after rounding", "mean / sy + (float)zero",
     "qn_round_f32(mean / sy) + (float)zero"},
    {"a sum of codes saturates", "sum += qk_load_code(x, p->type_x, at) - p->zx;",
     "sum = sum > 127 ? 127 : sum < -128 ? -128 : sum;", true},
    {"a mean pool drops the zero point", "QK_QAVG_OFFSET e - q->zx",
     "QK_QAVG_OFFSET e - (qc_bug == # ? 0 : q->zx)"},
    {"an accumulator saturates at 16 bits", "float v = (float)sum;",
     "sum = sum > 32767 ? 32767 : sum < -32768 ? -32768 : sum;", true},
    {"every channel has the first one's multiplier", "((const float*)o->multipliers)[channel]",
     "((const float*)o->multipliers)[0]"},
    {"a table is read with the other sign", "y[i] = table[x[i]];",
     "y[i] = table[qc_bug == # ? x[i] ^ 128 : x[i]];"},
    {"two roundings become one", "v / p->sy",
     "qn_mulf((float)((int32_t)x[i] - p->zx), p->sx / p->sy)"},
    {"a dynamic range has a step too many", "(most - least) / (float)(hi - lo)",
     "(most - least) / (float)(hi - lo + 1)"},
    {"the state of a cell is not rounded", "h[j] = qn_mulf((float)hc[j], q->scale_h);",
     "if (qc_bug != #) h[j] = qn_mulf((float)hc[j], q->scale_h);"},
    {"the sum of a gate is not fused", "qn_fmaf(sum, m[g], acc[g])",
     "(qn_mulf(sum, m[g]) + acc[g])"},
    {"weights are read as unsigned", "return ((const int8_t*)x)[i];",
     "return qc_bug == # ? ((const uint8_t*)x)[i] : ((const int8_t*)x)[i];"},
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

}  // namespace

std::vector<std::string> kernel_bug_names() {
  std::vector<std::string> out;
  for (const KernelBug& bug : kBugs) out.emplace_back(bug.name);
  return out;
}

std::vector<std::pair<std::string, std::string>> kernel_bug_edits() {
  std::vector<std::pair<std::string, std::string>> out = {
      {"#define QC_ALL_KERNELS\n", "#define QC_ALL_KERNELS\nint qc_bug;\n"}};
  for (size_t i = 0; i < std::size(kBugs); ++i) {
    const KernelBug& bug = kBugs[i];
    const std::string number = std::to_string(i + 1);
    const std::string choice = "qc_bug == " + number;
    std::string to = replaced(bug.wrong, "#", number);
    if (bug.statement) {
      to = "if (" + choice + ") { " + to + " } " + bug.right;
    } else if (to == bug.wrong) {
      to = "(" + choice + " ? (" + to + ") : (" + bug.right + "))";
    }
    out.emplace_back(bug.right, to);
  }
  return out;
}

}  // namespace qc
