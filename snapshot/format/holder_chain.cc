#include "snapshot/format/holder_chain.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/syscall_names.h"
#include "snapshot/format/thread_activity.h"

namespace fathom::snapshot {
namespace {

// "fsync"; "system call N" if this build does not know the name.
std::string call_name(std::optional<uint64_t> number) {
  if (!number) return "";
  const std::string_view name = *number <= INT32_MAX ? syscall_name(static_cast<int32_t>(*number)) : "";
  return name.empty() ? "system call " + std::to_string(*number) : std::string(name);
}

HolderLink link_of(const ThreadRows& rows, const Sideband& wait) {
  return {wait.other_tid, rows.newest_name(wait.other_tid), wait.text, wait.address};
}

}  // namespace

HolderChain holder_chain(const ThreadRows& rows, const Sideband& wait) {
  HolderChain chain;
  std::vector<int32_t> threads{wait.tid, wait.other_tid};
  ThreadCall sleep = longest_sleep(rows, wait);
  bool nobody_got_on = true;
  while (true) {
    nobody_got_on = nobody_got_on && sleep.lasts;
    const ThreadActivity holders = activity_of(rows, threads.back(), sleep.when);
    sleep = holders.sleep;
    if (sleep.lock == nullptr) {
      chain.system_call = call_name(holders.system_call);
      return chain;
    }
    const int32_t next = sleep.lock->other_tid;
    const bool leads_back = std::ranges::find(threads, next) != threads.end();
    if (leads_back && !(nobody_got_on && sleep.lasts)) return chain;
    chain.is_cut = chain.links.size() == kMostHolderLinks;
    if (chain.is_cut) return chain;
    chain.links.push_back(link_of(rows, *sleep.lock));
    chain.is_deadlock = leads_back;
    if (leads_back) return chain;
    threads.push_back(next);
  }
}

int32_t end_of_chain(const HolderChain& chain, int32_t holder) {
  return chain.links.empty() ? holder : chain.links.back().holder;
}

}  // namespace fathom::snapshot
