// Interned: a string kept once for the whole process, so that copies are pointers and comparing is
// cheap. For texts of which there are few: names of files, ops and kernels.
#pragma once

#include <string>
#include <string_view>

namespace qc {

class Interned {
 public:
  Interned() = default;
  Interned(std::string_view text);
  Interned(const std::string& text) : Interned(std::string_view(text)) {}
  Interned(const char* text) : Interned(std::string_view(text)) {}

  const std::string& str() const { return *text_; }
  operator const std::string&() const { return *text_; }
  operator std::string_view() const { return *text_; }
  bool empty() const { return text_->empty(); }

  friend bool operator==(Interned a, Interned b) { return a.text_ == b.text_; }
  friend bool operator==(Interned a, std::string_view b) { return *a.text_ == b; }
  friend bool operator==(Interned a, const std::string& b) { return *a.text_ == b; }
  friend bool operator==(Interned a, const char* b) { return *a.text_ == b; }

 private:
  static const std::string kEmpty;
  const std::string* text_ = &kEmpty;
};

}  // namespace qc
