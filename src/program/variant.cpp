#include "program/variant.h"

#include <fmt/format.h>

namespace qc {

#define QC_VARIANTS(name) void variants_##name(std::vector<Variant>& out);
#include "kernels/variants.inc"
#undef QC_VARIANTS

std::span<const Variant> all_variants() {
  static const std::vector<Variant> variants = [] {
    std::vector<Variant> all;
#define QC_VARIANTS(name) variants_##name(all);
#include "kernels/variants.inc"
#undef QC_VARIANTS
    return all;
  }();
  return variants;
}

bool Binder::is_constant(const View& view) const {
  if (!view.present()) return false;
  const Place place = program_.resolve(view);
  const Buffer& owner = program_.buffer(place.buffer);
  return owner.kind == BufferKind::constant && place.offset == 0 && extent(view) == owner.bytes;
}

View Binder::packed(const View& source, std::vector<View> more, std::string purpose, DType dtype,
                    std::vector<int64_t> shape,
                    std::function<Result<Tensor>(const std::vector<Tensor>&)> make) {
  QC_CHECK(is_constant(source), "what is packed when weights are written must be a whole constant");
  ConstantPool* pool = program_.pool.get();  // owns the entry: sharing it would be a cycle
  const int owner = program_.owner(source.buffer);
  const ConstId from = program_.buffer(owner).constant;
  std::vector<std::optional<ConstId>> others;
  for (const View& v : more) {
    others.push_back(v.present() ? std::optional(program_.buffer(program_.owner(v.buffer)).constant)
                                 : std::nullopt);
    purpose += others.back() ? fmt::format(".{}", *others.back()) : ".";
  }
  auto [known, first] = constants_.try_emplace({from, purpose});
  // The same purpose with another shape depends on sizes and is another constant.
  if (first || pool->shape(known->second) != shape) {
    const std::string name = pool->name(from) + (pool->name(from).empty() ? "" : ".") +
                             purpose.substr(0, purpose.find('.'));
    known->second =
        pool->add_lazy(dtype, shape, name, [pool, from, others, make]() -> Result<Tensor> {
          std::vector<Tensor> tensors;
          QC_ASSIGN(Tensor t, pool->get(from));
          tensors.push_back(std::move(t));
          for (const auto& id : others) {
            Tensor other(DType::f32, {0});
            if (id) {
              QC_ASSIGN(other, pool->get(*id));
            }
            tensors.push_back(std::move(other));
          }
          return make(tensors);
        });
  }
  View view;
  view.dtype = dtype;
  view.dims = to_dims(shape);
  const auto [made, fresh] = buffers_.try_emplace(known->second, -1);
  if (!fresh) {
    view.buffer = made->second;
    return view;
  }
  Buffer buffer = program_.buffer(owner);
  buffer.name = pool->name(known->second);
  buffer.bytes = pool->byte_size(known->second);
  buffer.constant = known->second;
  // Weights that nobody else reads are replaced where they stand.
  if (uses_[static_cast<size_t>(owner)] == 1) {
    program_.buffer(owner) = std::move(buffer);
    view.buffer = owner;
  } else {
    program_.buffers.push_back(std::move(buffer));
    view.buffer = static_cast<int>(program_.buffers.size() - 1);
  }
  made->second = view.buffer;
  return view;
}

View Binder::scratch(DType dtype, std::vector<int64_t> shape, std::string_view purpose) {
  View view;
  view.dtype = dtype;
  view.dims = to_dims(shape);
  Buffer buffer;
  buffer.name = purpose;
  buffer.bytes = extent(view);
  program_.buffers.push_back(std::move(buffer));
  view.buffer = static_cast<int>(program_.buffers.size() - 1);
  return view;
}

Call Binder::make(const Call& from, std::string_view kernel, const void* params,
                  const std::vector<std::string_view>& select, std::vector<View> in,
                  std::vector<View> out) {
  Call call;
  call.kernel = find_kernel(kernel);
  QC_CHECK(call.kernel != nullptr, "a variant binds to an unknown kernel");
  call.select.assign(select.begin(), select.end());
  call.params = read_params(*call.kernel, params);
  call.in = std::move(in);
  call.out = std::move(out);
  if (!from.kernel) return call;
  const auto inherit = [](const std::vector<OperandSpec>& names, std::vector<View>& views,
                          const std::vector<OperandSpec>& theirs, const std::vector<View>& given) {
    for (size_t i = 0; i < names.size(); ++i) {
      for (size_t k = 0; k < theirs.size() && !views[i].present(); ++k) {
        if (theirs[k].name == names[i].name) views[i] = given[k];
      }
    }
  };
  inherit(call.kernel->in, call.in, from.kernel->in, from.in);
  inherit(call.kernel->out, call.out, from.kernel->out, from.out);
  call.macs = from.macs;
  call.facts = from.facts;
  for (auto [i, o] : from.in_place) {
    const int own = call.kernel->operand(from.kernel->in[static_cast<size_t>(i)].name);
    if (own >= 0) call.in_place.emplace_back(own, o);
  }
  return call;
}

void Binder::record(std::string_view kernel, const void* params,
                    const std::vector<std::string_view>& select, std::vector<View> in,
                    std::vector<View> out) {
  Call none;
  before_.push_back({{}, make(none, kernel, params, select, std::move(in), std::move(out))});
}

}  // namespace qc
