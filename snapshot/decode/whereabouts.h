// Whereabouts: as a part's time goes on, which thread runs, in which address space, and which losses are passed.
//
// Purpose: what the sideband says, applied to the flow at the right place, cheaply: one comparison per change of time.
// Thread safety: none, one per part. Ownership: refers to everything.
#pragma once

#include <intel-pt.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "snapshot/decode/address_spaces.h"
#include "snapshot/decode/flow_writer.h"
#include "snapshot/decode/memory_map.h"
#include "snapshot/decode/packet_stream.h"
#include "snapshot/decode/thread_history.h"

namespace fathom::snapshot {

class Whereabouts {
 public:
  Whereabouts(const StreamPart& part, const ThreadHistory& history, const MemoryMap& map, AddressSpaces& spaces,
              FlowWriter& out, bool guests_apart);

  // The first items of the part.
  void begin();
  // The losses behind the part's last packet.
  void end();

  // A segment begins; its time goes from `first` to `last`.
  void segment(uint64_t first, uint64_t last);
  uint64_t now() const { return now_; }
  // Packets tell a time. True: something of what follows has changed (the image, perhaps).
  bool advance(uint64_t tsc) {
    const uint64_t then = std::min(tsc, last_);
    if (then > now_) go_on(then);
    return now_ >= next_ && change();
  }
  // Recording begins again at `ip`. Code that only a later program shows says that it runs already: the time that
  // packets tell is older.
  void resumes_at(uint64_t ip) {
    if (next_program_ < end_program_ && ip != 0) look_for_program(ip);
  }
  // The segment is over; `timed`: at the time that it was given as the last one.
  void end_segment(bool timed) {
    if (timed && last_ > now_) out_.time_goes_on(last_);
    out_.end_run();
  }

  // Packets say that a guest of a hypervisor runs from here on, or the host again: what the host shows is not a guest's
  // code. True: the image has changed. Each segment begins as the host's; its PSB+ says otherwise. Where a person named
  // the images of a stream they are the code, whoever runs it.
  bool guest(bool runs);
  bool guests_apart() const { return guests_apart_; }

  // The address spaces of those who run in the segment, in their order; a few at the most.
  std::vector<std::span<const MappedRange>> spaces_of_segment() const;

  pt_image* image() const { return image_; }
  // No code was found at `address`: true when it is there now.
  bool find_code(uint64_t address);
  // Whether the address is code that a map shows, with its bytes or without.
  bool known(uint64_t address) const { return find_range(space_.ranges, address) != nullptr; }
  // Whether decoding could begin there.
  bool has_code(uint64_t address) const;
  // Why an instruction at `address` could not be read; nothing when all of its bytes are there.
  std::optional<std::string> missing_code(uint64_t address) const;

 private:
  void go_on(uint64_t tsc) {
    out_.time_goes_on(tsc);
    now_ = tsc;
  }
  bool change();
  void pass_losses(uint64_t until);
  void pass_programs(uint64_t until);
  void look_for_program(uint64_t ip);
  void enter(uint64_t tsc);
  void use(const AddressSpace& space);

  const StreamPart& part_;
  const ThreadHistory& history_;
  const MemoryMap& map_;
  AddressSpaces& spaces_;
  FlowWriter& out_;
  const bool guests_apart_;
  RunningThread thread_;
  AddressSpace space_;
  pt_image* image_ = nullptr;
  size_t next_switch_ = 0;
  size_t next_loss_ = 0;
  size_t end_loss_ = 0;
  size_t next_program_ = 0;
  size_t end_program_ = 0;
  uint64_t now_ = 0;
  uint64_t last_ = UINT64_MAX;
  uint64_t next_ = 0;  // nothing changes before
  bool guest_ = false;
};

}  // namespace fathom::snapshot
