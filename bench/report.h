// A benchmark's figures: collected by key, compared with their bounds, printed as a table and written as JSON.
//
// Thread safety: one thread. Units: the key's last words say them. Errors: write_json() says why a file cannot be
// written.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace fathom::bench {

struct Bound {
  double value;
  bool at_least;  // else at most
  bool met(double figure) const { return at_least ? figure >= value : figure <= value; }
};
// The bound that the project promises for a key, if it does.
std::optional<Bound> bound_of(std::string_view key);

class Report {
 public:
  Report(std::string bench, std::string machine, std::string command)
      : bench_(std::move(bench)), machine_(std::move(machine)), command_(std::move(command)) {}

  void add(std::string key, double figure, std::string what);
  // A figure of which there are too many for the table: it is in the JSON alone.
  void add_detail(std::string key, double figure) { details_.emplace_back(std::move(key), figure); }
  // A figure that was asked for and could not be taken: said in its place, and the program's exit status is 1.
  void add_unmeasured(std::string key, std::string why) { unmeasured_.emplace_back(std::move(key), std::move(why)); }
  // A fact that is no figure: what was run, what to keep in mind.
  void note(std::string text) { notes_.push_back(std::move(text)); }
  bool bounds_met() const;

  std::string table() const;
  std::string json() const;
  Result<> write_json(const std::string& path) const;
  // Prints the table, writes the JSON where asked, and says what went wrong: the program's exit status.
  int finish(const Result<>& done, const std::string& json_path) const;

 private:
  struct Row {
    std::string key;
    double figure;
    std::string what;
  };
  std::string bench_;
  std::string machine_;
  std::string command_;
  std::vector<Row> rows_;
  std::vector<std::pair<std::string, double>> details_;
  std::vector<std::pair<std::string, std::string>> unmeasured_;
  std::vector<std::string> notes_;
};

}  // namespace fathom::bench
