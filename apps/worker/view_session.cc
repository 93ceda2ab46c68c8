#include "apps/worker/view_session.h"

#include <malloc.h>
#include <unistd.h>

#include <cerrno>

#include "snapshot/view/snapshot_view.h"

namespace fathom {

namespace {

constexpr size_t kReadBytes = 4096;

std::string_view status_of(ErrorCode code) {
  if (code == ErrorCode::kNotFound) return "not_found";
  return code == ErrorCode::kInvalid ? "invalid" : "internal";
}

std::string framed(std::string_view status, std::string_view bytes) {
  return std::string(status) + " " + std::to_string(bytes.size()) + "\n" + std::string(bytes);
}

std::string answer_to(snapshot::SnapshotView& view, std::string_view line) {
  auto ask = snapshot::parse_view_ask(line);
  if (!ask) return framed(status_of(ask.error().code), ask.error().message);
  auto answer = view.answer(*ask);
  return answer ? framed("ok", *answer) : framed(status_of(answer.error().code), answer.error().message);
}

}  // namespace

std::optional<std::string> LineReader::next() {
  for (size_t end = buffer_.find('\n');; end = buffer_.find('\n')) {
    if (end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return line;
    }
    if (buffer_.size() > kMostAskBytes) return std::nullopt;
    char bytes[kReadBytes];
    const ssize_t got = ::read(file_, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    buffer_.append(bytes, static_cast<size_t>(got));
  }
}

Result<> serve_view(const snapshot::SnapshotDirectory& directory, const snapshot::SnapshotId& id,
                    const ViewStreams& streams) {
  auto view = snapshot::SnapshotView::open(directory, id);
  if (!view) return view.error();
  ::malloc_trim(0);  // decoding took twice of what is kept, and this stays for minutes
  while (auto line = streams.ask()) {
    if (!streams.answer(answer_to(**view, *line))) break;
  }
  return {};
}

}  // namespace fathom
