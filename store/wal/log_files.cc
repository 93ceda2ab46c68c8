#include "store/wal/log_files.h"

#include <algorithm>
#include <charconv>

namespace fathom::store {

namespace {

constexpr std::string_view kSuffix = ".log";
constexpr size_t kHashDigits = 16;
constexpr std::string_view kShort = ".short-";

}  // namespace

std::optional<uint64_t> whole_number(std::string_view text) {
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [digits_end, fault] = std::from_chars(text.data(), end, number);
  return fault == std::errc() && digits_end == end ? std::optional(number) : std::nullopt;
}

std::optional<uint64_t> log_number(std::string_view name) {
  return name.ends_with(kSuffix) ? whole_number(name.substr(0, name.size() - kSuffix.size())) : std::nullopt;
}

std::string log_name(uint64_t number) {
  constexpr size_t kDigits = 6;
  std::string digits = std::to_string(number);
  if (digits.size() < kDigits) digits.insert(0, kDigits - digits.size(), '0');
  return digits + std::string(kSuffix);
}

std::optional<LogFile> log_file(const std::string& name) {
  LogFile file{.number = 0, .name = name};
  const char* end = name.data() + name.size();
  auto [digits_end, fault] = std::from_chars(name.data(), end, file.number);
  if (fault != std::errc() || !std::string_view(digits_end, end).starts_with(kSuffix)) return std::nullopt;
  return file;
}

Result<std::vector<LogFile>> list_logs(rocksdb::Env& env, const std::string& directory) {
  std::vector<std::string> names;
  rocksdb::Status status = env.GetChildren(directory, &names);
  if (status.IsNotFound()) return std::vector<LogFile>();
  if (!status.ok()) return unavailable("cannot list " + directory + ": " + status.ToString());
  std::vector<LogFile> logs;
  for (const std::string& name : names) {
    if (std::optional<LogFile> log = log_file(name)) logs.push_back(*log);
  }
  std::ranges::sort(logs, {}, &LogFile::number);
  return logs;
}

// An interrupted start leaves unfinished copies.
Result<std::vector<LogFile>> list_store_logs(rocksdb::Env& env, const std::string& directory) {
  Result<std::vector<LogFile>> logs = list_logs(env, directory);
  if (logs) std::erase_if(*logs, [](const LogFile& log) { return !log.name.ends_with(kSuffix); });
  return logs;
}

uint64_t bytes_of_logs(rocksdb::Env& env, const std::string& store) {
  const Result<std::vector<LogFile>> logs = list_store_logs(env, store);
  uint64_t total = 0;
  for (size_t i = 0; logs && i < logs->size(); ++i) {
    uint64_t bytes = 0;
    if (env.GetFileSize(store + "/" + (*logs)[i].name, &bytes).ok()) total += bytes;
  }
  return total;
}

std::string name_set_aside(const std::string& log, const Sha256& intact, const SequenceRange& range,
                           uint64_t missing_bytes) {
  std::string name = log + "." + intact.hex().substr(0, kHashDigits);
  if (range != SequenceRange()) name += "." + std::to_string(range.first) + "-" + std::to_string(range.end);
  if (missing_bytes > 0) name += std::string(kShort) + std::to_string(missing_bytes);
  return name;
}

SequenceRange range_in_name(const std::string& name) {
  const std::string rest = name.substr(0, name.find(kShort));
  const size_t from = rest.rfind('.') + 1, dash = rest.find('-', from);
  if (dash == std::string::npos) return {};
  const std::optional<uint64_t> first = whole_number(rest.substr(from, dash - from));
  const std::optional<uint64_t> end = whole_number(rest.substr(dash + 1));
  return first && end ? SequenceRange{*first, *end} : SequenceRange();
}

bool is_same_damage(const std::string& name, const std::string& other) {
  return name.substr(0, name.find(kShort)) == other.substr(0, other.find(kShort));
}

uint64_t missing_bytes_in_name(const std::string& name) {
  const size_t at = name.find(kShort);
  return at == std::string::npos ? 0 : whole_number(name.substr(at + kShort.size())).value_or(0);
}

}  // namespace fathom::store
