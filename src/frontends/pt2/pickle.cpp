#include "frontends/pt2/pickle.h"

#include <bit>
#include <map>
#include <optional>

namespace qc::pt2 {
namespace {

using Kind = PickleValue::Kind;
using Bytes = std::span<const std::byte>;

constexpr size_t kMaxValues = size_t{1} << 24;
constexpr size_t kMaxRank = 64;
constexpr uint32_t kMark = 0xffffffff;

/// Legacy storage classes and the element type each stands for.
constexpr std::pair<std::string_view, std::string_view> kStorages[] = {
    {"torch.FloatStorage", "float32"},
    {"torch.DoubleStorage", "float64"},
    {"torch.HalfStorage", "float16"},
    {"torch.BFloat16Storage", "bfloat16"},
    {"torch.LongStorage", "int64"},
    {"torch.IntStorage", "int32"},
    {"torch.ShortStorage", "int16"},
    {"torch.CharStorage", "int8"},
    {"torch.ByteStorage", "uint8"},
    {"torch.BoolStorage", "bool"},
    {"torch.ComplexFloatStorage", "complex64"},
    {"torch.ComplexDoubleStorage", "complex128"},
    {"torch.UntypedStorage", ""},
    {"torch.storage.UntypedStorage", ""},
};

constexpr std::string_view kDTypes[] = {
    "float32",        "float64",       "float16",     "bfloat16",        "int64",
    "int32",          "int16",         "int8",        "uint8",           "uint16",
    "uint32",         "uint64",        "bool",        "complex32",       "complex64",
    "complex128",     "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
    "float8_e8m0fnu",
};

enum class Call { ordered_dict, size, tensor, tensor_v3, parameter, typed, opaque };

/// Callables that may be applied, each standing for a fixed decoding.
constexpr std::pair<std::string_view, Call> kCalls[] = {
    {"collections.OrderedDict", Call::ordered_dict},
    {"torch.Size", Call::size},
    {"torch._utils._rebuild_tensor_v2", Call::tensor},
    {"torch._utils._rebuild_tensor_v3", Call::tensor_v3},
    {"torch._utils._rebuild_parameter", Call::parameter},
    {"torch._utils._rebuild_parameter_with_state", Call::parameter},
    {"torch._tensor._rebuild_from_type_v2", Call::typed},
    {"torch.device", Call::opaque},
    {"torch.serialization._get_layout", Call::opaque},
};

constexpr std::string_view kTypes[] = {"torch.Tensor", "torch.nn.parameter.Parameter",
                                       "torch.nn.parameter.Buffer"};

template <class Table>
const auto* lookup(const Table& table, std::string_view name) {
  for (const auto& row : table) {
    if (row.first == name) return &row.second;
  }
  return static_cast<decltype(&table[0].second)>(nullptr);
}
template <class List>
bool contains(const List& list, std::string_view name) {
  for (std::string_view item : list) {
    if (item == name) return true;
  }
  return false;
}

/// The element type a "torch.float32" global names, or nothing.
std::optional<std::string_view> dtype_of(std::string_view global) {
  if (!global.starts_with("torch.")) return std::nullopt;
  global.remove_prefix(6);
  if (!contains(kDTypes, global)) return std::nullopt;
  return global;
}

class Machine {
 public:
  Machine(Bytes bytes, const Loc& loc) : bytes_(bytes), loc_(loc) {}

  Result<Pickle> run() {
    while (true) {
      QC_ASSIGN(uint64_t op, number(1));
      if (op == '.') break;
      QC_TRY(step(static_cast<char>(op)));
      if (pickle_.values.size() > kMaxValues) {
        return error(Code::limit, loc_, "pickle holds more than {} objects", kMaxValues);
      }
    }
    QC_ASSIGN(pickle_.root, pop());
    return std::move(pickle_);
  }

 private:
  Diag broken(std::string_view why) const {
    return error(Code::format, loc_, "malformed pickle at byte {}: {}", pos_, why);
  }

  // Input.
  Result<Bytes> take(uint64_t size) {
    if (size > bytes_.size() - pos_) return broken("it is cut off");
    pos_ += size;
    return bytes_.subspan(pos_ - size, size);
  }
  Result<uint64_t> number(int size) {
    QC_ASSIGN(Bytes b, take(size));
    uint64_t v = 0;
    for (int i = size - 1; i >= 0; --i) v = v << 8 | std::to_integer<uint64_t>(b[i]);
    return v;
  }
  Result<std::string> string(uint64_t size) {
    QC_ASSIGN(Bytes b, take(size));
    return std::string(reinterpret_cast<const char*>(b.data()), b.size());
  }
  Result<std::string> line() {
    size_t begin = pos_;
    while (pos_ < bytes_.size() && bytes_[pos_] != std::byte{'\n'}) ++pos_;
    if (pos_ == bytes_.size()) return broken("it is cut off");
    ++pos_;
    return std::string(reinterpret_cast<const char*>(bytes_.data()) + begin, pos_ - 1 - begin);
  }

  // Stack and values.
  PickleValue& make(Kind kind) {
    stack_.push_back(static_cast<uint32_t>(pickle_.values.size()));
    pickle_.values.emplace_back().kind = kind;
    return pickle_.values.back();
  }
  Ok make_text(std::string text) {
    make(Kind::text).text = std::move(text);
    return {};
  }
  Ok make_integer(int64_t v) {
    make(Kind::integer).integer = v;
    return {};
  }
  Result<uint32_t> pop() {
    if (stack_.empty() || stack_.back() == kMark) return broken("its stack is empty");
    uint32_t v = stack_.back();
    stack_.pop_back();
    return v;
  }
  Result<PickleValue*> top(Kind kind) {
    if (stack_.empty() || stack_.back() == kMark) return broken("its stack is empty");
    PickleValue* v = &pickle_.values[stack_.back()];
    if (v->kind != kind) return broken("an object of another kind is expected");
    return v;
  }
  Result<std::vector<uint32_t>> pop_to_mark() {
    size_t at = stack_.size();
    while (at > 0 && stack_[at - 1] != kMark) --at;
    if (at == 0) return broken("a mark is missing");
    std::vector<uint32_t> items(stack_.begin() + at, stack_.end());
    stack_.resize(at - 1);
    return items;
  }
  const PickleValue& at(uint32_t i) const { return pickle_.values[i]; }

  Result<Ok> tuple(size_t count) {
    std::vector<uint32_t> items(count);
    for (size_t i = count; i-- > 0;) {
      QC_ASSIGN(items[i], pop());
    }
    make(Kind::sequence).items = std::move(items);
    return Ok{};
  }
  Result<Ok> set_items(const std::vector<uint32_t>& items) {
    if (items.size() % 2 != 0) return broken("a dict item has no value");
    QC_ASSIGN(PickleValue * dict, top(Kind::dict));
    for (size_t i = 0; i < items.size(); i += 2) dict->pairs.emplace_back(items[i], items[i + 1]);
    return Ok{};
  }
  Result<Ok> append(const std::vector<uint32_t>& items) {
    QC_ASSIGN(PickleValue * list, top(Kind::sequence));
    list->items.insert(list->items.end(), items.begin(), items.end());
    return Ok{};
  }
  Result<Ok> global(std::string module, const std::string& name) {
    std::string full = std::move(module) + "." + name;
    if (lookup(kStorages, full) == nullptr && lookup(kCalls, full) == nullptr &&
        !contains(kTypes, full) && !dtype_of(full)) {
      return error(Code::unsupported, loc_,
                   "pickle refers to '{}'; only plain tensors are read from pickles", full);
    }
    make(Kind::global).text = std::move(full);
    return Ok{};
  }
  Result<Ok> get(uint64_t slot) {
    auto it = memo_.find(slot);
    if (it == memo_.end()) return broken("it refers to an object it did not define");
    stack_.push_back(it->second);
    return Ok{};
  }
  Result<Ok> put(uint64_t slot) {
    if (stack_.empty() || stack_.back() == kMark) return broken("its stack is empty");
    memo_[slot] = stack_.back();
    return Ok{};
  }

  /// ('storage', class, key, location, element count)
  Result<Ok> persistent() {
    QC_ASSIGN(uint32_t id, pop());
    const PickleValue& t = at(id);
    if (t.kind != Kind::sequence || t.items.size() < 5 || at(t.items[0]).text != "storage" ||
        at(t.items[1]).kind != Kind::global || at(t.items[2]).kind != Kind::text ||
        at(t.items[4]).kind != Kind::integer) {
      return broken("a persistent id is not a storage");
    }
    const std::string_view* dtype = lookup(kStorages, at(t.items[1]).text);
    if (dtype == nullptr) return broken("a storage has no storage class");
    std::string key = at(t.items[2]).text;
    int64_t count = at(t.items[4]).integer;
    PickleValue& s = make(Kind::storage);
    s.text = std::move(key);
    s.integer = count;
    s.dtype = *dtype;
    return Ok{};
  }

  Result<std::vector<int64_t>> integers(uint32_t index) const {
    const PickleValue& v = at(index);
    if (v.kind != Kind::sequence) return broken("a tensor's sizes are not a tuple");
    if (v.items.size() > kMaxRank) return broken("a tensor has too many dimensions");
    std::vector<int64_t> out;
    for (uint32_t item : v.items) {
      if (at(item).kind != Kind::integer) return broken("a tensor's size is not an integer");
      out.push_back(at(item).integer);
    }
    return out;
  }

  /// (storage, offset, sizes, strides, requires_grad, hooks[, dtype][, metadata])
  Result<Ok> tensor(const std::vector<uint32_t>& args, bool with_dtype) {
    if (args.size() < (with_dtype ? 7 : 4) || at(args[0]).kind != Kind::storage ||
        at(args[1]).kind != Kind::integer) {
      return broken("a tensor's arguments are not those of torch.save");
    }
    QC_ASSIGN(auto sizes, integers(args[2]));
    QC_ASSIGN(auto strides, integers(args[3]));
    std::string dtype = at(args[0]).dtype;
    if (with_dtype) {
      auto named = dtype_of(at(args[6]).text);
      if (at(args[6]).kind != Kind::global || !named) return broken("a tensor has no dtype");
      dtype = *named;
    }
    if (dtype.empty()) return broken("a tensor on an untyped storage has no dtype");
    int64_t offset = at(args[1]).integer;
    PickleValue& t = make(Kind::tensor);
    t.storage = args[0];
    t.integer = offset;
    t.sizes = std::move(sizes);
    t.strides = std::move(strides);
    t.dtype = std::move(dtype);
    return Ok{};
  }

  Result<Ok> reduce() {
    QC_ASSIGN(uint32_t args_index, pop());
    QC_ASSIGN(uint32_t callee, pop());
    if (at(args_index).kind != Kind::sequence || at(callee).kind != Kind::global) {
      return broken("a call has no callable or no argument tuple");
    }
    return call(at(callee).text, at(args_index).items);
  }

  /// A small pickle could otherwise copy one long tuple over and over.
  Result<Ok> charge(size_t items) {
    copied_ += items;
    if (copied_ > kMaxValues) {
      return error(Code::limit, loc_, "pickle passes more than {} arguments", kMaxValues);
    }
    return Ok{};
  }

  Result<Ok> call(const std::string& name, std::vector<uint32_t> args) {
    QC_TRY(charge(args.size()));
    const Call* kind = lookup(kCalls, name);
    if (kind == nullptr) {
      return error(Code::unsupported, loc_, "pickle calls '{}', which is not read", name);
    }
    switch (*kind) {
      case Call::ordered_dict:
        return ordered_dict(args);
      case Call::size:
        if (args.size() != 1 || at(args[0]).kind != Kind::sequence)
          return broken("a bad torch.Size");
        stack_.push_back(args[0]);
        return Ok{};
      case Call::tensor:
        return tensor(args, false);
      case Call::tensor_v3:
        return tensor(args, true);
      case Call::parameter:
        if (args.empty() || at(args[0]).kind != Kind::tensor) return broken("a bad parameter");
        stack_.push_back(args[0]);
        return Ok{};
      case Call::typed:
        return typed(args);
      case Call::opaque:
        make(Kind::none);
        return Ok{};
    }
    return Ok{};
  }

  Result<Ok> ordered_dict(const std::vector<uint32_t>& args) {
    PickleValue dict;
    dict.kind = Kind::dict;
    if (!args.empty()) {
      if (at(args[0]).kind != Kind::sequence) return broken("a bad OrderedDict");
      QC_TRY(charge(at(args[0]).items.size()));
      for (uint32_t item : at(args[0]).items) {
        if (at(item).kind != Kind::sequence || at(item).items.size() != 2) {
          return broken("a bad OrderedDict");
        }
        dict.pairs.emplace_back(at(item).items[0], at(item).items[1]);
      }
    }
    make(Kind::dict) = std::move(dict);
    return Ok{};
  }

  /// (rebuild function, type, its arguments, state): a tensor that carries Python attributes.
  Result<Ok> typed(const std::vector<uint32_t>& args) {
    if (args.size() < 3 || at(args[0]).kind != Kind::global || at(args[1]).kind != Kind::global ||
        at(args[2]).kind != Kind::sequence) {
      return broken("a bad typed tensor");
    }
    const Call* inner = lookup(kCalls, at(args[0]).text);
    if (inner == nullptr || *inner == Call::typed || !contains(kTypes, at(args[1]).text)) {
      return error(Code::unsupported, loc_, "pickle holds a tensor of type '{}'", at(args[1]).text);
    }
    return call(at(args[0]).text, at(args[2]).items);
  }

  Result<Ok> long_integer(uint64_t size) {
    QC_ASSIGN(Bytes b, take(size));
    if (b.size() > 8) return broken("an integer is wider than 64 bits");
    uint64_t v = 0;
    for (size_t i = b.size(); i-- > 0;) v = v << 8 | std::to_integer<uint64_t>(b[i]);
    int shift = 64 - 8 * static_cast<int>(b.size());
    if (b.empty()) return make_integer(0);
    return make_integer(static_cast<int64_t>(v << shift) >> shift);
  }

  Result<Ok> step(char op) {
    switch (op) {
      case '\x80':
        QC_TRY(number(1));
        return Ok{};  // PROTO
      case '\x95':
        QC_TRY(number(8));
        return Ok{};  // FRAME
      case '(':
        stack_.push_back(kMark);
        return Ok{};  // MARK
      case '}':
        make(Kind::dict);
        return Ok{};  // EMPTY_DICT
      case ']':
      case ')':
        make(Kind::sequence);
        return Ok{};  // EMPTY_LIST, EMPTY_TUPLE
      case 'N':
        make(Kind::none);
        return Ok{};  // NONE
      case '\x88':
        make(Kind::boolean).integer = 1;
        return Ok{};  // NEWTRUE
      case '\x89':
        make(Kind::boolean);
        return Ok{};  // NEWFALSE
      case 'J': {     // BININT
        QC_ASSIGN(uint64_t v, number(4));
        return make_integer(static_cast<int32_t>(v));
      }
      case 'K': {  // BININT1
        QC_ASSIGN(uint64_t v, number(1));
        return make_integer(static_cast<int64_t>(v));
      }
      case 'M': {  // BININT2
        QC_ASSIGN(uint64_t v, number(2));
        return make_integer(static_cast<int64_t>(v));
      }
      case '\x8a': {  // LONG1
        QC_ASSIGN(uint64_t size, number(1));
        return long_integer(size);
      }
      case 'G': {  // BINFLOAT, big-endian
        QC_ASSIGN(uint64_t v, number(8));
        make(Kind::real).real = std::bit_cast<double>(__builtin_bswap64(v));
        return Ok{};
      }
      case 'X':
        return text(4);  // BINUNICODE
      case '\x8c':
        return text(1);  // SHORT_BINUNICODE
      case '\x8d':
        return text(8);  // BINUNICODE8
      case 'U':
        return text(1);  // SHORT_BINSTRING
      case '\x85':
        return tuple(1);
      case '\x86':
        return tuple(2);
      case '\x87':
        return tuple(3);
      case 't':
      case 'l': {  // TUPLE, LIST
        QC_ASSIGN(auto items, pop_to_mark());
        make(Kind::sequence).items = std::move(items);
        return Ok{};
      }
      case 'd': {  // DICT
        QC_ASSIGN(auto items, pop_to_mark());
        make(Kind::dict);
        return set_items(items);
      }
      case 'a': {  // APPEND
        QC_ASSIGN(uint32_t v, pop());
        return append({v});
      }
      case 'e': {  // APPENDS
        QC_ASSIGN(auto items, pop_to_mark());
        return append(items);
      }
      case 's': {  // SETITEM
        QC_ASSIGN(uint32_t v, pop());
        QC_ASSIGN(uint32_t k, pop());
        return set_items({k, v});
      }
      case 'u': {  // SETITEMS
        QC_ASSIGN(auto items, pop_to_mark());
        return set_items(items);
      }
      default:
        return reference(op);
    }
  }

  Result<Ok> text(int size_bytes) {
    QC_ASSIGN(uint64_t size, number(size_bytes));
    QC_ASSIGN(std::string s, string(size));
    return make_text(std::move(s));
  }

  /// Opcodes for the memo, globals, calls and storages.
  Result<Ok> reference(char op) {
    switch (op) {
      case 'q':
      case 'r': {  // BINPUT, LONG_BINPUT
        QC_ASSIGN(uint64_t slot, number(op == 'q' ? 1 : 4));
        return put(slot);
      }
      case '\x94':
        return put(memo_.size());  // MEMOIZE
      case 'h':
      case 'j': {  // BINGET, LONG_BINGET
        QC_ASSIGN(uint64_t slot, number(op == 'h' ? 1 : 4));
        return get(slot);
      }
      case '0':
        QC_TRY(pop());
        return Ok{};  // POP
      case 'c': {     // GLOBAL
        QC_ASSIGN(std::string module, line());
        QC_ASSIGN(std::string name, line());
        return global(std::move(module), name);
      }
      case '\x93': {  // STACK_GLOBAL
        QC_ASSIGN(uint32_t name, pop());
        QC_ASSIGN(uint32_t module, pop());
        if (at(name).kind != Kind::text || at(module).kind != Kind::text) {
          return broken("a global has no name");
        }
        return global(at(module).text, at(name).text);
      }
      case 'Q':
        return persistent();  // BINPERSID
      case 'R':
        return reduce();  // REDUCE
      case 'b': {         // BUILD: attributes of a dict or tensor, which say nothing here
        QC_TRY(pop());
        if (stack_.empty() || stack_.back() == kMark) return broken("its stack is empty");
        Kind kind = at(stack_.back()).kind;
        if (kind != Kind::dict && kind != Kind::tensor) return broken("state for another object");
        return Ok{};
      }
      default:
        return error(Code::unsupported, loc_,
                     "pickle uses opcode 0x{:02x} at byte {}, which plain tensors do not need",
                     static_cast<unsigned char>(op), pos_ - 1);
    }
  }

  Bytes bytes_;
  const Loc& loc_;
  size_t pos_ = 0;
  size_t copied_ = 0;
  Pickle pickle_;
  std::vector<uint32_t> stack_;
  std::map<uint64_t, uint32_t> memo_;
};

}  // namespace

Result<Pickle> read_pickle(Bytes bytes, const Loc& loc) { return Machine(bytes, loc).run(); }

}  // namespace qc::pt2
