// Text that comes from models and file names, made safe for where it is written: one function for
// each format. Names may hold anything: line ends, quotes, escape sequences of terminals, bytes
// that are no UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace qc {

/// Bytes of the UTF-8 character at `at`; 0 where there is none.
size_t utf8_length(std::string_view text, size_t at);
bool is_utf8(std::string_view text);

/// For terminals and comments, on one line: control characters, characters that turn the direction
/// of writing and bytes that are no UTF-8 are written as \n, \x1b, \u202e.
std::string shown(std::string_view text);
/// The same for text of several lines: line ends and tabs stay.
std::string shown_lines(std::string_view text);
/// At most `width` bytes, ending in "..." where something was cut; no character is cut in two.
std::string clipped(std::string_view text, size_t width);
/// At most `width` bytes: of longer text both ends, with "..." between them.
std::string shortened(std::string_view text, size_t width);
/// A line of a message, whatever names it has inside: both ends of each long word, and of the
/// whole.
std::string shortened_line(std::string_view text);

/// A JSON string with its quotes. Bytes that are no UTF-8 become U+FFFD: JSON has no other way.
std::string json_string(std::string_view text);
/// A TOML string with its quotes: a literal one where that can hold the text.
std::string toml_string(std::string_view text);
/// A regular expression (RE2) of printable characters that matches this text and nothing else.
std::string regex_literal(std::string_view text);
/// A string of the text form of graphs and programs, which reads back as the same bytes.
std::string ir_string(std::string_view text);
/// A label of Graphviz with its quotes; line ends part its lines.
std::string dot_string(std::string_view text);
/// Text of an HTML or SVG element or of a quoted attribute, on one line; what `shown` escapes is
/// escaped the same way.
std::string html_text(std::string_view text);
/// The same for text of several lines: line ends and tabs stay.
std::string html_lines(std::string_view text);
/// A C string literal of plain ASCII, which no trigraph or neighbouring text can change.
std::string c_string(std::string_view text);
/// The inside of a C comment: plain ASCII that neither opens nor closes one.
std::string c_comment(std::string_view text);

}  // namespace qc
