// Which snapshot a person means: by 'last', an id or the beginning of one; here, and at a server.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/ids.h"
#include "cli/pages.h"
#include "cli/snapshot_files_here.h"
#include "cli/snapshot_share.h"
#include "cli/text.h"

namespace fathom::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".snapshot";
constexpr size_t kLeastSnapshotIdDigits = 4;
constexpr size_t kSnapshotIdDigits = 32;
constexpr uint64_t kMostListed = 1'000'000;

using SnapshotId = Id<16>;

struct Dated {
  fs::file_time_type written;
  std::string id;
};

std::vector<Dated> snapshots_here(const std::string& directory) {
  std::vector<Dated> found;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(directory + "/snapshots", code)) {
    const std::string name = entry.path().filename();
    std::error_code gone;
    const auto written = entry.last_write_time(gone);
    if (!name.ends_with(kSuffix) || gone) continue;
    auto id = SnapshotId::from_hex_text(name.substr(0, name.size() - kSuffix.size()));
    if (id) found.push_back({written, id->hex()});
  }
  std::ranges::sort(found, std::greater<>(), &Dated::written);
  return found;
}

// The newest that was made here; where all came from a server, the newest of them.
std::string last_of(const std::vector<Dated>& newest_first, const std::string& directory) {
  for (const Dated& dated : newest_first) {
    const SharedContent content{false, dated.id};
    if (::access(content.pulled_path_in(directory).c_str(), F_OK) != 0) return dated.id;
  }
  return newest_first.front().id;
}

bool may_begin_an_id(std::string_view text) {
  return text.size() >= kLeastSnapshotIdDigits && text.size() <= kSnapshotIdDigits &&
         text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

Error ambiguous(std::string_view text, size_t many, const std::string& where) {
  return invalid("'" + printable(text) + "' begins the ids of " + std::to_string(many) + " snapshots" + where +
                 "; write more of it");
}

// Whose id begins so; all of them where `text` is "last".
Result<std::vector<std::string>> ids_of_server(const Api& api, std::string_view text) {
  const bool last = text == "last";
  auto rows = fetch_pages(api, Target("/api/v1/snapshots"), "snapshots", last ? 1 : kMostListed);
  if (!rows) return rows.error();
  std::vector<std::string> ids;
  for (const boost::json::value& row : *rows) {
    auto id = SnapshotId::from_hex_text(text_of(row, "id"));
    if (id && (last || id->hex().starts_with(text))) ids.push_back(id->hex());
  }
  return ids;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

// What is not here could not be had from the server either.
Error not_pulled(const Error& here, const std::string& text, const std::string& directory, const Error& server) {
  const std::string none = "there is no snapshot '" + printable(text) + "' in " + directory;
  if (server.code == ErrorCode::kNotFound) return not_found(none + ", and the server has none either");
  if (server.code == ErrorCode::kUnavailable) {
    return not_found(here.message + "; no server could be asked for it (--url says where one is): " + server.message);
  }
  return {server.code, none + "; of the server: " + server.message};
}

}  // namespace

Result<std::string> find_here(const std::string& directory, std::string_view text) {
  std::vector<Dated> found = snapshots_here(directory);
  if (text == "last" && !found.empty()) return last_of(found, directory);
  if (text.size() >= kLeastSnapshotIdDigits) {
    std::erase_if(found, [&](const Dated& dated) { return !dated.id.starts_with(text); });
    if (found.size() == 1) return found.front().id;
    if (found.size() > 1) {
      return ambiguous(text, found.size(), "");
    }
  }
  return not_found("there is no snapshot '" + printable(text) + "' in " + directory +
                   "; 'fathom snapshot list' shows those that are");
}

Result<std::string> find_on_server(const Api& api, std::string_view text) {
  if (auto whole = SnapshotId::from_hex_text(text)) return whole->hex();
  if (text != "last" && !may_begin_an_id(text)) {
    return invalid("'" + printable(text) + "' is not a snapshot id: 32 hexadecimal digits, at least " +
                   std::to_string(kLeastSnapshotIdDigits) + " of them, or 'last'");
  }
  auto ids = ids_of_server(api, lower(text));
  if (!ids) return ids.error();
  if (ids->size() > 1) return ambiguous(text, ids->size(), " of the server");
  if (ids->empty()) return not_found("the server has no snapshot '" + printable(text) + "'");
  return ids->front();
}

Result<std::string> here_or_pulled(const Context& context, const std::string& directory, const std::string& text,
                                   const Connect& connect) {
  auto here = find_here(directory, text);
  if (here) return here;
  if (here.error().code != ErrorCode::kNotFound || !may_begin_an_id(text)) return text;
  auto api = connect();
  if (!api) return api.error();
  auto id = find_on_server(*api, text);
  if (!id) return not_pulled(here.error(), text, directory, id.error());
  auto pulled = pull_snapshot(context, *api, directory, *id);
  if (!pulled) return not_pulled(here.error(), text, directory, pulled.error());
  return id;
}

}  // namespace fathom::cli
