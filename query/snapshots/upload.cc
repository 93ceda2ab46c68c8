#include "query/snapshots/upload.h"

#include <unistd.h>

#include "base/whole_io.h"

namespace fathom::query {

namespace {

Error for_now(const Error& error) {
  return unavailable(error.message);
}

}  // namespace

Result<std::shared_ptr<Uploads::Upload>> Uploads::Upload::begin(const snapshot::SnapshotDirectory& directory,
                                                                std::atomic<uint64_t>& all_bytes, uint64_t now) {
  auto draft = directory.draft();
  if (!draft) return for_now(draft.error());
  Fd file(::open(draft->c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.open()) return for_now(system_error("cannot write " + *draft));
  return std::make_shared<Upload>(*draft, std::move(file), all_bytes, now);
}

Uploads::Upload::~Upload() {
  ::unlink(draft_.c_str());  // a published one has another name by now
  all_bytes_.fetch_sub(size_);
}

Result<> Uploads::Upload::append(std::string_view bytes) {
  if (auto written = write_whole(file_.get(), bytes, "cannot write an upload"); !written) {
    return for_now(written.error());
  }
  // The disk may begin: otherwise the sync at the end of gigabytes would be a long wait.
  ::sync_file_range(file_.get(), static_cast<off64_t>(size_.load()), static_cast<off64_t>(bytes.size()),
                    SYNC_FILE_RANGE_WRITE);
  hasher_.add(bytes);
  size_ += bytes.size();
  all_bytes_.fetch_add(bytes.size());
  return {};
}

Result<Sha256> Uploads::Upload::finish() {
  if (::fsync(file_.get()) != 0) return for_now(system_error("cannot sync an upload"));
  file_.close();
  return hasher_.finish();
}

}  // namespace fathom::query
