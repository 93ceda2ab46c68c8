// Params: the parameters of one HTTP query, read by name, with every mistake answered by its cure.
//
// Purpose: a route asks for each parameter it knows; finish() then fails with the first wrong value, or names the
// parameters that nobody asked for, so that a misspelt filter is never silently ignored. An empty value counts as not
// given, but for a flag, whose bare name means true. Thread safety: one thread. Ownership: the request must outlive it.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/http_server.h"
#include "query/queries.h"

namespace fathom::query {

class Params {
 public:
  Params(const net::HttpRequest& request, uint64_t now_unix_nano) : request_(request), now_unix_nano_(now_unix_nano) {}

  std::optional<std::string> text(std::string_view key);  // given twice: a fault
  std::vector<std::string> texts(std::string_view key);
  bool flag(std::string_view key);  // true for the bare name
  uint64_t number(std::string_view key, uint64_t low, uint64_t high, uint64_t otherwise);
  std::optional<int64_t> integer(std::string_view key, int64_t low, int64_t high);
  std::optional<uint64_t> duration_nano(std::string_view key);
  // True for `yes`, false for `no` or nothing.
  bool choice(std::string_view key, std::string_view no, std::string_view yes);
  // from, to, since; the last hour when none is given. An open end is open.
  AskedRange range();
  // The range that range() returned; nothing if no parameter asked for one.
  const std::optional<store::TimeRange>& ranged() const { return ranged_; }
  uint64_t now_unix_nano() const { return now_unix_nano_; }
  bool gives_range() const;  // any of the three
  std::optional<uint64_t> instant(std::string_view key);
  std::vector<store::Condition> conditions(std::string_view key);

  void blame(std::string message);  // remembers the first fault
  Result<> finish() const;

 private:
  AskedRange read_range();
  AskedRange since(const std::string& text);
  template <typename Number>
  std::optional<Number> number_in(std::string_view key, Number low, Number high);

  const net::HttpRequest& request_;
  const uint64_t now_unix_nano_;
  std::vector<std::string_view> known_;
  std::optional<store::TimeRange> ranged_;
  std::optional<Error> fault_;
};

}  // namespace fathom::query
