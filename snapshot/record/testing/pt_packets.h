// Packets of Intel PT as bytes, for tests that need no more than a few kinds.
#pragma once

#include <cstdint>
#include <string>

namespace fathom::snapshot {

inline std::string psb_packet() {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += std::string("\x02\x82", 2);
  return bytes;
}

inline std::string tsc_packet(uint64_t tsc) {
  std::string bytes(1, '\x19');
  for (int i = 0; i < 7; ++i) bytes.push_back(static_cast<char>(tsc >> (8 * i)));
  return bytes;
}

inline std::string psbend_packet() {
  return {"\x02\x23", 2};
}

// As hardware begins: PSB, a time, a mode, the bus ratio.
inline std::string psb_header(uint64_t tsc) {
  return psb_packet() + std::string("\x99\x01", 2) + tsc_packet(tsc) + std::string("\x02\x03\x24\x00", 4) +
         psbend_packet();
}

}  // namespace fathom::snapshot
