// Text between Python and C++. Names of a model are bytes, most often UTF-8; bytes that are not
// come to Python as names of files do (the error handler surrogateescape) and back as they were.
// Include it instead of nanobind/stl/string.h.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

namespace nanobind::detail {

template <>
struct type_caster<std::string> {
  NB_TYPE_CASTER(std::string, const_name("str"))

  bool from_python(handle source, uint32_t, cleanup_list*) noexcept {
    if (!PyUnicode_Check(source.ptr())) return false;
    PyObject* bytes = PyUnicode_AsEncodedString(source.ptr(), "utf-8", "surrogateescape");
    char* data = nullptr;
    Py_ssize_t size = 0;
    const bool held = bytes && PyBytes_AsStringAndSize(bytes, &data, &size) == 0;
    if (held) value.assign(data, static_cast<size_t>(size));
    Py_XDECREF(bytes);
    if (!held) PyErr_Clear();
    return held;
  }

  static handle from_cpp(const std::string& text, rv_policy, cleanup_list*) noexcept {
    return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()),
                                "surrogateescape");
  }
};

}  // namespace nanobind::detail
