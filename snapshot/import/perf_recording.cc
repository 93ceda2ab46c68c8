#include "snapshot/import/perf_recording.h"

#include <linux/perf_event.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/text.h"
#include "base/whole_io.h"
#include "snapshot/import/perf_aux_samples.h"
#include "snapshot/import/perf_filters.h"
#include "snapshot/import/perf_header_parts.h"

namespace fathom::snapshot::perf {
namespace {

constexpr size_t kMostChunks = 1'000'000;
constexpr size_t kMostStreams = 65'536;
constexpr uint64_t kMostSpooledBytes = uint64_t{4} << 30;
constexpr uint32_t kMostShift = 63;
constexpr size_t kBuildIdFieldBytes = 24;
// From this kind of AUXTRACE_INFO's on, the kernel told of all switches.
constexpr uint64_t kSwitchRecords = 2;

Error unsupported(std::string message) {
  return {ErrorCode::kUnsupported, std::move(message)};
}

const char* auxtrace_name(uint32_t type) {
  static constexpr const char* kNames[] = {"nothing", "Intel PT", "Intel BTS", "Arm CoreSight", "Arm SPE", "s390"};
  return type < std::size(kNames) ? kNames[type] : "an unknown kind";
}

// A ring is a processor's, or else a thread's. Samples are copies of one.
struct Ring {
  int32_t cpu = -1;
  int32_t tid = -1;
  bool sampled = false;
  auto operator<=>(const Ring&) const = default;
};

class Reader {
 public:
  Reader(const PerfFile& file, const PerfInput& input) : file_(file), input_(input), name_(input.name) {}

  Result<PerfRecording> read() {
    recording_.snapshot.engine = Engine::kIntelPt;
    recording_.snapshot.origin = Origin::kPerfData;
    for (const EventKind& event : file_.events()) add_event(event);
    for (Feature feature : {kHostnameFeature, kCpuidFeature, kCmdlineFeature, kBuildIdFeature, kDirectoryFeature}) {
      take_feature(feature, file_.feature(feature));
    }
    if (auto read = read_records(input_.data, file_.records()); !read) return read.error();
    judge_end();
    for (const Fd& file : input_.threads) {
      ++source_;
      auto bytes = bytes_of(file);
      if (!bytes) return bytes.error();
      if (auto read = read_records(file, {0, *bytes}); !read) return read.error();
    }
    return finish();
  }

 private:
  Result<uint64_t> bytes_of(const Fd& file) const {
    struct stat about {};
    if (::fstat(file.get(), &about) != 0) return system_error("cannot look at a file of " + name_);
    if (!S_ISREG(about.st_mode)) return invalid("a file of " + name_ + " is no regular one");
    return static_cast<uint64_t>(about.st_size);
  }

  Result<> read_records(const Fd& file, Section records) {
    RecordReader reader(file, records);
    auto read = reader.each([this](const Record& record) { return take(record); });
    losses_.bytes_missing += reader.losses().bytes_missing;
    losses_.bytes_cut += reader.losses().bytes_cut;
    losses_.bytes_damaged += reader.losses().bytes_damaged;
    losses_.compressed_bytes_damaged += reader.losses().compressed_bytes_damaged;
    return read;
  }

  // What the last record lacks is missing, unless the header has all of it: then that record is damaged.
  void judge_end() {
    if (!file_.records_are_whole()) {
      losses_.bytes_missing = std::max(losses_.bytes_missing, file_.bytes_missing());
      return;
    }
    if (losses_.bytes_missing != 0 && losses_.bytes_cut == 0) sideband_.count("damaged records: AUXTRACE");
    losses_.bytes_damaged += std::exchange(losses_.bytes_cut, 0);
    losses_.bytes_missing = 0;
  }

  Result<> take(const Record& record) {
    if (record.type == PERF_RECORD_SAMPLE && aux_samples_.any()) return take_sample(record);
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
      default:
        return {};  // what perf tells itself: rounds, tables of ids and threads, units
    }
  }

  void add_event(const EventKind& event) {
    sample_ids_.add(event);
    aux_samples_.add(event);
    events_.push_back({event.type, event.config, 0, false, {}});
  }

  Result<> take_event(const Record& record) {
    EventKind event;
    if (!parse_event(record.payload, event) || events_.size() >= kMostEvents) {
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
    if (feature == kDirectoryFeature) of_many_files_ = in.u64() != 0;
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
    ring_copies_ = fields.get(kSnapshotMode) != 0;
    has_switches_ = fields.get(kHaveSchedSwitch) >= kSwitchRecords;
    take_filters(fields.filters());
    Timing& timing = recording_.snapshot.timing;
    timing.nom_freq = static_cast<uint8_t>(std::min<uint64_t>(fields.get(kMaxNonTurboRatio), UINT8_MAX));
    timing.cpuid_0x15_ebx = static_cast<uint32_t>(fields.get(kTscCtcNumerator));
    timing.cpuid_0x15_eax = static_cast<uint32_t>(fields.get(kTscCtcDenominator));
    if (fields.get(kCapUserTimeZero) != 0) {
      set_conversion(fields.get(kTimeShift), fields.get(kTimeMult), fields.get(kTimeZero));
    }
    return {};
  }

  void take_filters(std::optional<std::string_view> text) {
    if (!text) return sideband_.count("address filters of the recording that are damaged");
    AddressFilters filters = parse_address_filters(text->substr(0, text->find('\0')));
    sideband_.count("address filters of the recording that are not understood", filters.not_understood);
    filters_ = std::move(filters.rows);
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
    in.u64();  // how many bytes
    PacketChunk chunk;
    chunk.offset = in.u64();
    in.u64();  // the clock when it was read
    in.u32();  // the ring's number
    const int32_t tid = in.fixed<int32_t>();
    const int32_t cpu = in.fixed<int32_t>();
    if (in.failed() || record.was_compressed()) {
      sideband_.count("damaged records: AUXTRACE");
      return {};
    }
    if (record.data_bytes == 0) return {};
    chunk.file_offset = record.data_offset;
    chunk.bytes = record.data_bytes;
    chunk.source = source_;
    return keep({cpu, cpu >= 0 ? -1 : tid, false}, chunk);
  }

  Result<> take_sample(const Record& record) {
    AuxSample sample;
    const AuxSamples::Kind kind = aux_samples_.take(record.payload, sample);
    if (kind == AuxSamples::Kind::kDamaged) return sideband_.count("damaged records: SAMPLE"), Result<>();
    if (sample.packets.empty()) return sideband_.take(record, sample_ids_);
    PacketChunk chunk;
    chunk.is_copy = true;
    chunk.bytes = sample.packets.size();
    if (auto placed = place(record, sample.packets, chunk); !placed) return placed;
    // Without the kernel's word for who ran when, the sample's is all there is.
    const bool of_processor = sample.cpu >= 0 && has_switches_;
    return keep({of_processor ? sample.cpu : -1, of_processor ? -1 : sample.tid, true}, chunk);
  }

  // Where the packets of a sample lie; those that were compressed lie nowhere, yet.
  Result<> place(const Record& record, std::string_view packets, PacketChunk& chunk) {
    chunk.source = source_;
    chunk.file_offset = record.payload_offset + static_cast<uint64_t>(packets.data() - record.payload.data());
    if (!record.was_compressed()) return {};
    if (spooled_bytes_ > kMostSpooledBytes - packets.size()) {
      return exhausted(name_ + " has more packets in compressed samples than are unpacked; record for a shorter time");
    }
    chunk.source = PerfInput::kSpool;
    chunk.file_offset = spooled_bytes_;
    spooled_bytes_ += packets.size();
    return write_whole(input_.spool.get(), packets, "cannot unpack the packets of a perf.data");
  }

  Result<> keep(const Ring& ring, PacketChunk chunk) {
    auto stream = stream_of(ring);
    if (!stream) return stream.error();
    if (recording_.chunks.size() >= kMostChunks || chunk.offset > UINT64_MAX - chunk.bytes) {
      return exhausted(name_ + " has more pieces of packets than a snapshot keeps; record for a shorter time");
    }
    chunk.stream = *stream;
    recording_.chunks.push_back(chunk);
    return {};
  }

  Result<size_t> stream_of(const Ring& ring) {
    auto& streams = recording_.snapshot.streams;
    auto found = streams_.find(ring);
    if (found != streams_.end()) return found->second;
    if (streams.size() >= kMostStreams) return exhausted(name_ + " has more streams than a snapshot keeps");
    streams.push_back({std::max(ring.cpu, -1), -1, ring.tid, {}});
    return streams_[ring] = streams.size() - 1;
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
    if (!has_info_ && is_cut()) {
      return invalid(name_ + " is cut short: " + group_digits(losses_.bytes_missing) +
                     " bytes are missing, and what is there tells nothing of Intel PT");
    }
    if (!has_info_) {
      return invalid(name_ + " holds no Intel PT; `perf record -e intel_pt// -- COMMAND` records it");
    }
    const bool files_missing = of_many_files_ && input_.threads.empty();
    if (recording_.chunks.empty() && files_missing) {
      return invalid(name_ + " is one file of several (perf record --threads); import the directory that they lie in");
    }
    if (recording_.chunks.empty() && is_cut()) {
      return invalid(name_ + " is cut short: " + group_digits(losses_.bytes_missing) +
                     " bytes are missing, and no packets of Intel PT are in what is there");
    }
    if (recording_.chunks.empty()) {
      return invalid(name_ + " holds no packets of Intel PT: nothing ran while it was recorded");
    }
    for (PacketChunk& chunk : recording_.chunks) chunk.is_copy = chunk.is_copy || ring_copies_;
    if (files_missing) sideband_.count(kThreadFilesMissing);
    count_losses();
    set_mtc();
    sideband_.finish(recording_.snapshot);
    auto& rows = recording_.snapshot.sideband;
    rows.insert(rows.end(), filters_.begin(), filters_.end());
    name_processes();
    recording_.kernel = sideband_.kernel();
    return std::move(recording_);
  }

  bool is_cut() const { return losses_.bytes_missing != 0; }

  void count_losses() {
    sideband_.count(kBytesMissing, losses_.bytes_missing);
    sideband_.count("bytes of records that the end of the perf.data cuts", losses_.bytes_cut);
    sideband_.count("parts of the perf.data's header that are missing", file_.features_missing());
    sideband_.count("bytes behind a damaged record of the perf.data", losses_.bytes_damaged);
    sideband_.count("compressed bytes of the perf.data from where they are damaged on",
                    losses_.compressed_bytes_damaged);
    sideband_.count("records of events that the perf.data does not describe", sample_ids_.unknown());
    if (!file_.ended_properly()) sideband_.count("perf record was killed before it wrote its header");
  }

  const PerfFile& file_;
  const PerfInput& input_;
  const std::string& name_;
  uint32_t source_ = 0;  // the file that is read
  RecordLosses losses_;
  PerfRecording recording_;
  PerfSideband sideband_;
  SampleIds sample_ids_;
  std::vector<EventKind> events_;
  AuxSamples aux_samples_;
  std::vector<Sideband> filters_;
  std::map<Ring, size_t> streams_;
  uint64_t spooled_bytes_ = 0;
  bool of_many_files_ = false;
  bool has_info_ = false;
  bool ring_copies_ = false;
  bool has_switches_ = false;
  uint64_t pmu_type_ = 0;
  uint64_t mtc_bit_ = 0;
  uint64_t mtc_freq_bits_ = 0;
};

}  // namespace

Result<PerfRecording> read_perf_data(const PerfInput& input) {
  auto perf_file = PerfFile::open(input.data, input.name);
  if (!perf_file) return perf_file.error();
  return Reader(*perf_file, input).read();
}

}  // namespace fathom::snapshot::perf
