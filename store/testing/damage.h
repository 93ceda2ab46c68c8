// Damage to files, as disks do it.
//
// Thread safety: pure functions. Errors: they fail the test.
#pragma once

#include <cstdint>
#include <string>

namespace fathom::store::testing {

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& bytes);
// Flips one bit; bit 0 is the lowest of the first byte.
void flip_bit(const std::string& path, uint64_t bit);
// What a misdirected write does: each file gets the content of the other.
void swap_contents(const std::string& a, const std::string& b);

}  // namespace fathom::store::testing
