#include "snapshot/record/step/recording.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <numeric>
#include <utility>

#include "base/time.h"
#include "snapshot/format/unkept_images.h"
#include "snapshot/record/image_rule.h"
#include "snapshot/record/step/elf_notes.h"

namespace fathom::snapshot::step {
namespace {

Fd open_mapped(pid_t pid, const MappedFile& map) {
  const std::string proc = "/proc/" + std::to_string(pid);
  char range[64];
  std::snprintf(range, sizeof range, "/map_files/%lx-%lx", map.begin, map.end);
  Fd file(::open((proc + range).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open()) file = Fd(::open((proc + "/root" + map.path).c_str(), O_RDONLY | O_CLOEXEC));
  return file;
}

// Another file may have taken the path.
bool is_the_same(const struct stat& about, const MappedFile& map) {
  return S_ISREG(about.st_mode) && about.st_ino == map.inode;
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.data();
}

}  // namespace

Result<std::unique_ptr<Recording>> Recording::begin(const SnapshotDirectory& directory, bool private_images) {
  auto draft = directory.draft();
  if (!draft) return draft.error();
  Fd file(::open(draft->c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.open()) return system_error("cannot write " + *draft);
  auto writer = SnapshotWriter::begin(std::move(file));
  if (!writer) return writer.error();
  std::unique_ptr<Recording> recording(new Recording(directory, *draft, std::move(*writer), private_images));
  recording->snapshot_.engine = Engine::kStep;
  recording->snapshot_.host = host_name();
  return recording;
}

Recording::~Recording() {
  if (!draft_.empty()) ::unlink(draft_.c_str());
}

size_t Recording::add_stream(int32_t pid, int32_t tid) {
  snapshot_.streams.push_back({.cpu = -1, .pid = pid, .tid = tid, .pieces = {}});
  stream_bytes_.push_back(0);
  return snapshot_.streams.size() - 1;
}

void Recording::packets(size_t stream, std::span<const uint8_t> bytes) {
  auto written = writer_.packets(stream, stream_bytes_[stream], bytes);
  if (!written && !fault_) fault_ = written.error();
  stream_bytes_[stream] += bytes.size();
}

uint64_t Recording::packet_bytes() const {
  return std::accumulate(stream_bytes_.begin(), stream_bytes_.end(), uint64_t{0});
}

void Recording::lose(const std::string& name, uint64_t count) {
  if (count == 0) return;
  for (Loss& loss : snapshot_.losses) {
    if (loss.name == name) {
      loss.count += count;
      return;
    }
  }
  snapshot_.losses.push_back({name, count});
}

std::optional<Recording::OpenImage> Recording::image_of(pid_t pid, const MappedFile& map) {
  Fd file = open_mapped(pid, map);
  struct stat about {};
  if (!file.open() || ::fstat(file.get(), &about) != 0 || !is_the_same(about, map)) return std::nullopt;
  const FileKey key{about.st_dev, about.st_ino, about.st_size, about.st_mtim.tv_sec};
  const auto [at, fresh] = images_of_files_.emplace(key, static_cast<uint32_t>(contents_.size()));
  if (!fresh) return OpenImage{at->second, contents_[at->second].file.get()};
  Image image;
  image.name = map.path;
  image.build_id = elf_build_id(file.get());
  image.kind = is_elf(file.get()) ? ImageKind::kElf : ImageKind::kFlat;
  snapshot_.images.push_back(std::move(image));
  contents_.push_back({std::move(file), ""});
  return OpenImage{at->second, contents_.back().file.get()};
}

uint32_t Recording::add_flat_image(const std::string& name, std::string bytes) {
  Image image;
  image.name = name;
  image.kind = ImageKind::kFlat;
  snapshot_.images.push_back(std::move(image));
  contents_.push_back({Fd(), std::move(bytes)});
  return static_cast<uint32_t>(contents_.size() - 1);
}

Result<> Recording::store_images() {
  for (size_t i = 0; i < contents_.size(); i++) {
    const Content& content = contents_[i];
    Image& image = snapshot_.images[i];
    if (content.file.open() && !private_images_ && !everybody_may_read(content.file.get())) {
      image.missing = kPrivateImage;
      continue;
    }
    auto stored = content.file.open() ? directory_.add_image_file("/proc/self/fd/" + std::to_string(content.file.get()))
                                      : directory_.add_image_bytes(content.bytes);
    if (!stored) {
      image.missing = why_not_kept(stored.error());
      continue;
    }
    image.content = stored->content;
    image.bytes = stored->bytes;
  }
  return {};
}

Result<SnapshotId> Recording::finish() {
  if (fault_) return *fault_;
  snapshot_.taken_unix_nano = static_cast<int64_t>(now_unix_nano());
  snapshot_.timing = clock_.timing();
  if (auto stored = store_images(); !stored) return stored.error();
  auto id = writer_.finish(snapshot_);
  if (!id) return id;
  if (auto published = directory_.publish(draft_, *id); !published) return published.error();
  draft_.clear();
  return id;
}

}  // namespace fathom::snapshot::step
