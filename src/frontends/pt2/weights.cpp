#include <cstring>

#include "frontends/pt2/archive.h"
#include "frontends/pt2/pickle.h"
#include "support/checked.h"

namespace qc::pt2 {
namespace {

using Bytes = std::span<const std::byte>;
using Kind = PickleValue::Kind;

/// Copies may be larger than their storage (expanded tensors); beyond this that is refused.
constexpr int64_t kMaxExpandedBytes = int64_t{1} << 31;

Result<int64_t> literal(const SymInt& size, const Loc& loc) {
  if (!size.value) return error(Code::format, loc, "a stored tensor has a symbolic size");
  return *size.value;
}

Result<std::vector<int64_t>> literals(const std::vector<SymInt>& sizes, const Loc& loc) {
  std::vector<int64_t> out;
  for (const SymInt& size : sizes) {
    QC_ASSIGN(int64_t value, literal(size, loc));
    out.push_back(value);
  }
  return out;
}

/// Byte order other than little-endian is refused where the archive states it.
Result<Ok> check_byte_order(const ZipArchive& zip, const std::string& root, const Loc& loc) {
  const ZipEntry* order = zip.find(root + "byteorder");
  if (order != nullptr && text(*order) != "little") {
    return error(Code::unsupported, loc, "tensors are stored in '{}' byte order, expected 'little'",
                 text(*order).substr(0, 16));
  }
  return Ok{};
}

/// A torch.save archive: its object tree and where its storages lie.
struct Saved {
  ZipArchive zip;
  Pickle pickle;

  Result<StoredTensor> tensor(const PickleValue& value, const Loc& loc) const {
    const PickleValue& storage = pickle.at(value.storage);
    std::string name = std::string(zip.root()) + "data/" + storage.text;
    const ZipEntry* entry = zip.find(name);
    if (entry == nullptr) return error(Code::format, loc, "storage '{}' is missing", name);
    return StoredTensor{
        scalar_type_of(value.dtype), value.sizes, value.strides, value.integer, entry->data, false};
  }
};

Result<Saved> read_saved(Bytes bytes, const Loc& loc) {
  QC_ASSIGN(ZipArchive zip, ZipArchive::read(bytes, loc.file));
  std::string root(zip.root());
  QC_TRY(check_byte_order(zip, root, loc));
  const ZipEntry* data = zip.find(root + "data.pkl");
  if (data == nullptr) return error(Code::format, loc, "not a torch.save archive: no data.pkl");
  QC_ASSIGN(Pickle pickle, read_pickle(data->data, loc));
  return Saved{std::move(zip), std::move(pickle)};
}

Diag out_of_storage(const StoredTensor& t, const Loc& loc) {
  return error(Code::format, loc, "a tensor reaches beyond its storage of {} bytes",
               t.storage.size());
}

/// Elements spanned from the storage's start: offset + 1 + sum((size-1)*stride).
Result<int64_t> reach(const StoredTensor& t, const Loc& loc) {
  int64_t last = t.offset;
  for (size_t i = 0; i < t.sizes.size(); ++i) {
    if (t.strides[i] < 0) return error(Code::format, loc, "a stored tensor has a negative stride");
    auto step = checked_mul(t.sizes[i] - 1, t.strides[i]);
    auto sum = step ? checked_add(last, *step) : std::nullopt;
    if (!sum) return out_of_storage(t, loc);
    last = *sum;
  }
  auto end = checked_add(last, 1);
  if (!end) return out_of_storage(t, loc);
  return *end;
}

bool is_contiguous(const StoredTensor& t) {
  int64_t expected = 1;
  for (size_t i = t.sizes.size(); i-- > 0;) {
    if (t.sizes[i] != 1 && t.strides[i] != expected) return false;
    expected *= t.sizes[i];
  }
  return true;
}

/// Row-major copy of the window; every bound has been checked.
void gather(const StoredTensor& t, size_t width, std::byte* out) {
  size_t rank = t.sizes.size();
  int64_t inner = rank == 0 ? 1 : t.sizes[rank - 1];
  int64_t inner_stride = rank == 0 ? 1 : t.strides[rank - 1];
  std::vector<int64_t> index(rank, 0);
  int64_t at = t.offset;
  while (true) {
    for (int64_t i = 0; i < inner; ++i, out += width) {
      std::memcpy(out, t.storage.data() + (at + i * inner_stride) * static_cast<int64_t>(width),
                  width);
    }
    size_t axis = rank < 2 ? 0 : rank - 1;
    while (axis-- > 0) {
      at += t.strides[axis];
      if (++index[axis] < t.sizes[axis]) break;
      at -= t.sizes[axis] * t.strides[axis];
      index[axis] = 0;
    }
    if (axis == static_cast<size_t>(-1)) return;
  }
}

/// Any non-zero byte of a bool is true.
Tensor with_clean_booleans(Tensor t) {
  if (t.dtype() != DType::boolean) return t;
  for (std::byte b : t.bytes()) {
    if (b > std::byte{1}) {
      for (std::byte& m : t.mutable_bytes()) m = m == std::byte{0} ? m : std::byte{1};
      break;
    }
  }
  return t;
}

}  // namespace

bool StoredTensor::operator==(const StoredTensor& other) const {
  return storage.data() == other.storage.data() && storage.size() == other.storage.size() &&
         dtype == other.dtype && sizes == other.sizes && strides == other.strides &&
         offset == other.offset && pickled == other.pickled;
}

Result<Tensor> materialise(const StoredTensor& stored, std::shared_ptr<const void> owner,
                           const Loc& loc) {
  if (stored.pickled) {
    QC_ASSIGN(Saved saved, read_saved(stored.storage, loc));
    const PickleValue& root = saved.pickle.at(saved.pickle.root);
    if (root.kind != Kind::tensor) {
      return error(Code::unsupported, loc, "a pickled weight is not a plain tensor");
    }
    QC_ASSIGN(StoredTensor inner, saved.tensor(root, loc));
    return materialise(inner, std::move(owner), loc);
  }
  auto dtype = to_dtype(stored.dtype);
  if (!dtype) {
    return error(Code::unsupported, loc, "tensors of type {} are not supported",
                 scalar_type_name(stored.dtype));
  }
  if (stored.sizes.size() != stored.strides.size() || stored.offset < 0) {
    return error(Code::format, loc, "a stored tensor has {} sizes, {} strides, offset {}",
                 stored.sizes.size(), stored.strides.size(), stored.offset);
  }
  auto checked = checked_bytes(*dtype, stored.sizes);
  if (!checked.ok()) return error(Code::limit, loc, "{}", checked.diag().text);
  int64_t total = *checked, width = static_cast<int64_t>(bytes(*dtype));
  if (total == 0) return Tensor(*dtype, stored.sizes);
  if (stored.storage.empty()) {
    return error(Code::unsupported, loc,
                 "the file holds no data for this tensor (was it exported with fake tensors?)");
  }
  QC_ASSIGN(int64_t end, reach(stored, loc));
  int64_t available = static_cast<int64_t>(stored.storage.size());
  if (end > available / width) return out_of_storage(stored, loc);
  if (is_contiguous(stored)) {
    Bytes window = stored.storage.subspan(stored.offset * width, total);
    if (reinterpret_cast<uintptr_t>(window.data()) % width == 0) {
      return with_clean_booleans(Tensor::borrow(*dtype, stored.sizes, window, std::move(owner)));
    }
  } else if (total > available && total > kMaxExpandedBytes) {
    return error(Code::limit, loc, "an expanded tensor takes {} bytes, at most {} are accepted",
                 total, kMaxExpandedBytes);
  }
  Tensor out(*dtype, stored.sizes);
  gather(stored, width, out.mutable_bytes().data());
  return with_clean_booleans(std::move(out));
}

Result<Ok> TensorTable::add_raw(const ZipArchive& zip, const std::string& folder,
                                const std::string& config) {
  const ZipEntry* entry = zip.find(folder + config);
  Loc loc{zip.file(), {folder + config}, {}};
  QC_TRY(check_byte_order(zip, std::string(zip.root()), loc));
  QC_ASSIGN(WeightConfig entries, parse_weights_config(text(*entry), loc));
  for (auto& [name, weight] : entries) {
    Loc at{zip.file(), {name}, {}};
    const ZipEntry* file = zip.find(folder + weight.path);
    if (file == nullptr) {
      return error(Code::format, at, "file '{}' is missing from the archive", weight.path);
    }
    StoredTensor t;
    t.storage = file->data;
    t.pickled = weight.use_pickle;
    if (!t.pickled) {
      t.dtype = weight.meta.dtype;
      QC_ASSIGN(t.sizes, literals(weight.meta.sizes, at));
      QC_ASSIGN(t.strides, literals(weight.meta.strides, at));
      QC_ASSIGN(t.offset, literal(weight.meta.storage_offset, at));
    }
    tensors_.emplace(name, std::move(t));
  }
  return Ok{};
}

Result<Ok> TensorTable::add_saved(Bytes bytes, const std::string& file, const std::string& entry) {
  Loc loc{file, {entry}, {}};
  if (bytes.empty()) return Ok{};
  QC_ASSIGN(Saved saved, read_saved(bytes, loc));
  const PickleValue& root = saved.pickle.at(saved.pickle.root);
  if (root.kind != Kind::dict) {
    return error(Code::format, loc, "expected a dict of tensors");
  }
  for (auto [key, value] : root.pairs) {
    const PickleValue& name = saved.pickle.at(key);
    const PickleValue& tensor = saved.pickle.at(value);
    if (name.kind != Kind::text) return error(Code::format, loc, "a tensor's name is not a string");
    if (tensor.kind != Kind::tensor) continue;
    QC_ASSIGN(StoredTensor stored, saved.tensor(tensor, Loc{file, {name.text}, {}}));
    tensors_.insert_or_assign(name.text, std::move(stored));
  }
  return Ok{};
}

const StoredTensor* TensorTable::find(std::string_view name) const {
  auto it = tensors_.find(name);
  return it == tensors_.end() ? nullptr : &it->second;
}

}  // namespace qc::pt2
