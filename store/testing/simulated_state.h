// StateWriter and StateReader: the state of a simulation as text, one named value a line.
//
// Purpose: a saved start has everything that a replay needs besides the data directory. Classes with state have
// visit_state(), which lists their values once for both directions. Thread safety: none. Errors: StateReader::failed().
#pragma once

#include <istream>
#include <ostream>
#include <string>

namespace fathom::store::testing {

class StateWriter {
 public:
  static constexpr bool kReads = false;
  explicit StateWriter(std::ostream& out) : out_(out) {}

  template <typename T>
  void operator()(const char* name, const T& value) {
    out_ << name << ' ' << value << '\n';
  }

 private:
  std::ostream& out_;
};

class StateReader {
 public:
  static constexpr bool kReads = true;
  explicit StateReader(std::istream& in) : in_(in) {}

  template <typename T>
  void operator()(const char* name, T& value) {
    std::string found;
    failed_ |= !(in_ >> found) || found != name || !(in_ >> value);
  }
  // A value is missing, has another name, or does not parse.
  bool failed() const { return failed_; }

 private:
  std::istream& in_;
  bool failed_ = false;
};

}  // namespace fathom::store::testing
