// The pool of version 1, byte for byte: testdata/pool-v1.bin (without area 5, as the first programs had it) and
// pool-v1-open.bin (with it) stay, because programs outlive agents. FATHOM_WRITE_GOLDEN=1 writes what today's code
// makes of them, for a version that is new.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "client/items.h"
#include "client/open_spans.h"
#include "client/resource.h"
#include "client/testing/memory_pool.h"
#include "client/testing/open_reader.h"
#include "client/testing/pool_reader.h"

namespace fathom::client {
namespace {

using pool::ItemTag;
using testing::MemoryPool;
using testing::OpenReader;
using testing::PoolReader;
using testing::ReadItem;
using testing::ReadNote;
using testing::ReadSlot;
using testing::ReadSpan;
using testing::see;
using testing::Writer;

constexpr const char* kWithoutSlots = FATHOM_TESTDATA "/pool-v1";
constexpr const char* kWithSlots = FATHOM_TESTDATA "/pool-v1-open";

fathom_text text(std::string_view view) {
  return {view.data(), view.size()};
}

std::unique_ptr<SpanState> fixed_span(std::string_view name, uint8_t number) {
  auto span = std::make_unique<SpanState>();
  span->bytes = sizeof(pool::SpanRecord);
  pool::SpanRecord& record = span->record;
  record.start_ticks = 1'000'000 + number;
  record.end_ticks = 2'000'000 + number;
  std::memset(record.trace_id, 0xa0 + number, sizeof record.trace_id);
  std::memset(record.span_id, 0xb0 + number, sizeof record.span_id);
  std::memset(record.parent_span_id, number == 1 ? 0 : 0xb1, sizeof record.parent_span_id);
  record.kind = number;
  record.flags = number == 1 ? 0x83 : 3;
  set_name(*span, text(name));
  return span;
}

std::vector<char> finished(SpanState& span) {
  span.record.item_bytes = span.bytes - static_cast<uint32_t>(sizeof(pool::SpanRecord)) - span.record.name_bytes;
  std::vector<char> bytes((span.bytes + 7) / 8 * 8);
  std::memcpy(bytes.data(), &span.record, span.bytes);
  return bytes;
}

std::vector<char> full_record() {
  auto span = fixed_span("GET /cart", 1);
  const int64_t items = -3;
  const double price = 2.5;
  const char paid = 1, time[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  put_state(*span, text("a=1,fathom=0123"));
  set_attribute(*span, text("items"), {pool::ItemType::kInt, reinterpret_cast<const char*>(&items), 8});
  set_attribute(*span, text("price"), {pool::ItemType::kDouble, reinterpret_cast<const char*>(&price), 8});
  set_attribute(*span, text("paid"), {pool::ItemType::kBool, &paid, 1});
  set_attribute(*span, text("tenant"), text_value(text("acme")));
  set_attribute(*span, text("cut"), {pool::ItemType::kCut, "the begin of", 12});
  append_item(*span, ItemTag::kEvent, text("retry"), {pool::ItemType::kNone, time, sizeof time});
  set_detail(*span, text("attempt"), {pool::ItemType::kInt, reinterpret_cast<const char*>(&items), 8});
  fathom_context other = {};
  std::memset(other.trace_id, 0xc1, 16);
  std::memset(other.span_id, 0xc2, 8);
  other.flags = 1;
  other.state_size = 3;
  std::memcpy(other.state, "z=9", 3);
  add_link(*span, other);
  set_message(*span, text("card refused"));
  span->record.status = FATHOM_ERROR;
  span->record.dropped_attributes = 1;
  span->record.dropped_events = 2;
  span->record.dropped_links = 3;
  return finished(*span);
}

// A thread that died while it wrote its second span, and one whose chunk is sealed.
void fill_pool(const MemoryPool& memory) {
  const PoolView view = memory.view();
  WriterThread dying, ended;
  std::atomic<uint32_t> hint{0};
  static RetiredLinks links;
  dying.tid = 101;
  ended.tid = 102;
  view.header->pid = 100;
  const auto store = [&](WriterThread& thread, const std::vector<char>& record) {
    ASSERT_TRUE(put(see(memory), thread, links, hint, record.data(), static_cast<uint32_t>(record.size())));
  };
  store(dying, full_record());
  own_add(view.entries[0].reserved, 96);
  store(dying, finished(*fixed_span("after the hole", 2)));
  store(ended, finished(*fixed_span("sealed", 3)));
  retire_chunk(view, ended, links, &view.entries[1]);
  seal_retired(view, ended, links);
  auto resource = std::make_unique<ResourceText>();
  resource->put_list("service.name=golden,process.pid=100");
  std::memcpy(memory.base() + view.header->resource_offset, resource->bytes().data(), resource->bytes().size());
  view.header->resource = uint64_t{2} << 32 | resource->bytes().size();
}

// The dying thread was within two spans, and one that is deeper than is described; it had triggered, and a second
// trigger was being written.
void fill_open_area(const MemoryPool& memory) {
  char* area = memory.base() + memory.view().header->chunks_offset - pool::open_area_bytes(4);
  auto& page = *reinterpret_cast<pool::TriggerPage*>(area);
  auto* slots = reinterpret_cast<pool::ThreadSlot*>(area + sizeof page);
  slots[1].owner_tid = 101;
  slots[1].depth = 9;
  const auto outer = fixed_span("GET /cart", 1);
  const auto inner = fixed_span(std::string(100, 'n'), 2);
  describe(slots[1].levels[0], outer->record, outer->text, outer->record.name_bytes, outer->record.start_ticks);
  describe(slots[1].levels[1], inner->record, inner->text, inner->record.name_bytes, inner->record.start_ticks);
  slots[3].owner_tid = 103;
  page.tickets = 2;
  page.ended = 1;
  pool::TriggerNote& note = page.notes[0];
  note.ticket_plus_one = 1;
  note.tid = 101;
  note.ticks = 1'500'000;
  std::memcpy(note.trace_id, inner->record.trace_id, sizeof note.trace_id);
  std::memcpy(note.span_id, inner->record.span_id, sizeof note.span_id);
  note.reason_bytes = 9;
  std::memcpy(note.reason, "too large", 9);
}

std::string bytes_of(const MemoryPool& memory) {
  return {memory.base(), memory.bytes()};
}

std::string file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::string dump(const ReadSpan& span) {
  std::ostringstream out;
  out << span.name << " " << span.trace_id << " " << span.span_id << " parent '" << span.parent_span_id << "' "
      << span.start_ticks << ".." << span.end_ticks << " kind " << +span.kind << " status " << +span.status << " flags "
      << +span.flags << " dropped " << span.dropped_attributes << " " << span.dropped_events << " "
      << span.dropped_links << "\n";
  for (const ReadItem& item : span.items) {
    const std::string value =
        item.type == pool::ItemType::kNone ? std::to_string(item.value.size()) + " bytes" : value_text(item);
    out << "  " << static_cast<int>(item.tag) << "/" << static_cast<int>(item.type) << " " << item.key << " = " << value
        << "\n";
  }
  return out.str();
}

std::string dump(PoolReader& reader, Writer writer) {
  std::string out = writer == Writer::kAlive ? "alive:\n" : "dead:\n";
  for (const ReadSpan& span : reader.take(writer)) out += dump(span);
  return out;
}

std::string dump_open_area(const std::string& bytes) {
  // Words are read as such.
  std::vector<uint64_t> aligned(bytes.size() / 8);
  std::memcpy(aligned.data(), bytes.data(), bytes.size());
  const OpenReader reader(reinterpret_cast<const char*>(aligned.data()));
  std::ostringstream out;
  for (const ReadSlot& slot : reader.slots()) {
    out << "thread " << slot.tid << " depth " << slot.depth << "\n";
    for (const auto& level : slot.levels) {
      if (!level) continue;
      out << "  " << level->name << " (" << level->name_bytes << ") " << level->trace_id << " " << level->span_id
          << " since " << level->start_ticks << " kind " << +level->kind << " flags " << +level->flags << "\n";
    }
  }
  for (const ReadNote& note : reader.notes()) {
    out << "trigger " << note.ticket << " by " << note.tid << " at " << note.ticks << " in " << note.trace_id << " "
        << note.span_id << ": " << note.reason << "\n";
  }
  if (reader.ended()) out << "ended\n";
  return out.str();
}

// Through a file, as a reader has it.
std::string dump(const std::string& bytes) {
  const int fd = memfd_create("golden", MFD_CLOEXEC);
  if (write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) return "cannot write";
  PoolReader reader = PoolReader::of_file(fd);
  close(fd);
  std::string out;
  for (const auto& [key, value] : reader.resource()) out += key + "=" + value + "\n";
  out += dump(reader, Writer::kAlive);
  out += dump(reader, Writer::kDead);
  out += dump_open_area(bytes);
  for (const std::string& fault : reader.faults()) out += "fault: " + fault + "\n";
  return out;
}

void expect_golden(const MemoryPool& memory, const std::string& golden) {
  if (getenv("FATHOM_WRITE_GOLDEN") != nullptr) {
    std::ofstream(golden + ".bin", std::ios::binary) << bytes_of(memory);
    std::ofstream(golden + ".txt") << dump(bytes_of(memory));
  }
  EXPECT_TRUE(bytes_of(memory) == file(golden + ".bin"));
}

TEST(GoldenPool, TodaysWriterWritesVersion1) {
  const MemoryPool memory(2);
  fill_pool(memory);
  expect_golden(memory, kWithoutSlots);
}

TEST(GoldenPool, TodaysWriterWritesVersion1WithOpenSpans) {
  const MemoryPool memory(2, 4);
  fill_pool(memory);
  fill_open_area(memory);
  expect_golden(memory, kWithSlots);
}

TEST(GoldenPool, TodaysReaderReadsVersion1) {
  for (const std::string golden : {kWithoutSlots, kWithSlots}) {
    EXPECT_EQ(dump(file(golden + ".bin")), file(golden + ".txt"));
  }
}

}  // namespace
}  // namespace fathom::client
