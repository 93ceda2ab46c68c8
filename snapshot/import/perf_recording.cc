#include "snapshot/import/perf_recording.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "base/bytes.h"

namespace fathom::snapshot::perf {
namespace {

constexpr size_t kMostChunks = 1'000'000;
constexpr size_t kMostStreams = 65'536;
constexpr size_t kMostWords = 4096;
constexpr size_t kMostWordBytes = 64 << 10;
constexpr uint32_t kMostShift = 63;
constexpr size_t kBuildIdBytes = 20;
constexpr size_t kBuildIdFieldBytes = 24;

Error unsupported(std::string message) {
  return {ErrorCode::kUnsupported, std::move(message)};
}

const char* auxtrace_name(uint32_t type) {
  static constexpr const char* kNames[] = {"nothing", "Intel PT", "Intel BTS", "Arm CoreSight", "Arm SPE", "s390"};
  return type < std::size(kNames) ? kNames[type] : "an unknown kind";
}

// A string of the header: its length in the file, then up to its NUL.
std::string header_string(ByteReader& in) {
  const uint32_t bytes = in.u32();
  if (bytes > kMostWordBytes) in.fail();
  const std::string_view text = in.raw(bytes);
  return std::string(text.substr(0, text.find('\0')));
}

std::string joined_words(std::string_view content) {
  ByteReader in(content);
  std::string all;
  const uint32_t count = in.u32();
  for (uint32_t i = 0; i < std::min<uint32_t>(count, kMostWords) && !in.failed(); ++i) {
    all += (all.empty() ? "" : " ") + header_string(in);
    if (all.size() > kMostWordBytes) break;
  }
  return all;
}

// "GenuineIntel,6,78,3".
Cpu cpu_of(std::string_view content) {
  ByteReader in(content);
  const std::string text = header_string(in);
  const size_t comma = text.find(',');
  if (!text.starts_with("GenuineIntel,")) return {};
  unsigned numbers[3] = {};
  size_t at = comma + 1;
  for (unsigned& number : numbers) {
    while (at < text.size() && text[at] >= '0' && text[at] <= '9')
      number = number * 10 + static_cast<unsigned>(text[at++] - '0');
    ++at;
  }
  if (numbers[0] > UINT16_MAX || numbers[1] > UINT8_MAX || numbers[2] > UINT8_MAX) return {};
  return {true, static_cast<uint16_t>(numbers[0]), static_cast<uint8_t>(numbers[1]), static_cast<uint8_t>(numbers[2])};
}

// What AUXTRACE_INFO says of Intel PT; of older versions of perf it has less.
class IntelPtFields {
 public:
  explicit IntelPtFields(std::string_view payload) {
    ByteReader in(payload);
    type_ = in.u32();
    in.u32();
    while (in.remaining() >= 8 && values_.size() <= kFilterBytes) values_.push_back(in.u64());
  }
  uint32_t type() const { return type_; }
  uint64_t get(IntelPtInfo field) const { return field < values_.size() ? values_[field] : 0; }

 private:
  uint32_t type_ = 0;
  std::vector<uint64_t> values_;
};

class Reader {
 public:
  Reader(PerfFile& file, const std::string& name) : file_(file), name_(name) {}

  Result<PerfRecording> read() {
    recording_.snapshot.engine = Engine::kIntelPt;
    recording_.snapshot.origin = Origin::kPerfData;
    for (const EventKind& event : file_.events()) add_event(event);
    for (Feature feature : {kHostnameFeature, kCpuidFeature, kCmdlineFeature, kBuildIdFeature}) {
      take_feature(feature, file_.feature(feature));
    }
    if (auto read = file_.each_record([this](const Record& record) { return take(record); }); !read)
      return read.error();
    return finish();
  }

 private:
  Result<> take(const Record& record) {
    if (record.type < kUserRecords) return sideband_.take(record, sample_ids_);
    switch (record.type) {
      case kHeaderAttr:
        return take_event(record);
      case kHeaderBuildId:
        take_build_id(record.misc, record.payload);
        return {};
      case kHeaderFeature:
        take_feature_record(record);
        return {};
      case kAuxtraceInfo:
        return take_info(record);
      case kAuxtrace:
        return take_chunk(record);
      case kAuxtraceError:
        sideband_.count("errors that perf noted of its trace");
        return {};
      case kTimeConv:
        take_time(record);
        return {};
      case kCompressed:
      case kCompressed2:
        return unsupported(name_ +
                           " has compressed records (perf record -z), which are not read yet; record without -z");
      default:
        return {};  // what perf tells itself: rounds, tables of ids and threads, units
    }
  }

  void add_event(const EventKind& event) {
    sample_ids_.add(event);
    aux_samples_ = aux_samples_ || (event.sample_type & PERF_SAMPLE_AUX) != 0;
    events_.push_back({event.type, event.config, 0, false, {}});
  }

  Result<> take_event(const Record& record) {
    EventKind event;
    if (!parse_event(record.payload, event) || events_.size() >= kMostWords) {
      return corrupt(name_ + ": the description of an event is damaged");
    }
    add_event(event);
    return {};
  }

  void take_feature_record(const Record& record) {
    ByteReader in(record.payload);
    const uint64_t feature = in.u64();
    if (!in.failed() && feature < kFeatures) take_feature(static_cast<Feature>(feature), in.raw(in.remaining()));
  }

  void take_feature(Feature feature, std::string_view content) {
    if (content.empty()) return;
    Snapshot& snapshot = recording_.snapshot;
    ByteReader in(content);
    if (feature == kHostnameFeature) snapshot.host = header_string(in);
    if (feature == kCpuidFeature) snapshot.cpu = cpu_of(content);
    if (feature == kCmdlineFeature) snapshot.command = joined_words(content);
    if (feature == kBuildIdFeature) take_build_ids(in);
  }

  void take_build_ids(ByteReader in) {
    while (in.remaining() >= kRecordHeaderBytes) {
      in.u32();
      const uint16_t misc = in.fixed<uint16_t>();
      const uint16_t bytes = in.fixed<uint16_t>();
      if (bytes < kRecordHeaderBytes) return;
      take_build_id(misc, in.raw(bytes - kRecordHeaderBytes));
    }
  }

  void take_build_id(uint16_t misc, std::string_view payload) {
    ByteReader in(payload);
    in.u32();  // the process, -1 for the host
    const std::string_view field = in.raw(kBuildIdFieldBytes);
    const std::string_view name = in.raw(in.remaining());
    if (in.failed()) return;
    const size_t said = (misc & kMiscBuildIdSize) != 0 ? static_cast<uint8_t>(field[kBuildIdBytes]) : kBuildIdBytes;
    sideband_.add_build_id(name.substr(0, name.find('\0')), field.substr(0, std::min(said, kBuildIdBytes)));
  }

  Result<> take_info(const Record& record) {
    const IntelPtFields fields(record.payload);
    if (fields.type() != kAuxtraceIntelPt) {
      return unsupported(name_ + " holds a trace of " + auxtrace_name(fields.type()) + ", not of Intel PT");
    }
    has_info_ = true;
    pmu_type_ = fields.get(kPmuType);
    mtc_bit_ = fields.get(kMtcBit);
    mtc_freq_bits_ = fields.get(kMtcFreqBits);
    recording_.ring_copies = fields.get(kSnapshotMode) != 0;
    Timing& timing = recording_.snapshot.timing;
    timing.nom_freq = static_cast<uint8_t>(std::min<uint64_t>(fields.get(kMaxNonTurboRatio), UINT8_MAX));
    timing.cpuid_0x15_ebx = static_cast<uint32_t>(fields.get(kTscCtcNumerator));
    timing.cpuid_0x15_eax = static_cast<uint32_t>(fields.get(kTscCtcDenominator));
    if (fields.get(kCapUserTimeZero) != 0) {
      set_conversion(fields.get(kTimeShift), fields.get(kTimeMult), fields.get(kTimeZero));
    }
    return {};
  }

  void take_time(const Record& record) {
    ByteReader in(record.payload);
    const uint64_t shift = in.u64();
    const uint64_t mult = in.u64();
    const uint64_t zero = in.u64();
    if (!in.failed() && recording_.snapshot.timing.conversion_mult == 0) set_conversion(shift, mult, zero);
  }

  void set_conversion(uint64_t shift, uint64_t mult, uint64_t zero) {
    if (shift > kMostShift || mult > UINT32_MAX) return;
    Timing& timing = recording_.snapshot.timing;
    timing.conversion_shift = static_cast<uint16_t>(shift);
    timing.conversion_mult = static_cast<uint32_t>(mult);
    timing.conversion_zero_nano = zero;
  }

  Result<> take_chunk(const Record& record) {
    ByteReader in(record.payload);
    uint64_t bytes = in.u64();
    const uint64_t offset = in.u64();
    in.u64();  // the clock when it was read
    in.u32();  // the ring's number
    const int32_t tid = in.fixed<int32_t>();
    const int32_t cpu = in.fixed<int32_t>();
    if (in.failed()) {
      sideband_.count("damaged records: AUXTRACE");
      return {};
    }
    bytes = std::min(bytes, file_.size() - record.data_offset);
    if (bytes == 0) return {};
    auto stream = stream_of(cpu, tid);
    if (!stream) return stream.error();
    if (recording_.chunks.size() >= kMostChunks || offset > UINT64_MAX - bytes) {
      return exhausted(name_ + " has more pieces of packets than a snapshot keeps; record for a shorter time");
    }
    recording_.chunks.push_back({*stream, offset, record.data_offset, bytes});
    return {};
  }

  // A ring is a processor's, or else a thread's.
  Result<size_t> stream_of(int32_t cpu, int32_t tid) {
    auto& streams = recording_.snapshot.streams;
    const std::pair<int32_t, int32_t> key{cpu, cpu >= 0 ? -1 : tid};
    auto found = streams_.find(key);
    if (found != streams_.end()) return found->second;
    if (streams.size() >= kMostStreams) return exhausted(name_ + " has more streams than a snapshot keeps");
    streams.push_back({std::max(cpu, -1), -1, key.second, {}});
    return streams_[key] = streams.size() - 1;
  }

  void set_mtc() {
    for (const EventKind& event : events_) {
      const bool with_mtc = event.type == pmu_type_ && (event.config & mtc_bit_) != 0;
      if (!with_mtc || mtc_freq_bits_ == 0) continue;
      const uint64_t period = (event.config & mtc_freq_bits_) >> std::countr_zero(mtc_freq_bits_);
      recording_.snapshot.timing.mtc_freq = static_cast<uint8_t>(std::min<uint64_t>(period, UINT8_MAX));
    }
  }

  void name_processes() {
    std::map<int32_t, int32_t> process_of;
    for (const Sideband& row : recording_.snapshot.sideband) {
      if (row.tid >= 0 && row.pid >= 0) process_of.emplace(row.tid, row.pid);
    }
    for (Stream& stream : recording_.snapshot.streams) {
      auto found = process_of.find(stream.tid);
      if (stream.tid >= 0) stream.pid = found == process_of.end() ? stream.tid : found->second;
    }
  }

  Result<PerfRecording> finish() {
    if (!has_info_) {
      return invalid(name_ + " holds no Intel PT; `perf record -e intel_pt// -- COMMAND` records it");
    }
    if (recording_.chunks.empty() && aux_samples_) {
      return unsupported(name_ +
                         " has its packets of Intel PT in samples (perf record --aux-sample), which are not read yet; "
                         "record without --aux-sample");
    }
    if (recording_.chunks.empty()) {
      return invalid(name_ +
                     " holds no packets of Intel PT: nothing ran while it was recorded, or the file is cut short");
    }
    sideband_.count("bytes missing at the end of the perf.data", file_.bytes_missing());
    sideband_.count("bytes behind a damaged record of the perf.data", file_.bytes_damaged());
    sideband_.count("records of events that the perf.data does not describe", sample_ids_.unknown());
    if (!file_.ended_properly()) sideband_.count("perf record was killed before it wrote its header");
    set_mtc();
    sideband_.finish(recording_.snapshot);
    name_processes();
    recording_.kernel = sideband_.kernel();
    return std::move(recording_);
  }

  PerfFile& file_;
  const std::string& name_;
  PerfRecording recording_;
  PerfSideband sideband_;
  SampleIds sample_ids_;
  std::vector<EventKind> events_;
  std::map<std::pair<int32_t, int32_t>, size_t> streams_;
  bool has_info_ = false;
  bool aux_samples_ = false;
  uint64_t pmu_type_ = 0;
  uint64_t mtc_bit_ = 0;
  uint64_t mtc_freq_bits_ = 0;
};

}  // namespace

Result<PerfRecording> read_perf_data(const Fd& file, const std::string& name) {
  auto perf_file = PerfFile::open(file, name);
  if (!perf_file) return perf_file.error();
  return Reader(*perf_file, name).read();
}

}  // namespace fathom::snapshot::perf
