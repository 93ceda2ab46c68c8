// Whereabouts: as a part's time goes on, which thread runs, in which address space, and which losses are passed.
//
// Purpose: what the sideband says, applied to the flow at the right place, cheaply: one comparison per change of time.
// Thread safety: none, one per part. Ownership: refers to everything.
#pragma once

#include <intel-pt.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "snapshot/decode/address_spaces.h"
#include "snapshot/decode/flow_writer.h"
#include "snapshot/decode/memory_map.h"
#include "snapshot/decode/packet_stream.h"
#include "snapshot/decode/thread_history.h"

namespace fathom::snapshot {

class Whereabouts {
 public:
  Whereabouts(const StreamPart& part, const ThreadHistory& history, const MemoryMap& map, AddressSpaces& spaces,
              FlowWriter& out);

  // The first items of the part.
  void begin();
  // The losses behind the part's last packet.
  void end();

  // A segment begins; its time goes from `first` to `last`.
  void segment(uint64_t first, uint64_t last);
  uint64_t now() const { return now_; }
  // Packets tell a time. True: something of what follows has changed (the image, perhaps).
  bool advance(uint64_t tsc) {
    now_ = std::max(now_, std::min(tsc, last_));
    return now_ >= next_ && change();
  }

  // Packets say that a guest of a hypervisor runs from here on, or the host again: what the host shows is not a guest's
  // code. True: the image has changed. Each segment begins as the host's; its PSB+ says otherwise.
  bool guest(bool runs);

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
  bool change();
  void pass_losses(uint64_t until);
  void enter(uint64_t tsc);
  void use(const AddressSpace& space);

  const StreamPart& part_;
  const ThreadHistory& history_;
  const MemoryMap& map_;
  AddressSpaces& spaces_;
  FlowWriter& out_;
  RunningThread thread_;
  AddressSpace space_;
  pt_image* image_ = nullptr;
  size_t next_switch_ = 0;
  size_t next_loss_ = 0;
  size_t end_loss_ = 0;
  uint64_t now_ = 0;
  uint64_t last_ = UINT64_MAX;
  uint64_t next_ = 0;  // nothing changes before
  bool guest_ = false;
};

}  // namespace fathom::snapshot
