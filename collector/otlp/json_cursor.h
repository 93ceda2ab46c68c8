// JsonCursor: a JSON text read from front to back, without a tree.
//
// Purpose: OTLP/JSON is read in place, so that a request costs no memory beyond itself (a tree would take many times as
// much). Whoever uses it asks for what it expects; a wrong type or a syntax error ends the reading with one message
// that says where. Values that nobody wants are skipped, and checked on the way. Tolerated, because programs send them:
// bytes that are not UTF-8, and halves of surrogate pairs (they become U+FFFD). Ownership: views point into the text or
// into the scratch that the caller gave. Thread safety: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fathom::collector {

class JsonCursor {
 public:
  explicit JsonCursor(std::string_view text) : text_(text) {}

  bool failed() const { return !error_.empty(); }
  const std::string& error() const { return error_; }
  bool fail(std::string_view what);

  // for (bool more = begin_object(key, scratch); more; more = next_member(key, scratch)) { read or skip the value }
  // The key lies in `scratch` when it had escapes.
  bool begin_object(std::string_view& key, std::string& scratch);
  bool next_member(std::string_view& key, std::string& scratch);
  // Likewise for arrays.
  bool begin_array();
  bool next_element();

  // Takes a null, if there is one; everywhere in OTLP it means the default.
  bool take_null();
  bool at_string() { return peek() == '"'; }
  std::string_view string(std::string& scratch);
  bool boolean();
  // The characters of a number, checked against JSON's grammar.
  std::string_view number();
  void skip_value();
  // Nothing but white space may follow.
  bool expect_end();

  // To come back to a value that was skipped.
  size_t position() const { return at_; }
  void seek(size_t position) { at_ = position; }

 private:
  char peek();
  bool take(char c);
  bool member(std::string_view& key, std::string& scratch);
  bool literal(std::string_view word);
  bool skip_scalar(char first);
  void digits();
  std::string_view escaped(std::string& scratch, size_t begin);
  bool escape(std::string& out);
  bool hex4(uint32_t& unit);
  bool unicode(std::string& out);

  std::string_view text_;
  size_t at_ = 0;
  std::string error_;
};

}  // namespace fathom::collector
