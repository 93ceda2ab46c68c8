// AddressSpace: the code of one process, as the stepper asks for it: the instruction at an address.
//
// Purpose: instructions are read and classified once per address; what is mapped goes to the recording as it is seen.
// Code in files is told by its maps. Code in memory alone (jitted, patched) is copied page by page when a thread comes
// there, and again when it is found changed. Thread safety: none; one owner. Ownership: keeps the process's memory
// file open. Errors: what cannot be read is an instruction of length 0.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/fd.h"
#include "snapshot/record/step/instruction.h"
#include "snapshot/record/step/proc_maps.h"
#include "snapshot/record/step/recording.h"

namespace fathom::snapshot::step {

class AddressSpace {
 public:
  AddressSpace(pid_t pid, Recording& recording);

  // Reads the maps again; `tsc` 0: what is there was there from the beginning.
  void look_at_maps(uint64_t tsc);
  // Another program, or a fresh beginning after threads ran unwatched.
  void forget();

  const Instruction& at(uint64_t ip) {
    if (ip >> kPageBits == page_number_) {
      const Instruction& known = page_->instructions[ip & kPageMask];
      if (known.length != 0 && !page_->watched) return known;
    }
    return fetch(ip);
  }

  // Whether code was copied since the last time this was asked: a decoder must look at the maps from here on.
  bool take_changed() { return std::exchange(changed_, false); }
  bool changed() const { return changed_; }
  // How many bytes were read.
  size_t read(uint64_t address, std::span<uint8_t> bytes) const;
  bool write(uint64_t address, std::span<const uint8_t> bytes) const;
  // Whether executable memory lies in [address, address + length).
  bool touches_code(uint64_t address, uint64_t length) const;
  const std::vector<MappedFile>& code() const { return code_; }

 private:
  static constexpr uint64_t kPageBits = 12;
  static constexpr uint64_t kPageBytes = 1 << kPageBits;
  static constexpr uint64_t kPageMask = kPageBytes - 1;
  struct Page {
    std::array<Instruction, kPageBytes> instructions{};
    bool watched = false;  // may change without our being told: looked at whenever a thread is there
    bool copied = false;   // `bytes` are in the recording
    std::string bytes;
  };

  const Instruction& fetch(uint64_t ip);
  Page& page_of(uint64_t ip);
  void prepare(Page& page, uint64_t address);
  void copy_if_changed(Page& page, uint64_t address);
  bool differs_from_file(uint64_t address, const MappedFile& map) const;
  const MappedFile* map_of(uint64_t address) const;
  void record_map(const MappedFile& map, uint64_t tsc);
  void record_unmap(const MappedFile& map, uint64_t tsc);

  pid_t pid_;
  Recording& recording_;
  Fd memory_;
  std::vector<MappedFile> code_;             // executable, by address
  std::unordered_map<uint64_t, int> files_;  // by a map's begin: its image's file; none: memory alone
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  uint64_t page_number_ = UINT64_MAX;
  Page* page_ = nullptr;
  bool changed_ = false;
};

}  // namespace fathom::snapshot::step
