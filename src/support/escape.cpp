#include "support/escape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace qc {
namespace {

unsigned byte_at(std::string_view text, size_t at) { return static_cast<unsigned char>(text[at]); }

char32_t code_point(std::string_view character) {
  const unsigned first = byte_at(character, 0);
  if (character.size() == 1) return first;
  char32_t out = first & (0x7fu >> character.size());
  for (size_t i = 1; i < character.size(); ++i) out = out << 6 | (byte_at(character, i) & 0x3f);
  return out;
}

/// Characters that move the cursor, start escape sequences, end lines or turn the direction of
/// writing, so that what is read is not what is there.
bool is_harmful(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || (c >= 0x200b && c <= 0x200f) ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff;
}

/// Calls `plain(character)` for characters that can stand as they are, and `escape(code point)` or
/// `broken(byte)` for what cannot.
template <class Plain, class Escape, class Broken>
void for_each_character(std::string_view text, Plain&& plain, Escape&& escape, Broken&& broken) {
  for (size_t at = 0; at < text.size();) {
    const size_t size = utf8_length(text, at);
    if (size == 0) {
      broken(byte_at(text, at++));
      continue;
    }
    const std::string_view character = text.substr(at, size);
    at += size;
    if (const char32_t c = code_point(character); is_harmful(c)) {
      escape(static_cast<uint32_t>(c));
    } else {
      plain(character);
    }
  }
}

std::string harmless(std::string_view text, std::string_view retained) {
  std::string out;
  for_each_character(
      text, [&](std::string_view c) { out += c; },
      [&](uint32_t c) {
        if (c < 0x80 && retained.find(static_cast<char>(c)) != retained.npos) {
          out += static_cast<char>(c);
        } else if (c == '\n') {
          out += "\\n";
        } else {
          out += c < 0x80 ? fmt::format("\\x{:02x}", c) : fmt::format("\\u{:04x}", c);
        }
      },
      [&](unsigned byte) { out += fmt::format("\\x{:02x}", byte); });
  return out;
}

std::string html(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

/// Quotes and backslashes with a backslash, harmful characters as \uXXXX; JSON and TOML share it.
std::string basic_string(std::string_view text) {
  std::string out = "\"";
  for_each_character(
      text,
      [&](std::string_view c) {
        if (c == "\"" || c == "\\") out += '\\';
        out += c;
      },
      [&](uint32_t c) { out += fmt::format("\\u{:04x}", c); }, [&](unsigned) { out += "\\ufffd"; });
  return out + "\"";
}

}  // namespace

size_t utf8_length(std::string_view text, size_t at) {
  const unsigned first = byte_at(text, at);
  if (first < 0x80) return 1;
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() - at < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte_at(text, at + i) & 0xc0) != 0x80) return 0;
  }
  const char32_t c = code_point(text.substr(at, size));
  const bool shortest = size == 2 || (size == 3 ? c >= 0x800 : c >= 0x10000);
  return shortest && c <= 0x10ffff && !(c >= 0xd800 && c < 0xe000) ? size : 0;
}

bool is_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t size = utf8_length(text, at);
    if (size == 0) return false;
    at += size;
  }
  return true;
}

std::string shown(std::string_view text) { return harmless(text, ""); }
std::string shown_lines(std::string_view text) { return harmless(text, "\n\t"); }

std::string clipped(std::string_view text, size_t width) {
  if (text.size() <= width) return std::string(text);
  size_t end = width - 3;
  while (end > 0 && (byte_at(text, end) & 0xc0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "...";
}

std::string shortened(std::string_view text, size_t width) {
  if (text.size() <= width) return std::string(text);
  size_t head = (width - 3) / 2, tail = text.size() - head;
  while (head > 0 && (byte_at(text, head) & 0xc0) == 0x80) --head;
  while (tail < text.size() && (byte_at(text, tail) & 0xc0) == 0x80) ++tail;
  return fmt::format("{}...{}", text.substr(0, head), text.substr(tail));
}

std::string shortened_line(std::string_view text) {
  constexpr size_t kWord = 300, kLine = 4000;
  if (text.size() <= kWord) return std::string(text);
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of(" \n", at), text.size() - 1) + 1;
    out += shortened(text.substr(at, end - at), kWord);
    at = end;
  }
  return shortened(out, kLine);
}

std::string json_string(std::string_view text) { return basic_string(text); }

std::string toml_string(std::string_view text) {
  bool literal = is_utf8(text) && text.find('\'') == text.npos;
  for_each_character(
      text, [](std::string_view) {}, [&](uint32_t) { literal = false; }, [](unsigned) {});
  return literal ? fmt::format("'{}'", text) : basic_string(text);
}

std::string regex_literal(std::string_view text) {
  constexpr std::string_view kSpecial = "\\.+*?()|[]{}^$";
  std::string out;
  for_each_character(
      text,
      [&](std::string_view c) {
        if (kSpecial.find(c) != kSpecial.npos) out += '\\';
        out += c;
      },
      [&](uint32_t c) { out += fmt::format("\\x{{{:x}}}", c); }, [&](unsigned) { out += "\\C"; });
  return out;
}

std::string ir_string(std::string_view text) {
  std::string out = "\"";
  for (size_t at = 0; at < text.size();) {
    const size_t size = utf8_length(text, at);
    const std::string_view part = text.substr(at, std::max<size_t>(size, 1));
    at += part.size();
    if (part == "\"" || part == "\\") {
      out += '\\';
      out += part;
    } else if (part == "\n") {
      out += "\\n";
    } else if (size == 0 || is_harmful(code_point(part))) {
      for (const char c : part) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += part;
    }
  }
  return out + "\"";
}

std::string dot_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : harmless(text, "\n")) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '&') {
      out += "&amp;";  // Graphviz reads entities in labels
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + "\"";
}

std::string html_text(std::string_view text) { return html(shown(text)); }
std::string html_lines(std::string_view text) { return html(shown_lines(text)); }

std::string c_string(std::string_view text) {
  std::string out = "\"";
  for (const char ch : text) {
    const auto c = static_cast<unsigned char>(ch);
    if (c >= 32 && c < 127 && c != '"' && c != '\\' && c != '?')
      out += ch;
    else
      out += fmt::format("\\{:03o}", c);
  }
  return out + "\"";
}

std::string c_comment(std::string_view text) {
  std::string out;
  for (const char ch : text) {
    const auto c = static_cast<unsigned char>(ch);
    const bool closes = (c == '/' && !out.empty() && out.back() == '*') ||
                        (c == '*' && !out.empty() && out.back() == '/');
    out += closes || c < 32 || c > 126 || c == '\\' || c == '?' ? '.' : ch;
  }
  return out;
}

}  // namespace qc
