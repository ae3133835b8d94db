// Element access by value, with the conversions of the arithmetic contract.
#include <cstring>

#include "ir/tensor.h"
#include "kernels/numerics/cast.h"

namespace qc {
namespace {

// Borrowed bytes may lie anywhere in a file.
template <class T>
T load(std::span<const std::byte> bytes, int64_t i) {
  T value;
  std::memcpy(&value, bytes.data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
  return value;
}

double double_of(float value) { return static_cast<double>(value); }
double double_of(double value) { return value; }
double double_of(int64_t value) { return static_cast<double>(value); }
double double_of(uint64_t value) { return static_cast<double>(value); }

int64_t int_of(float value) { return qn_put_i64_f32(value); }
int64_t int_of(double value) { return qn_put_i64_f64(value); }
int64_t int_of(int64_t value) { return value; }
int64_t int_of(uint64_t value) { return qn_put_i64_u64(value); }

}  // namespace

#define QC_CHECK_INDEX(i) QC_CHECK((i) >= 0 && (i) < size_, "element index out of range")

double Tensor::as_double(int64_t i) const {
  QC_CHECK_INDEX(i);
  switch (dtype_) {
#define QN_STORAGE(enumerator, suffix, ctype, kind) \
  case DType::enumerator:                           \
    return double_of(qn_get_##suffix(load<ctype>(bytes_, i)));
#include "kernels/numerics/storage_types.inc"
  }
  return 0;
}

int64_t Tensor::as_int(int64_t i) const {
  QC_CHECK_INDEX(i);
  switch (dtype_) {
#define QN_STORAGE(enumerator, suffix, ctype, kind) \
  case DType::enumerator:                           \
    return int_of(qn_get_##suffix(load<ctype>(bytes_, i)));
#include "kernels/numerics/storage_types.inc"
  }
  return 0;
}

void Tensor::set_double(int64_t i, double value) {
  QC_CHECK_INDEX(i);
  switch (dtype_) {
#define QN_STORAGE(enumerator, suffix, ctype, kind)          \
  case DType::enumerator:                                    \
    mutable_data<ctype>()[i] = qn_put_##suffix##_f64(value); \
    return;
#include "kernels/numerics/storage_types.inc"
  }
}

void Tensor::set_int(int64_t i, int64_t value) {
  QC_CHECK_INDEX(i);
  switch (dtype_) {
#define QN_STORAGE(enumerator, suffix, ctype, kind)          \
  case DType::enumerator:                                    \
    mutable_data<ctype>()[i] = qn_put_##suffix##_i64(value); \
    return;
#include "kernels/numerics/storage_types.inc"
  }
}

}  // namespace qc
