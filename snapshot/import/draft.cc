#include "snapshot/import/draft.h"

#include <algorithm>
#include <utility>

#include "base/whole_io.h"

namespace fathom::snapshot {

namespace {
constexpr uint64_t kCopyBytes = 1 << 20;
}

Result<Draft> Draft::begin(const SnapshotDirectory& directory) {
  auto path = directory.draft();
  if (!path) return path.error();
  Fd file(::open(path->c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.open()) return system_error("cannot write " + *path);
  auto writer = SnapshotWriter::begin(std::move(file));
  if (writer) return Draft(directory, *path, std::move(*writer));
  ::unlink(path->c_str());
  return writer.error();
}

Draft::Draft(Draft&& other) noexcept
    : directory_(other.directory_), path_(std::exchange(other.path_, {})), writer_(std::move(other.writer_)) {}

Draft::~Draft() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

Result<SnapshotId> Draft::publish(Snapshot snapshot) {
  auto id = writer_->finish(std::move(snapshot));
  if (!id) return id;
  if (auto published = directory_.publish(path_, *id); !published) return published.error();
  path_.clear();
  return id;
}

Result<> copy_packets(const Fd& file, uint64_t from, uint64_t bytes, size_t stream, uint64_t offset,
                      SnapshotWriter& writer, CopyMeter& meter) {
  std::vector<uint8_t> buffer(std::min(bytes, kCopyBytes));
  for (uint64_t done = 0; done < bytes;) {
    const std::span<uint8_t> some(buffer.data(), std::min<uint64_t>(buffer.size(), bytes - done));
    if (auto got = read_whole(file.get(), from + done, some, "cannot read the packets"); !got) return got;
    if (auto put = writer.packets(stream, offset + done, some); !put) return put;
    done += some.size();
    meter.add(some.size());
  }
  return {};
}

}  // namespace fathom::snapshot
