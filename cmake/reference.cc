// A fixed piece of work for the compiler. phase_report.py times it, to tell a slow machine from a build that has grown.
// Do not change it: the reference time in phase_report.py was measured with this text.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

template <int kKey>
struct Table {
  std::map<std::string, std::vector<std::optional<int>>> rows;
  std::unordered_map<int, std::function<std::string(int)>> calls;

  int work() {
    for (auto& [name, values] : rows) {
      std::sort(values.begin(), values.end());
      calls[kKey] = [name = name](int number) { return name + std::to_string(number + kKey); };
    }
    return static_cast<int>(calls.size() + rows.size());
  }
};

template <int... kKeys>
int sum(std::integer_sequence<int, kKeys...> /*keys*/) {
  return (Table<kKeys>().work() + ...);
}

}  // namespace

int main(int count, char** words) {
  const std::regex pattern(count > 1 ? words[1] : "[a-z]+(0|1)*");
  return sum(std::make_integer_sequence<int, 24>()) + static_cast<int>(std::regex_match("abc", pattern));
}
