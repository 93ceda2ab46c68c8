// InstructionDecoder: the instructions of decoded flow as text and kind, by Zydis, each block decoded once.
//
// Purpose: what looks at single instructions asks here; flow repeats itself, so blocks are kept. Thread safety: none,
// one per thread; CodeImages and MemoryMap are shared. Ownership: a block lives until the next call. Memory: bounded;
// what was kept is thrown away when there is too much of it. Errors: none; an instruction that Zydis does not know is a
// DecodedInstruction without a mnemonic, "(bad) f3 0f 01 ca", as long as libipt takes it to be; bytes that are missing
// or no instruction for libipt either have no length, and the block ends. Text is Intel's syntax, as in its manuals.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "snapshot/analyze/code_images.h"
#include "snapshot/decode/flow.h"
#include "snapshot/decode/memory_map.h"

namespace fathom::snapshot {

// Sets of instructions that a person may ask for by one name; instruction_pattern.h says what they are called.
enum InstructionGroup : uint16_t {
  kGroupDisablesInterrupts = 1,  // superCLI
  kGroupEnablesInterrupts = 2,   // superSTI
  kGroupSystemCall = 4,
  kGroupLock = 8,
  kGroupCall = 16,
  kGroupReturn = 32,
  kGroupJump = 64,
  kGroupBranch = 128,
  kGroupFpu = 256,
  kGroupVector = 512,
  kGroupFence = 1024,
};

struct DecodedInstruction {
  uint64_t address = 0;
  uint8_t length = 0;
  uint16_t mnemonic = 0;  // Zydis's number; 0: not known, or no instruction
  uint16_t groups = 0;    // InstructionGroup
  uint64_t target = 0;    // of a direct branch
  // What this writes to eax as a constant: its value, or kWritesUnknown, or kWritesNothing.
  int64_t eax = kWritesNothing;
  std::string text;

  static constexpr int64_t kWritesNothing = INT64_MIN;
  static constexpr int64_t kWritesUnknown = INT64_MIN + 1;
};

struct DecodedBlock {
  std::vector<DecodedInstruction> instructions;
  MappedRange range;  // of its first byte
  uint64_t id = 0;    // the same for the same block, as long as it is kept; never used again
};

class InstructionDecoder {
 public:
  InstructionDecoder(const CodeImages& images, const MemoryMap& map);
  ~InstructionDecoder();

  // From here on, process `pid` runs.
  void run(int32_t pid) { pid_ = pid; }
  // Of a kBlock.
  const DecodedBlock& block(const FlowItem& item);

 private:
  struct Zydis;
  struct Key {
    uint64_t ip, to, file_offset, state;
    uint32_t count, image;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  MappedRange range_at(uint64_t tsc, uint64_t ip);
  uint64_t state(const FlowItem& item) const;
  void decode(const FlowItem& item, DecodedBlock& block);
  DecodedInstruction decode_one(uint64_t tsc, uint64_t address, CodeMode mode);
  size_t gather(uint64_t tsc, uint64_t address, uint8_t* bytes, size_t size);

  const CodeImages& images_;
  const MemoryMap& map_;
  std::unique_ptr<Zydis> zydis_;
  int32_t pid_ = -1;
  AddressSpace space_;
  int32_t space_pid_ = -1;
  uint64_t space_from_ = 1;  // space_ holds from here
  std::unordered_map<Key, DecodedBlock, KeyHash> blocks_;
  uint64_t kept_ = 0;  // instructions in blocks_
  uint64_t next_id_ = 1;
};

// The number of a mnemonic ("mov"), in any case; 0: there is none.
uint16_t mnemonic_number(std::string_view name);
std::string_view mnemonic_name(uint16_t number);

}  // namespace fathom::snapshot
