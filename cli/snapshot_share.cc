#include "cli/snapshot_share.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/fd.h"
#include "base/time.h"
#include "base/whole_io.h"
#include "cli/sizes.h"
#include "cli/snapshot_files_here.h"
#include "cli/text.h"

namespace fathom::cli {

namespace {

constexpr uint64_t kPieceBytes = 4 << 20;                     // slow lines have their time for one
constexpr uint64_t kMostBytes = 64ULL << 30;                  // that servers have of one thing
constexpr uint64_t kBusyServerTimeoutNano = kNanosPerMinute;  // with a server that says: later
constexpr uint64_t kPauseNano = kNanosPerSecond / 5;
constexpr size_t kMostBeginnings = 3;  // of one upload that others disturb

// Says how far it is, once a second.
class Progress {
 public:
  Progress(const Context& context, std::string verb, uint64_t total)
      : context_(context), verb_(std::move(verb)), total_(total), told_nano_(context.now_unix_nano()) {}

  void add(uint64_t bytes) {
    done_ += bytes;
    const uint64_t now = context_.now_unix_nano();
    if (now - std::min(now, told_nano_) < kNanosPerSecond) return;
    told_nano_ = now;
    context_.err(verb_ + " " + format_size(done_) + (total_ > done_ ? " of " + format_size(total_) : "") + "\n");
  }
  uint64_t done() const { return done_; }

 private:
  const Context& context_;
  const std::string verb_;
  const uint64_t total_;
  uint64_t told_nano_;
  uint64_t done_ = 0;
};

struct NamedImage {
  SharedContent content;
  uint64_t bytes = 0;
  bool stored = false;  // by the server
};

// Those whose bytes anybody ever had; a name that is none is a hostile server's.
std::vector<NamedImage> images_of(const boost::json::value& document) {
  std::vector<NamedImage> images;
  for (const boost::json::value& image : array_of(document, "image_files")) {
    auto content = Sha256::from_hex_text(text_of(image, "sha256"));
    if (!content) continue;
    images.push_back({{true, content->hex()}, number_of(image, "bytes"), flag_of(image, "stored")});
  }
  auto by_name = [](const NamedImage& image) { return image.content.hex; };
  std::ranges::sort(images, {}, by_name);
  const auto repeated = std::ranges::unique(images, {}, by_name);
  images.erase(repeated.begin(), repeated.end());
  return images;
}

Result<boost::json::value> document_of(const Api& api, const std::string& id) {
  return api.json(Target("/api/v1/snapshots/" + id));
}

Target piece_target(const SharedContent& content, uint64_t offset, std::string_view key, uint64_t number) {
  Target target(content.api_path());
  target.add("offset", std::to_string(offset)).add(key, std::to_string(number));
  return target;
}

// One upload of a file.
class Upload {
 public:
  Upload(const Context& context, const Api& api, Progress& progress, const SharedContent& content)
      : context_(context), api_(api), progress_(progress), content_(content) {}

  Result<> send(const std::string& path) {
    Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat about {};
    if (!file.open() || ::fstat(file.get(), &about) != 0) return system_error("cannot read " + path);
    total_ = static_cast<uint64_t>(about.st_size);
    // Without bytes it is a question: how far did the last attempt come?
    if (auto asked = put(0, ""); !asked) return asked;
    while (!stored_) {
      std::string bytes(std::min(kPieceBytes, total_ - due_), '\0');
      auto read = read_whole(file.get(), due_, {reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()}, path);
      if (!read) return read;
      if (auto sent = put(due_, bytes); !sent) return sent;
    }
    return {};
  }

 private:
  Result<> put(uint64_t offset, std::string_view bytes) {
    const uint64_t until = waited_nano_ + kBusyServerTimeoutNano;
    while (true) {
      auto reply = api_.put(piece_target(content_, offset, "total", total_), bytes);
      if (!reply) return reply.error();
      if (reply->status != 503) return take(*reply, offset, bytes.size());
      if (waited_nano_ >= until) return unavailable("the server takes nothing for now: " + words_of(reply->body));
      context_.sleep(kPauseNano);
      waited_nano_ += kPauseNano;
    }
  }

  Result<> take(const net::HttpReply& reply, uint64_t offset, uint64_t size) {
    auto answer = parse_json(reply.body);
    if (!answer) return answer.error();
    stored_ = flag_of(*answer, "stored");
    due_ = number_of(*answer, "offset");
    if (!stored_ && due_ >= total_) return internal("the server asks for more than there is");
    if (reply.status == 200 && size > 0) progress_.add(size);
    const bool again = !stored_ && size > 0 && due_ <= offset;
    if (again && ++beginnings_ > kMostBeginnings) return unavailable("others send the same, or its upload is dropped");
    return {};
  }

  static std::string words_of(const std::string& body) {
    auto document = parse_json(body);
    return document ? printable(text_of(member_of(*document, "error"), "message")) : "";
  }

  const Context& context_;
  const Api& api_;
  Progress& progress_;
  const SharedContent& content_;
  uint64_t total_ = 0;
  uint64_t due_ = 0;
  bool stored_ = false;
  uint64_t waited_nano_ = 0;
  size_t beginnings_ = 0;
};

Result<> pull_content(const Api& api, const std::string& directory, const SharedContent& content, Progress& progress) {
  auto draft = Draft::begin(directory);
  if (!draft) return draft.error();
  for (bool more = true; more;) {
    auto piece = api.fetch(piece_target(content, draft->size(), "bytes", kPieceBytes));
    if (!piece) return piece.error();
    if (piece->size() > kPieceBytes || draft->size() > kMostBytes) {
      return corrupt("the server sends more than it was asked for");
    }
    if (auto appended = draft->append(*piece); !appended) return appended;
    progress.add(piece->size());
    more = piece->size() == kPieceBytes;
  }
  return draft->publish(directory, content);
}

uint64_t size_of(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 ? static_cast<uint64_t>(about.st_size) : 0;
}

}  // namespace

std::string shared_text(const Shared& shared, const std::string& verb) {
  std::string text = verb + " " + format_size(shared.moved_bytes) + " with " + plural(shared.moved_images, "image") +
                     "; " + std::to_string(shared.kept_images) +
                     (shared.kept_images == 1 ? " was there already" : " were there already");
  if (shared.missing_images == 0) return text;
  return text + "; " + std::to_string(shared.missing_images) + (shared.missing_images == 1 ? " is" : " are") +
         " missing: what runs in them will be gaps";
}

Result<Shared> push_snapshot(const Context& context, const Api& api, const std::string& directory,
                             const std::string& id) {
  const SharedContent snapshot{false, id};
  const std::string path = snapshot.path_in(directory);
  if (!is_here(directory, snapshot)) return not_found("there is no snapshot " + id + " in " + directory);
  Progress begun(context, "pushed the snapshot:", size_of(path));
  if (auto sent = Upload(context, api, begun, snapshot).send(path); !sent) return sent.error();
  auto document = document_of(api, id);
  if (!document) return document.error();
  Shared shared;
  std::vector<SharedContent> wanted;
  uint64_t total = 0;
  for (const NamedImage& image : images_of(*document)) {
    const bool here = is_here(directory, image.content);
    shared.kept_images += image.stored ? 1 : 0;
    shared.missing_images += !image.stored && !here ? 1 : 0;
    if (image.stored || !here) continue;
    wanted.push_back(image.content);
    total += size_of(image.content.path_in(directory));
  }
  Progress progress(context, "pushed its images:", total);
  for (const SharedContent& image : wanted) {
    if (auto sent = Upload(context, api, progress, image).send(image.path_in(directory)); !sent) return sent.error();
  }
  shared.moved_images = wanted.size();
  shared.moved_bytes = begun.done() + progress.done();
  return shared;
}

Result<Shared> pull_snapshot(const Context& context, const Api& api, const std::string& directory,
                             const std::string& id) {
  auto document = document_of(api, id);
  if (!document) return document.error();
  const SharedContent snapshot{false, id};
  Shared shared;
  std::vector<SharedContent> wanted;
  uint64_t total = number_of(*document, "bytes");
  for (const NamedImage& image : images_of(*document)) {
    const bool here = is_here(directory, image.content);
    shared.kept_images += here ? 1 : 0;
    shared.missing_images += !image.stored && !here ? 1 : 0;
    if (here || !image.stored) continue;
    wanted.push_back(image.content);
    total += image.bytes;
  }
  shared.moved_images = wanted.size();
  // Last, so that whoever finds it finds its images.
  if (!is_here(directory, snapshot)) wanted.push_back(snapshot);
  Progress progress(context, "pulled", total);
  for (const SharedContent& content : wanted) {
    if (auto pulled = pull_content(api, directory, content, progress); !pulled) return pulled.error();
  }
  shared.moved_bytes = progress.done();
  return shared;
}

}  // namespace fathom::cli
