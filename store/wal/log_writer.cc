#include "store/wal/log_writer.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"

namespace fathom::store {

namespace {

FragmentType type_of(bool first, bool last) {
  if (first) return last ? FragmentType::kFull : FragmentType::kFirst;
  return last ? FragmentType::kLast : FragmentType::kMiddle;
}

Error write_error(const std::string& path, const rocksdb::Status& status) {
  return unavailable("cannot write " + path + ": " + status.ToString());
}

}  // namespace

LogWriter::LogWriter(std::string path, std::unique_ptr<rocksdb::WritableFile> file)
    : path_(std::move(path)), file_(std::move(file)) {}

Result<LogWriter> LogWriter::create(rocksdb::Env& env, const std::string& path) {
  std::unique_ptr<rocksdb::WritableFile> file;
  rocksdb::Status status = env.NewWritableFile(path, &file, rocksdb::EnvOptions());
  if (!status.ok()) return write_error(path, status);
  return LogWriter(path, std::move(file));
}

Result<> LogWriter::add(std::string_view record) {
  for (bool first = true; first || !record.empty(); first = false) {
    if (const size_t left = kLogBlockBytes - in_block_; left < kFragmentHeaderBytes) {
      if (Result<> filled = append(std::string(left, '\0')); !filled) return filled;
    }
    const size_t size = std::min(record.size(), kLogBlockBytes - in_block_ - kFragmentHeaderBytes);
    const FragmentType type = type_of(first, size == record.size());
    if (Result<> added = add_fragment(type, record.substr(0, size)); !added) return added;
    record.remove_prefix(size);
  }
  return {};
}

Result<> LogWriter::add_fragment(FragmentType type, std::string_view payload) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u32(fragment_checksum(type, payload));
  out.u8(static_cast<uint8_t>(payload.size() & 0xff));
  out.u8(static_cast<uint8_t>(payload.size() >> 8));
  out.u8(static_cast<uint8_t>(type));
  out.raw(payload);
  return append(bytes);
}

Result<> LogWriter::append(std::string_view bytes) {
  rocksdb::Status status = file_->Append({bytes.data(), bytes.size()});
  if (!status.ok()) return write_error(path_, status);
  in_block_ = (in_block_ + bytes.size()) % kLogBlockBytes;
  return {};
}

Result<> LogWriter::finish() {
  rocksdb::Status status = file_->Sync();
  if (status.ok()) status = file_->Close();
  return status.ok() ? Result<>() : Result<>(write_error(path_, status));
}

}  // namespace fathom::store
