#include "snapshot/analyze/testing/sample_run.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

namespace fathom::snapshot {
namespace {

// cli; mov eax, 39; syscall; pushfq; pop rax; push rax; popfq; ret
constexpr char kOutsideCode[] = "\xfa\xb8\x27\x00\x00\x00\x0f\x05\x9c\x58\x50\x9d\xc3";
constexpr char kMarkedCode[] = "\xf3\x48\x0f\xae\xe0\x90";  // ptwrite rax; nop
// nop; ret (to the restorer, which is not here)
constexpr char kHandlerCode[] = "\x90\xc3";

}  // namespace

SampleRun::SampleRun(StreamOptions options) : builder_(options) {
  snapshot_.timing = StreamBuilder::timing();
  snapshot_.timing.conversion_mult = 1u << 30;
  snapshot_.timing.conversion_shift = 31;
  snapshot_.engine = Engine::kStep;
  snapshot_.slowdown = 812.5;
  snapshot_.command = "sample";
  snapshot_.streams.push_back({.cpu = -1, .pid = kSamplePid, .tid = 43, .pieces = {}});
  Sideband name;
  name.kind = SidebandKind::kName;
  name.pid = kSamplePid;
  name.tid = 43;
  name.text = "worker";
  snapshot_.sideband.push_back(name);
  add_images();
}

void SampleRun::add_image(const std::string& file, uint64_t address) {
  auto stored = place_.directory().add_image_file(std::string(FATHOM_TESTDATA) + "/../../symbols/testdata/" + file);
  ASSERT_TRUE(stored.ok());
  Image image;
  image.name = "/opt/lib/" + file.substr(0, file.find('.')) + ".so";
  image.content = stored->content;
  image.bytes = stored->bytes;
  snapshot_.images.push_back(image);
  Sideband map;
  map.pid = kSamplePid;
  map.address = address;
  map.length = 0x1000;
  map.image = static_cast<uint32_t>(snapshot_.images.size() - 1);
  snapshot_.sideband.push_back(map);
}

void SampleRun::add_images() {
  add_image("sample.elf", kSampleBase);
  place_.add_code(snapshot_, std::string(kOutsideCode, sizeof kOutsideCode - 1), kOutside, kSamplePid);
  place_.add_code(snapshot_, std::string(kHandlerCode, sizeof kHandlerCode - 1), kSignalHandler, kSamplePid);
}

void SampleRun::run_plain() {
  const uint64_t at = kSampleBase;
  if (!builder_.enabled()) builder_.enable(at + 0x3d6);
  plain(at + 0x3d6, 4);
  plain(at + 0x3da, 4);
  plain(at + 0x3de, 4);
  plain(at + 0x3e2, 5);
  call(at + 0x3e7, at + 0x3a0);
  plain(at + 0x3a0, 4);
  jump_through(at + 0x3a4, 6, at + 0x3bd);
  run_handle(at + 0x3ec);
  plain(at + 0x3ec, 3);
  plain(at + 0x3ef, 4);
  ret(at + 0x3f3, at + 0x3d6);
}

void SampleRun::run_marked(uint64_t value) {
  if (!std::exchange(marked_, true))
    place_.add_code(snapshot_, std::string(kMarkedCode, sizeof kMarkedCode - 1), kMarked, kSamplePid);
  if (builder_.enabled()) builder_.disable();
  builder_.enable(kMarked);
  builder_.step_ptwrite({kMarked, 5, Op::kPtwrite, 0}, value);
  plain(kMarked + 5, 1);
  builder_.disable();
}

void SampleRun::run_inlined() {
  const uint64_t at = kInlined;
  if (!std::exchange(has_inlined_, true)) add_image("inlined.elf", at);
  if (builder_.enabled()) builder_.disable();
  builder_.enable(at + 0x290);
  plain(at + 0x290, 2);
  plain(at + 0x292, 3);
  plain(at + 0x295, 1);
  plain(at + 0x296, 1);
  plain(at + 0x297, 3);
  call(at + 0x29a, at + 0x250);
  jump_through(at + 0x250, 6, kOutside);
  run_code_outside(at + 0x29f);
  builder_.disable();
}

void SampleRun::run_handle(uint64_t back) {
  const uint64_t at = kSampleBase;
  plain(at + 0x3bd, 4);
  plain(at + 0x3c1, 1);
  plain(at + 0x3c2, 2);
  call(at + 0x3c4, at + 0x3b0);
  run_helper(at + 0x3c9);
  plain(at + 0x3c9, 2);
  plain(at + 0x3cb, 2);
  call(at + 0x3cd, at + 0x390);
  run_outside(at + 0x3d2);
  plain(at + 0x3d2, 2);
  plain(at + 0x3d4, 1);
  ret(at + 0x3d5, back);
}

void SampleRun::run_helper(uint64_t back) {
  const uint64_t at = kSampleBase;
  plain(at + 0x3b0, 1);
  plain(at + 0x3b1, 2);
  call(at + 0x3b3, at + 0x390);
  run_outside(at + 0x3b8);
  plain(at + 0x3b8, 3);
  plain(at + 0x3bb, 1);
  ret(at + 0x3bc, back);
}

// From its entry in the linkage table on.
void SampleRun::run_outside(uint64_t back) {
  plain(kSampleBase + 0x390, 4);
  jump_through(kSampleBase + 0x394, 6, kOutside);
  run_code_outside(back);
}

void SampleRun::run_code_outside(uint64_t back) {
  plain(kOutside, 1);
  plain(kOutside + 1, 5);
  run_call(kOutside + 6);
  plain(kOutside + 8, 1);
  plain(kOutside + 9, 1);
  plain(kOutside + 10, 1);
  plain(kOutside + 11, 1);
  ret(kOutside + 12, back);
}

void SampleRun::run_call(uint64_t ip) {
  builder_.step_system_call({ip, 2, Op::kSystemCall, 0});
  builder_.pass(1000);
  if (interrupted_) {
    interrupted_ = false;
    builder_.enable(kSignalHandler);
    plain(kSignalHandler, 1);
    builder_.disable();
    builder_.pass(500);
  }
  builder_.enable(ip + 2);
}

void SampleRun::finish() {
  if (builder_.enabled()) builder_.disable();
  const std::string packets = builder_.stream();
  auto draft = directory().draft();
  ASSERT_TRUE(draft.ok());
  auto writer = SnapshotWriter::begin(Fd(::open(draft->c_str(), O_RDWR | O_CLOEXEC)));
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->packets(0, 0, {reinterpret_cast<const uint8_t*>(packets.data()), packets.size()}).ok());
  auto id = writer->finish(snapshot_);
  ASSERT_TRUE(id.ok());
  id_ = *id;
  ASSERT_TRUE(directory().publish(*draft, id_).ok());
}

Result<> SampleRun::ask(Question question, std::string& text) const {
  question.id = id_;
  return answer(directory(), question, [&](std::string_view piece) {
    text += piece;
    return true;
  });
}

std::string SampleRun::answer_to(Question question) const {
  std::string text;
  const auto answered = ask(question, text);
  EXPECT_TRUE(answered.ok()) << answered.error().message;
  return text;
}

void expect_golden(const std::string& name, const std::string& text) {
  if (const char* directory = std::getenv("FATHOM_WRITE_GOLDEN")) {
    std::ofstream(std::string(directory) + "/" + name) << text;
    return;
  }
  std::ifstream file(std::string(FATHOM_TESTDATA) + "/" + name);
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(text, golden.str()) << name;
}

}  // namespace fathom::snapshot
