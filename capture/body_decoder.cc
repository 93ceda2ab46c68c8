#include "capture/body_decoder.h"

#include "capture/block_decoder.h"
#include "capture/thread_decoder.h"

namespace fathom::capture {

namespace {

using namespace format;

// Every part fails the reader when it meets nonsense, which is looked at after each.
class BodyDecoder {
 public:
  BodyDecoder(std::string_view body, const DecodeLimits& limits) : in_(body, limits.most_memory_bytes) {}
  Result<Capture> decode();
  uint64_t room() const { return in_.room(); }

 private:
  template <typename Read>
  bool part(std::string_view name, Read&& read);
  Error fault() const;
  void head();
  void anchors();
  void tracepoints();
  void field(Field& field);
  void span_sets();
  void losses();
  void new_threads();
  bool threads();
  bool blocks();

  BodyReader in_;
  Capture capture_;
  std::vector<ThreadTotals> totals_;  // of its threads
  std::string where_;
  size_t part_begins_ = 0;
};

template <typename Read>
bool BodyDecoder::part(std::string_view name, Read&& read) {
  part_begins_ = in_.position();
  read();
  if (in_.failed()) where_ = name;
  return !in_.failed();
}

Error BodyDecoder::fault() const {
  if (in_.exhausted()) return exhausted("the capture needs more memory than its limit allows, in its " + where_);
  return corrupt("the capture is damaged in its " + where_ + ", from byte " + std::to_string(part_begins_) +
                 " of its body on");
}

void BodyDecoder::head() {
  capture_.begin_nano = in_.in().varint();
  capture_.end_nano = in_.apart(capture_.begin_nano);
  capture_.events_complete_from_nano = in_.apart(capture_.begin_nano);
  capture_.kernel_complete_from_nano = in_.in().varint();
  capture_.trigger_nano = in_.apart(capture_.begin_nano);
  capture_.pid = in_.in().varint32();
  uint8_t flags = in_.in().u8();
  if (flags > kEnded) in_.fail();
  capture_.ended = flags == kEnded;
  capture_.kernel_missing = in_.text();
  capture_.service = in_.text();
  capture_.reason = in_.text();
}

void BodyDecoder::anchors() {
  capture_.anchors.resize(in_.count(kLeastAnchor, sizeof(Anchor)));
  Anchor last;
  for (Anchor& anchor : capture_.anchors) {
    anchor.monotonic_nano = in_.not_before(last.monotonic_nano);
    anchor.unix_nano = in_.apart(last.unix_nano);
    anchor.epoch = last.epoch + in_.number<uint32_t>(UINT32_MAX - last.epoch);
    last = anchor;
  }
}

void BodyDecoder::tracepoints() {
  capture_.tracepoints.resize(in_.count(kLeastTracepoint, sizeof(Tracepoint)));
  for (Tracepoint& tracepoint : capture_.tracepoints) {
    tracepoint.name = in_.text();
    tracepoint.file = in_.text();
    tracepoint.line = in_.in().varint32();
    size_t fields = in_.count(kLeastField, sizeof(Field));
    if (fields > UINT16_MAX) in_.fail();
    if (in_.failed()) return;
    tracepoint.fields.resize(fields);
    for (Field& it : tracepoint.fields) field(it);
    if (in_.failed()) return;
  }
}

void BodyDecoder::span_sets() {
  size_t many = in_.count(kLeastSpanSet, sizeof(std::vector<SpanRef>));
  capture_.span_sets.resize(many + 1);
  for (size_t i = 1; i <= many && !in_.failed(); ++i) {
    capture_.span_sets[i].resize(in_.count(kSpanRefBytes, sizeof(SpanRef)));
    for (SpanRef& ref : capture_.span_sets[i]) ref = in_.span();
  }
}

void BodyDecoder::losses() {
  capture_.losses.resize(in_.count(kLeastLoss, sizeof capture_.losses[0]));
  for (auto& [name, many] : capture_.losses) {
    name = in_.text();
    many = in_.in().varint();
    if (in_.failed()) return;
  }
}

void BodyDecoder::field(Field& field) {
  uint8_t type = in_.in().u8();
  if (type < static_cast<uint8_t>(FieldType::kInteger) || type > static_cast<uint8_t>(FieldType::kBytes)) in_.fail();
  field.type = static_cast<FieldType>(type);
  field.key = in_.text();
}

void BodyDecoder::new_threads() {
  capture_.threads.resize(in_.count(kLeastThread, sizeof(Thread) + sizeof(ThreadTotals)));
}

bool BodyDecoder::threads() {
  ThreadDecoder decoder(in_, capture_);
  totals_.reserve(capture_.threads.size());
  for (size_t i = 0; i < capture_.threads.size(); ++i) {
    bool good = part("thread ", [&] {
      totals_.push_back(decoder.decode(capture_.threads[i]));
      if (i > 0 && capture_.threads[i].tid <= capture_.threads[i - 1].tid) in_.fail();
    });
    if (good) continue;
    where_ += std::to_string(i);
    return false;
  }
  return true;
}

bool BodyDecoder::blocks() {
  in_.take_blocks();
  return part("events", [&] { BlockDecoder(in_, capture_, totals_).decode(); });
}

Result<Capture> BodyDecoder::decode() {
  bool good = part("strings", [&] { in_.take_tables(); }) && part("first words", [&] { head(); }) &&
              part("anchors", [&] { anchors(); }) && part("tracepoints", [&] { tracepoints(); }) &&
              part("sets of spans", [&] { span_sets(); }) && part("losses", [&] { losses(); }) &&
              part("number of threads", [&] { new_threads(); }) && threads();
  good = good && part("end of its tables", [&] {
           if (!in_.in().at_end()) in_.fail();
         });
  if (!good || !blocks()) return fault();
  return std::move(capture_);
}

}  // namespace

Result<Capture> decode_body(std::string_view body, const DecodeLimits& limits, uint64_t* memory_bytes) {
  BodyDecoder decoder(body, limits);
  Result<Capture> capture = decoder.decode();
  if (memory_bytes != nullptr) *memory_bytes = limits.most_memory_bytes - decoder.room();
  return capture;
}

}  // namespace fathom::capture
