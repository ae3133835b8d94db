#include "arrays.h"

#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace quantc::python {
namespace {

struct TypeRow {
  const char* name;
  nb::dlpack::dtype_code code;
  uint8_t bits;
};
using Code = nb::dlpack::dtype_code;
constexpr TypeRow kTypes[] = {
    {"f32", Code::Float, 32},   {"f64", Code::Float, 64}, {"f16", Code::Float, 16},
    {"bf16", Code::Bfloat, 16}, {"i8", Code::Int, 8},     {"i16", Code::Int, 16},
    {"i32", Code::Int, 32},     {"i64", Code::Int, 64},   {"u8", Code::UInt, 8},
    {"u16", Code::UInt, 16},    {"u32", Code::UInt, 32},  {"u64", Code::UInt, 64},
    {"bool", Code::Bool, 8},
};

[[noreturn]] void bad_input(const std::string& name, const std::string& text) {
  Diagnostic d;
  d.kind = Kind::user;
  d.code = "input";
  d.text = (name.empty() ? "an array" : "array '" + name + "'") + (" " + text);
  d.message = "error[input]: " + d.text;
  raise(d);
}

/// Whether it is a torch.Tensor; torch is not imported for that.
bool is_tensor(const nb::object& array) {
  static PyObject* type = nullptr;  // as long as the process lives
  if (!type) {
    const nb::object torch = nb::module_::import_("sys").attr("modules").attr("get")("torch");
    if (torch.is_none()) return false;
    type = nb::object(nb::getattr(torch, "Tensor", nb::none())).release().ptr();
  }
  return type != Py_None && nb::isinstance(array, nb::handle(type));
}

/// A tensor's elements as a capsule: its own `__dlpack__` takes ten times as long. Nothing where
/// they are not shared as they are.
bool share_tensor(const nb::object& tensor, nb::ndarray<nb::ro>& out) {
  static PyObject* const to_dlpack =  // as long as the process lives
      nb::object(nb::module_::import_("torch.utils.dlpack").attr("to_dlpack")).release().ptr();
  try {
    return !nb::cast<bool>(tensor.attr("is_neg")()) &&
           nb::try_cast(nb::handle(to_dlpack)(tensor), out);
  } catch (const nb::python_error&) {
    return false;
  }
}

bool is_numpy(const nb::object& array) {
  const nb::object numpy = nb::module_::import_("sys").attr("modules").attr("get")("numpy");
  return !numpy.is_none() && nb::isinstance(array, numpy.attr("ndarray"));
}

bool contiguous(const nb::ndarray<nb::ro>& a) {
  int64_t expected = 1;
  for (size_t i = a.ndim(); i-- > 0;) {
    if (a.shape(i) == 0) return true;
    if (a.shape(i) != 1 && a.stride(i) != expected) return false;
    expected *= static_cast<int64_t>(a.shape(i));
  }
  return true;
}

std::string type_of(const nb::ndarray<nb::ro>& a, const std::string& name) {
  const nb::dlpack::dtype t = a.dtype();
  for (const TypeRow& row : kTypes) {
    if (t.lanes == 1 && t.bits == row.bits && t.code == static_cast<uint8_t>(row.code))
      return row.name;
  }
  bad_input(name, "has elements of a type that quantc does not take");
}

/// What a result is in memory: types that DLPack has no name for are their bits.
nb::dlpack::dtype dtype_of(const std::string& type, bool torch) {
  for (const TypeRow& row : kTypes) {
    if (type == row.name && (torch || row.code != Code::Bfloat))
      return {static_cast<uint8_t>(row.code), row.bits, 1};
  }
  const uint8_t bits = type == "bf16" ? 16 : 8;
  return {static_cast<uint8_t>(Code::UInt), bits, 1};
}

}  // namespace

void raise(const Diagnostic& d) {
  const nb::object error = nb::module_::import_("quantc._errors")
                               .attr("make")(static_cast<int>(d.kind), d.code, d.file, d.nodes,
                                             d.op, d.text, d.notes, d.message);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  throw nb::python_error();
}

void add_note(nb::python_error& error, const std::string& note) {
  nb::module_::import_("quantc._errors").attr("add_note")(error.value(), note);
}

Arguments::Arguments(const nb::sequence& arrays, const std::vector<std::string>& names) {
  size_t i = 0;
  for (nb::handle array : arrays) {
    add(nb::borrow(array), i < names.size() ? names[i] : std::string());
    ++i;
  }
}

void Arguments::add(nb::object array, std::string name) {
  const bool tensor = is_tensor(array);
  torch_ = torch_ || tensor;
  nb::ndarray<nb::ro> a;
  bool shared = tensor ? share_tensor(array, a) : nb::try_cast(array, a);
  if (!shared && tensor) {
    if (nb::cast<std::string>(array.attr("device").attr("type")) != "cpu")
      bad_input(name, "is not in the memory of the processor: pass x.cpu()");
    array = array.attr("detach")().attr("resolve_neg")();
    shared = share_tensor(array, a);
  }
  if (!shared && is_numpy(array)) {
    const nb::object dtype = array.attr("dtype");
    if (!nb::cast<bool>(dtype.attr("isnative"))) {  // bytes in the other order
      array = array.attr("astype")(dtype.attr("newbyteorder")("="));
      shared = nb::try_cast(array, a);
    }
    if (!shared) {
      bad_input(name, "has elements of NumPy's type '" + nb::cast<std::string>(nb::str(dtype)) +
                          "', which quantc does not take");
    }
  }
  if (!shared && tensor) {
    bad_input(name,
              "is a torch tensor whose elements do not lie in memory as they are: pass "
              "x.to_dense() of a sparse one, x.dequantize() of a quantized one");
  }
  if (!shared) {
    bad_input(name, "is a " + nb::cast<std::string>(nb::str(nb::type_name(array.type()))) +
                        ", not an array: pass a NumPy array, such as numpy.asarray(x, "
                        "numpy.float32), or a torch tensor");
  }
  if (a.device_type() != nb::device::cpu::value)
    bad_input(name, "is not in the memory of the processor: pass x.cpu()");
  if (!contiguous(a)) {
    array = tensor ? array.attr("contiguous")()
                   : nb::module_::import_("numpy").attr("ascontiguousarray")(array);
    if (!(tensor ? share_tensor(array, a) : nb::try_cast(array, a)) || !contiguous(a))
      bad_input(name, "cannot be made contiguous");
  }
  std::vector<int64_t> shape;
  for (size_t i = 0; i < a.ndim(); ++i) shape.push_back(static_cast<int64_t>(a.shape(i)));
  const std::string type = type_of(a, name);
  views_.emplace_back(std::move(name), type, std::move(shape), a.data(), a.nbytes());
  held_.push_back(std::move(a));
}

namespace {

nb::object array_at(void* data, const std::vector<int64_t>& sizes, const std::string& type,
                    const nb::capsule& owner, bool torch) {
  const std::vector<size_t> shape(sizes.begin(), sizes.end());
  const nb::dlpack::dtype dtype = dtype_of(type, torch);
  if (torch) {
    return nb::cast(nb::ndarray<nb::pytorch, nb::device::cpu>(data, shape.size(), shape.data(),
                                                              owner, nullptr, dtype));
  }
  return nb::cast(nb::ndarray<nb::numpy, nb::device::cpu>(data, shape.size(), shape.data(), owner,
                                                          nullptr, dtype));
}

}  // namespace

nb::list results_of(std::vector<Array> arrays, bool torch) {
  nb::list out;
  for (Array& array : arrays) {
    auto* held = new Array(std::move(array));
    const nb::capsule owner(held, [](void* p) noexcept { delete static_cast<Array*>(p); });
    out.append(array_at(held->data.data(), held->shape, held->type, owner, torch));
  }
  return out;
}

void Results::Free::operator()(void* p) const { std::free(p); }

void* Results::allocate(size_t bytes) {
  return memory_.emplace_back(std::malloc(bytes > 0 ? bytes : 1)).get();
}

nb::list Results::take(const ArrayViews& views, bool torch) {
  nb::list out;
  for (size_t i = 0; i < views.size(); ++i) {
    void* data = memory_[i].release();
    const nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
    out.append(array_at(data, views[i].shape, views[i].type, owner, torch));
  }
  return out;
}

}  // namespace quantc::python
