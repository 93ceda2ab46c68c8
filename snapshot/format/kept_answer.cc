#include "snapshot/format/kept_answer.h"

#include <sys/stat.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/whole_io.h"

namespace fathom::snapshot {

namespace {

constexpr std::string_view kMagic = "FTHMANS1";

}  // namespace

std::string kept_answer_head(std::string_view answer) {
  std::string head(kMagic);
  ByteWriter(head).u64(hash64(answer));
  return head;
}

std::optional<std::string> read_kept_answer(const Fd& file) {
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) return std::nullopt;
  std::string content(static_cast<size_t>(about.st_size), '\0');
  auto got = read_whole(file.get(), 0, {reinterpret_cast<uint8_t*>(content.data()), content.size()}, "an answer");
  ByteReader in(content);
  const bool is_ours = got.ok() && in.raw(kMagic.size()) == kMagic;
  const uint64_t hash = in.u64();
  if (!is_ours || in.failed()) return std::nullopt;
  std::string answer(in.raw(in.remaining()));
  return hash64(answer) == hash ? std::optional(std::move(answer)) : std::nullopt;
}

}  // namespace fathom::snapshot
