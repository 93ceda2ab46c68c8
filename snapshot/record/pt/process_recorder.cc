#include "snapshot/record/pt/process_recorder.h"

#include <linux/perf_event.h>

#include <algorithm>

#include "snapshot/record/pt/jitdump.h"
#include "snapshot/record/pt/kernel_text.h"
#include "snapshot/record/pt/mapped_file.h"
#include "snapshot/record/pt/proc_files.h"
#include "snapshot/record/pt/pt_config.h"
#include "snapshot/record/pt/system_files.h"

namespace fathom::snapshot {
namespace {

constexpr size_t kMostJitdumpBytes = 512 << 20;
constexpr std::string_view kKernelName = "[kernel.kallsyms]";

bool is_switch(const Sideband& row) {
  return row.kind == SidebandKind::kSwitchIn || row.kind == SidebandKind::kSwitchOut;
}

// A row of doubt(): perf reported no loss.
bool is_doubt(const Sideband& row) {
  return row.kind == SidebandKind::kLost && row.length == 0;
}

// Processes that ran from `begin_tsc` on: those that were switched, and those that ran at its beginning.
std::set<int32_t> who_ran(const std::vector<Sideband>& rows, uint64_t begin_tsc) {
  std::set<int32_t> pids;
  std::map<int32_t, int32_t> running;  // by CPU
  for (const Sideband& row : rows) {
    if (row.kind == SidebandKind::kTraceStart) pids.insert(row.pid);
    if (!is_switch(row)) continue;
    if (row.tsc >= begin_tsc)
      pids.insert({row.pid, row.other_pid});
    else
      running[row.cpu] = row.kind == SidebandKind::kSwitchIn ? row.pid : row.other_pid;
  }
  for (const auto& [cpu, pid] : running) pids.insert(pid);
  return pids;
}

// Who a process came from is asked for its maps.
void add_parents(const std::vector<Sideband>& rows, std::set<int32_t>& pids) {
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
    if (row->kind == SidebandKind::kFork && pids.contains(row->pid)) pids.insert(row->other_pid);
  }
}

bool of_one_process(const Sideband& row) {
  switch (row.kind) {
    case SidebandKind::kMap:
    case SidebandKind::kUnmap:
      return !(row.flags & kFlagKernel);
    case SidebandKind::kName:
    case SidebandKind::kFork:
    case SidebandKind::kExit:
      return true;
    default:
      return false;
  }
}

void keep_window(std::vector<Sideband>& rows, const std::set<int32_t>& pids, uint64_t end_tsc, bool everybody) {
  std::erase_if(rows, [&](const Sideband& row) {
    return row.tsc > end_tsc || (!everybody && of_one_process(row) && !pids.contains(row.pid));
  });
}

Image kernel_image(const Result<KernelText>& kernel, const SnapshotDirectory& directory) {
  Image image;
  image.name = kKernelName;
  image.kind = ImageKind::kElf;
  auto stored = kernel ? directory.add_image_bytes(kernel->image) : kernel.error();
  if (!stored) {
    image.missing = stored.error().message;
    return image;
  }
  image.content = stored->content;
  image.bytes = stored->bytes;
  return image;
}

Sideband kernel_row(const KernelRange& range, uint32_t image) {
  Sideband row;
  row.kind = SidebandKind::kMap;
  row.flags = kFlagKernel;
  row.address = range.address;
  row.length = range.bytes;
  row.file_offset = range.file_offset;
  row.image = image;
  return row;
}

}  // namespace

void append_loss(Snapshot& snapshot, const std::string& name, uint64_t count) {
  if (count > 0) snapshot.losses.push_back({name, count});
}

ProcessRecorder::ProcessRecorder(PerfSystem& system, const SnapshotDirectory& directory, const PtOptions& options)
    : system_(system), directory_(directory), kernel_is_recorded_(options.kernel), images_(system, options.images) {
  if (options.one_user) owners_.emplace(system);
}

void ProcessRecorder::hold_jitdump(const Sideband& row, const PerfMapping& mapping) {
  if (Fd file = open_mapped_file(system_, row, mapping); file.open()) jitdumps_[row.pid] = std::move(file);
}

void ProcessRecorder::add(PerfSideband made) {
  if (made.row.kind == SidebandKind::kLost) lost_records_ += made.row.length;
  if (owners_ && made.row.tsc != 0) owners_->note(made.row);
  if (made.mapping && is_jitdump_name(made.mapping->file)) return hold_jitdump(made.row, *made.mapping);
  if (made.mapping) made.row.image = images_.of_mapping(made.row, *made.mapping);
  history_.add(std::move(made.row));
}

void ProcessRecorder::scan(const std::vector<int32_t>& pids) {
  for (const int32_t pid : pids.empty() ? all_processes(system_) : pids) {
    for (PerfSideband& made : read_process(system_, pid)) add(std::move(made));
    if (owners_) owners_->scan(pid);
  }
}

void ProcessRecorder::copy_kernel() {
  const Result<KernelText> kernel = read_kernel_text(system_);
  const uint32_t image = images_.add(kernel_image(kernel, directory_));
  // Where it lies is not known then: the upper half is the kernel's on this machine.
  static constexpr KernelRange kUpperHalf{uint64_t{1} << 63, (uint64_t{1} << 63) - 1, 0};
  if (!kernel) return history_.add(kernel_row(kUpperHalf, image));
  for (const KernelRange& range : kernel->ranges) history_.add(kernel_row(range, image));
}

void ProcessRecorder::record(std::string_view bytes, int32_t cpu) {
  auto parsed = parse_perf_record(bytes, kRecordLayout);
  auto made = parsed ? to_sideband(*parsed, timing_) : parsed.error();
  if (!made) {
    ++bad_records_;
    return doubt(cpu);
  }
  if (!*made) return;
  if ((*made)->row.cpu < 0) (*made)->row.cpu = cpu;
  last_tsc_[cpu] = std::max(last_tsc_[cpu], (*made)->row.tsc);
  add(**std::move(made));
}

void ProcessRecorder::doubt(int32_t cpu) {
  Sideband row;
  row.kind = SidebandKind::kLost;
  row.tsc = last_tsc_[cpu];
  row.cpu = cpu;
  if (owners_) owners_->note(row);
  history_.add(std::move(row));
}

void ProcessRecorder::drained() {
  if (owners_) owners_->apply_noted();
}

void ProcessRecorder::fold(uint64_t horizon_tsc) {
  history_.fold(horizon_tsc);
  std::set<uint32_t> named;
  for (const Sideband& row : history_.rows()) named.insert(row.image);
  images_.close_except(named);
  std::erase_if(jitdumps_, [&](const auto& dump) { return !history_.knows(dump.first); });
  if (!owners_) return;
  owners_->forget(horizon_tsc, [&](int32_t pid) { return history_.knows(pid); });
  owners_->read_in_turn();
}

void ProcessRecorder::append_jitted(const std::set<int32_t>& pids, std::vector<Sideband>& rows) {
  const ClockPair now{system_.tsc(), system_.monotonic_nano()};
  for (const auto& [pid, file] : jitdumps_) {
    if (!pids.contains(pid)) continue;
    // Ours is a position of its own: the file is read again for every snapshot, because it grows.
    const auto bytes = read_small_file("/proc/self/fd/" + std::to_string(file.get()), kMostJitdumpBytes);
    auto jitted = read_jit_image(bytes.value_or(""), pid, timing_, now);
    Image image;
    image.name = "[jitted code of " + std::to_string(pid) + "]";
    auto stored = jitted ? directory_.add_image_bytes(jitted->elf) : jitted.error();
    if (!stored) continue;
    image.content = stored->content;
    image.bytes = stored->bytes;
    const uint32_t number = images_.add(image);
    for (Sideband& row : jitted->rows) {
      row.image = row.kind == SidebandKind::kMap ? number : kNoImage;
      rows.push_back(std::move(row));
    }
  }
}

void ProcessRecorder::number_images(Snapshot& snapshot) {
  std::map<uint32_t, uint32_t> numbers;
  for (Sideband& row : snapshot.sideband) {
    if (row.image == kNoImage) continue;
    const auto [number, is_new] = numbers.try_emplace(row.image, static_cast<uint32_t>(snapshot.images.size()));
    if (is_new) snapshot.images.push_back(images_.stored(row.image, directory_));
    row.image = number->second;
  }
}

OneUser ProcessRecorder::of_user(uint32_t uid, uint64_t begin_tsc) {
  const OneUser user(*owners_, uid, begin_tsc, kernel_is_recorded_);
  std::set<int32_t> pids = who_ran(history_.rows(), 0);
  std::erase_if(pids, [&](int32_t pid) { return !user.owns(pid); });
  owners_->read_again(pids);
  return user;
}

HiddenTimes ProcessRecorder::hidden_times(const OneUser& user) const {
  // Without a conversion, no row has a time.
  if (timing_.conversion_mult == 0) return {};
  return user.hidden_times(history_.rows(), history_.unsure(), history_.known_from_tsc());
}

void ProcessRecorder::describe(Snapshot& snapshot, const Window& window) {
  std::vector<Sideband> rows = history_.rows();
  std::erase_if(rows, is_doubt);
  std::set<int32_t> pids = who_ran(rows, window.begin_tsc);
  if (window.everybody) {
    for (const auto& [pid, file] : jitdumps_) pids.insert(pid);
  }
  add_parents(rows, pids);
  keep_window(rows, pids, window.end_tsc, window.everybody);
  if (window.user != nullptr) {
    std::erase_if(pids, [&](int32_t pid) { return !window.user->owns(pid); });
    append_loss(snapshot, "rows about processes of other users left out", window.user->remove_others(rows));
  }
  append_jitted(pids, rows);
  std::ranges::stable_sort(rows, {}, &Sideband::tsc);
  snapshot.sideband = std::move(rows);
  number_images(snapshot);
  append_loss(snapshot, "records of perf lost by the kernel", lost_records_);
  append_loss(snapshot, "records of perf that were damaged", bad_records_);
  append_loss(snapshot, "rows of the history beyond its limit", history_.dropped());
}

}  // namespace fathom::snapshot
