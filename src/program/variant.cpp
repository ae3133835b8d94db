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
  const BufferOffset position = program_.resolve(view);
  const Buffer& owner = program_.buffer(position.buffer);
  if (owner.kind != BufferKind::constant || position.offset != 0) return false;
  if (extent(view) == owner.bytes) return true;
  // Codes of fewer than 8 bits take a byte each until they are packed.
  return bits(view.dtype) < 8 && view.strides.empty() && product(view.dims) == owner.bytes;
}

std::string Binder::not_constant(const Call& call,
                                 std::initializer_list<std::string_view> names) const {
  for (std::string_view name : names) {
    const View& view = call.operand(name);
    if (view.present() && !is_constant(view))
      return fmt::format("{} is no constant of its own", name);
  }
  return "";
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

View Binder::packed_by(const View& w, Call pack, std::string purpose, DType dtype, Dims sizes) {
  if (!is_constant(w)) {
    const View packed = pack.out[0] = scratch(dtype, std::move(sizes), "packed operand");
    before_.push_back({{}, std::move(pack)});
    return packed;
  }
  const Body* body = find_body(*pack.kernel, pack.select);
  QC_CHECK(body != nullptr, "nothing computes a packing");
  const std::vector<int64_t> shape = static_dims(sizes);
  return packed(
      w, {}, std::move(purpose), dtype, shape,
      [=, params = write_params(*pack.kernel, pack.params)](const std::vector<Tensor>& from) {
        Tensor out(dtype, shape);
        const void* in[] = {from[0].bytes().data()};
        void* to[] = {out.mutable_bytes().data()};
        body->run(params.data(), in, to);
        return Result<Tensor>(std::move(out));
      });
}

View Binder::scratch(DType dtype, Dims shape, std::string_view purpose) {
  View view;
  view.dtype = dtype;
  view.dims = std::move(shape);
  Buffer buffer;
  buffer.name = purpose;
  buffer.bytes = extent(view);
  program_.buffers.push_back(std::move(buffer));
  view.buffer = static_cast<int>(program_.buffers.size() - 1);
  return view;
}

namespace {

/// Operands and results that a bound call leaves out are those of the same name of `from`; so is
/// what does not depend on the kernel.
void inherit(const Call& from, Call& call) {
  const auto views = [](const std::vector<OperandSpec>& names, std::vector<View>& own,
                        const std::vector<OperandSpec>& theirs, const std::vector<View>& given) {
    for (size_t i = 0; i < names.size(); ++i) {
      for (size_t k = 0; k < theirs.size() && !own[i].present(); ++k) {
        if (theirs[k].name == names[i].name) own[i] = given[k];
      }
    }
  };
  views(call.kernel->in, call.in, from.kernel->in, from.in);
  views(call.kernel->out, call.out, from.kernel->out, from.out);
  call.macs = from.macs;
  call.facts = from.facts;
  for (auto [i, o] : from.in_place) {
    const int own = call.kernel->operand(from.kernel->in[static_cast<size_t>(i)].name);
    if (own >= 0) call.in_place.emplace_back(own, o);
  }
}

}  // namespace

Call Binder::make(const Call& from, std::string_view kernel, std::vector<Param> params,
                  const std::vector<std::string_view>& select, std::vector<View> in,
                  std::vector<View> out) {
  Call call;
  call.kernel = find_kernel(kernel);
  QC_CHECK(call.kernel != nullptr, "a variant binds to an unknown kernel");
  call.select.assign(select.begin(), select.end());
  call.params = std::move(params);
  call.in = std::move(in);
  call.out = std::move(out);
  if (from.kernel) inherit(from, call);
  return call;
}

Call Binder::like(const Call& from, std::string_view kernel, std::vector<std::string> select) {
  Call call;
  call.kernel = find_kernel(kernel);
  QC_CHECK(call.kernel != nullptr, "a variant binds to an unknown kernel");
  call.select = std::move(select);
  call.in.resize(call.kernel->in.size());
  call.out.resize(call.kernel->out.size());
  for (const Field& f : call.kernel->fields) {
    const Field* theirs = from.kernel->field(f.name);
    for (size_t i = 0; i < static_cast<size_t>(f.count); ++i) {
      if (theirs && theirs->type == f.type && theirs->count == f.count)
        call.params.push_back(from.params[theirs->at + i]);
      else
        call.params.push_back(f.type == Field::Type::f32 ? Param(0.0f) : Param(Dim(0)));
    }
  }
  inherit(from, call);
  return call;
}

void set_view(Call& call, std::string_view name, View view) {
  const int i = call.kernel->operand(name), o = call.kernel->result(name);
  QC_CHECK(i >= 0 || o >= 0, "a kernel has no such operand");
  (i >= 0 ? call.in[static_cast<size_t>(i)] : call.out[static_cast<size_t>(o)]) = std::move(view);
}

void set_integer(Call& call, std::string_view name, const Dim& value) {
  const Field* f = call.kernel->field(name);
  QC_CHECK(f && f->type != Field::Type::f32, "a kernel has no such integer");
  call.params[f->at] = value;
}

void Binder::record(std::string_view kernel, std::vector<Param> params,
                    const std::vector<std::string_view>& select, std::vector<View> in,
                    std::vector<View> out) {
  Call none;
  before_.push_back(
      {{}, make(none, kernel, std::move(params), select, std::move(in), std::move(out))});
}

}  // namespace qc
