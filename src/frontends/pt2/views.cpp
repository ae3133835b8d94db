#include "frontends/pt2/views.h"

#include <numeric>

namespace qc::pt2 {
namespace {

using W = WriteBack;

constexpr ViewOp kViews[] = {
    {"detach.default", W::identity},
    {"alias.default", W::identity},
    {"conj.default", W::identity},
    {"resolve_conj.default", W::identity},
    {"resolve_neg.default", W::identity},
    {"positive.default", W::identity},
    {"requires_grad.default", W::identity},
    {"dropout.default", W::identity},
    {"feature_dropout.default", W::identity},
    {"alpha_dropout.default", W::identity},
    {"feature_alpha_dropout.default", W::identity},
    {"contiguous.default", W::identity, true},
    {"to.dtype", W::identity, true},
    {"to.device", W::identity, true},
    {"to.dtype_layout", W::identity, true},
    {"to.other", W::identity, true},
    {"type_as.default", W::identity, true},
    {"view.default", W::reshape},
    {"view_as.default", W::reshape},
    {"reshape.default", W::reshape, true},
    {"reshape_as.default", W::reshape, true},
    {"flatten.using_ints", W::reshape, true},
    {"unflatten.int", W::reshape},
    {"unsqueeze.default", W::reshape},
    {"squeeze.default", W::reshape},
    {"squeeze.dim", W::reshape},
    {"squeeze.dims", W::reshape},
    {"permute.default", W::permute},
    {"transpose.int", W::permute},
    {"swapaxes.default", W::permute},
    {"swapdims.default", W::permute},
    {"t.default", W::permute},
    {"numpy_T.default", W::permute},
    {"mT.default", W::permute},
    {"mH.default", W::permute},
    {"adjoint.default", W::permute},
    {"slice.Tensor", W::slice},
    {"narrow.default", W::slice},
    {"select.int", W::select},
    {"split.Tensor", W::parts},
    {"split.sizes", W::parts},
    {"split_with_sizes.default", W::parts},
    {"chunk.default", W::parts},
    {"tensor_split.sections", W::parts},
    {"tensor_split.indices", W::parts},
    {"unbind.int", W::unbind},
    {"diagonal.default", W::diagonal},
    {"expand.default", W::none},
    {"as_strided.default", W::none},
    {"view.dtype", W::none},
    {"_unsafe_view.default", W::reshape, true},
    {"atleast_1d.default", W::reshape},
    {"atleast_2d.default", W::reshape},
    {"atleast_3d.default", W::reshape},
    {"ravel.default", W::reshape, true},
};

/// Sizes or strides as numbers; nothing when one is symbolic.
std::optional<Ints> numbers(const std::vector<SymInt>& sizes) {
  Ints out;
  for (const SymInt& s : sizes) {
    if (!s.value) return std::nullopt;
    out.push_back(*s.value);
  }
  return out;
}

bool is_dense(const Ints& sizes, const Ints& strides) {
  int64_t expected = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 0) return true;
    if (sizes[i] != 1 && strides[i] != expected) return false;
    if (__builtin_mul_overflow(expected, sizes[i], &expected)) return false;
  }
  return true;
}

/// Whether a tensor of these sizes and strides can be seen under `target` without a copy: every
/// block of target axes must fall on one run of axes that are dense with respect to each other.
bool can_view(const Ints& sizes, const Ints& strides, const Ints& target) {
  if (is_dense(sizes, strides)) return true;
  size_t to = target.size();
  int64_t run = 1, seen = 1, stride = strides.back();
  for (size_t i = sizes.size(); i-- > 0;) {
    int64_t reach;
    if (__builtin_mul_overflow(run, sizes[i], &run) ||
        __builtin_mul_overflow(run, stride, &reach)) {
      return false;
    }
    if (i > 0 && (sizes[i - 1] == 1 || strides[i - 1] == reach)) continue;
    while (to > 0 && (seen < run || target[to - 1] == 1)) {
      if (__builtin_mul_overflow(seen, target[--to], &seen)) return false;
    }
    if (seen != run) return false;
    if (i > 0) stride = strides[i - 1];
    run = seen = 1;
  }
  return to == 0;
}

}  // namespace

const ViewOp* find_view(std::string_view op) {
  for (const ViewOp& view : kViews) {
    if (view.op == op) return &view;
  }
  static constexpr ViewOp kOther = {"", W::none};
  const ImportRow* row = import_table().find("aten", op, 0);
  return row != nullptr && row->alias == Alias::view ? &kOther : nullptr;
}

std::optional<std::string> plain_form(std::string_view op) {
  size_t dot = op.find('.');
  if (dot == op.npos || dot < 2 || op[dot - 1] != '_' || op[dot - 2] == '_') return std::nullopt;
  return std::string(op.substr(0, dot - 1)) + std::string(op.substr(dot));
}

bool returns_view(const ViewOp& view, const TensorMeta& from, const TensorMeta& to) {
  if (!view.may_copy) return true;
  if (from.dtype != to.dtype) return false;
  auto sizes = numbers(from.sizes), strides = numbers(from.strides), target = numbers(to.sizes);
  if (!sizes || !strides || !target || sizes->size() != strides->size()) return true;
  if (view.write_back == WriteBack::reshape) return can_view(*sizes, *strides, *target);
  if (view.op == "contiguous.default") return is_dense(*sizes, *strides);
  return true;
}

Result<Ints> permutation(std::string_view op, const Import& import, int64_t rank) {
  if (op == "permute.default") {
    QC_ASSIGN(Ints dims, import.ints("dims", {}));
    if (static_cast<int64_t>(dims.size()) != rank) {
      return import.fail(Code::shape, "permute lists {} axes, the tensor has {}", dims.size(),
                         rank);
    }
    for (int64_t& d : dims) {
      QC_ASSIGN(d, resolve_axis(d, rank, import.loc()));
    }
    return dims;
  }
  Ints perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  if (op == "numpy_T.default") return Ints(perm.rbegin(), perm.rend());
  int64_t a = -2, b = -1;
  if (op == "transpose.int" || op == "swapdims.default") {
    QC_ASSIGN(a, import.i("dim0", a));
    QC_ASSIGN(b, import.i("dim1", b));
  } else if (op == "swapaxes.default") {
    QC_ASSIGN(a, import.i("axis0", a));
    QC_ASSIGN(b, import.i("axis1", b));
  }
  if (rank < 2) return perm;
  QC_ASSIGN(a, resolve_axis(a, rank, import.loc()));
  QC_ASSIGN(b, resolve_axis(b, rank, import.loc()));
  std::swap(perm[a], perm[b]);
  return perm;
}

}  // namespace qc::pt2
