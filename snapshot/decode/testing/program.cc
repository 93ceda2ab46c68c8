#include "snapshot/decode/testing/program.h"

#include <array>
#include <cstring>

namespace fathom::snapshot {

Program::Label Program::here() {
  labels_.push_back(at());
  return labels_.size() - 1;
}

Program::Label Program::forward() {
  labels_.push_back(0);
  return labels_.size() - 1;
}

void Program::plain(int count) {
  using namespace std::string_view_literals;
  // nop, mov rax rbx, nop of four bytes, mov of a constant of eight bytes
  static constexpr std::array kPlain = {"\x90"sv, "\x48\x89\xd8"sv, "\x0f\x1f\x40\x00"sv,
                                        "\x48\xb8\x08\x07\x06\x05\x04\x03\x02\x01"sv};
  for (int number = 0; number < count; ++number) add(kPlain[instructions_.size() % kPlain.size()], Op::kPlain);
}

void Program::add(std::string_view bytes, Op op) {
  instructions_[at()] = {at(), static_cast<uint8_t>(bytes.size()), op, 0};
  bytes_ += bytes;
}

void Program::branch(std::string_view opcode, Op op, Label to) {
  fixups_.push_back({at(), to});
  std::string bytes(opcode);
  bytes.append(4, '\0');
  add(bytes, op);
}

const std::string& Program::link() {
  for (const auto& fixup : fixups_) {
    Instruction& branch = instructions_[fixup.ip];
    branch.target = labels_[fixup.label];
    const auto distance = static_cast<int32_t>(branch.target - branch.ip - branch.size);
    std::memcpy(bytes_.data() + (branch.ip - base_) + branch.size - 4, &distance, 4);
  }
  return bytes_;
}

}  // namespace fathom::snapshot
