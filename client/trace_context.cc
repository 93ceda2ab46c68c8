#include "client/trace_context.h"

#include <algorithm>
#include <cstring>

#include "client/platform.h"

namespace fathom::client {
namespace {

constexpr size_t kMostMembers = 32;
constexpr size_t kLongMember = 128;

int lower_hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;  // upper case is not allowed
}

bool read_hex(std::string_view text, uint8_t* out) {
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    const int high = lower_hex_digit(text[i]), low = lower_hex_digit(text[i + 1]);
    if (high < 0 || low < 0) return false;
    *out++ = static_cast<uint8_t>(high * 16 + low);
  }
  return true;
}

char* write_hex(const uint8_t* bytes, size_t size, char* out) {
  for (size_t i = 0; i < size; i++) {
    *out++ = "0123456789abcdef"[bytes[i] >> 4];
    *out++ = "0123456789abcdef"[bytes[i] & 15];
  }
  return out;
}

bool is_zero(const uint8_t* bytes, size_t size) {
  for (size_t i = 0; i < size; i++) {
    if (bytes[i] != 0) return false;
  }
  return true;
}

// "vv-<32>-<16>-ff"; later versions may have more behind another dash.
constexpr size_t kParentBytes = 55;

bool has_parent_shape(std::string_view text, uint8_t& version) {
  if (text.size() < kParentBytes || text[2] != '-' || text[35] != '-' || text[52] != '-') return false;
  if (!read_hex(part(text, 0, 2), &version) || version == 0xff) return false;
  return version == 0 ? text.size() == kParentBytes : text.size() == kParentBytes || text[kParentBytes] == '-';
}

bool is_key_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '*' || c == '/' || c == '@';
}
bool is_key_begin(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}
bool is_key(std::string_view key) {
  if (key.empty() || key.size() > 256 || !is_key_begin(key[0])) return false;
  for (char c : key) {
    if (!is_key_char(c)) return false;
  }
  return true;
}
bool is_value(std::string_view value) {
  if (value.empty() || value.size() > 256 || value.back() == ' ') return false;
  for (char c : value) {
    if (c < ' ' || c > '~' || c == ',' || c == '=') return false;
  }
  return true;
}

std::string_view key_of(std::string_view member) {
  return part(member, 0, member.find('='));
}

// Takes the first member off; empty ones are allowed and mean nothing.
std::string_view take_member(std::string_view& text) {
  const size_t comma = text.find(',');
  const std::string_view member = trim(part(text, 0, comma));
  text = comma == std::string_view::npos ? std::string_view() : part(text, comma + 1);
  return member;
}

struct Members {
  std::string_view list[kMostMembers];
  size_t count = 0;

  bool has(std::string_view key) const {
    for (size_t i = 0; i < count; i++) {
      if (key_of(list[i]) == key) return true;
    }
    return false;
  }
  // With the commas between them.
  size_t bytes() const {
    size_t sum = count == 0 ? 0 : count - 1;
    for (size_t i = 0; i < count; i++) sum += list[i].size();
    return sum;
  }
  void remove(size_t at) {
    for (count--; at < count; at++) list[at] = list[at + 1];
  }
  void shorten(size_t room) {
    for (size_t i = count; i-- > 0 && bytes() > room;) {
      if (list[i].size() > kLongMember) remove(i);
    }
    while (count > 0 && bytes() > room) count--;
  }
  size_t write(char* out) const {
    char* at = out;
    for (size_t i = 0; i < count; i++) {
      if (i != 0) *at++ = ',';
      std::memcpy(at, list[i].data(), list[i].size());
      at += list[i].size();
    }
    return static_cast<size_t>(at - out);
  }
};

// False when it is not valid. Of two members with the same key the first one, the newer, stays.
bool split(std::string_view text, Members& members) {
  while (!text.empty()) {
    const std::string_view member = take_member(text);
    if (member.empty()) continue;
    const size_t equals = member.find('=');
    if (equals == std::string_view::npos || !is_key(part(member, 0, equals)) || !is_value(part(member, equals + 1))) {
      return false;
    }
    if (members.has(key_of(member))) continue;
    if (members.count == kMostMembers) return false;
    members.list[members.count++] = member;
  }
  return true;
}

Members others(std::string_view state) {
  Members members;
  if (!split(state, members)) return {};
  for (size_t i = 0; i < members.count; i++) {
    if (key_of(members.list[i]) == kStateKey) members.remove(i--);
  }
  return members;
}

}  // namespace

bool parse_parent(std::string_view text, fathom_context& context) {
  uint8_t version, flags;
  if (!has_parent_shape(text, version)) return false;
  if (!read_hex(part(text, 3, 32), context.trace_id) || !read_hex(part(text, 36, 16), context.span_id) ||
      !read_hex(part(text, 53, 2), &flags)) {
    return false;
  }
  context.flags = flags & 3;  // what else there may be, we do not know to be true of what we pass on
  return !is_zero(context.trace_id, 16) && !is_zero(context.span_id, 8);
}

void format_parent(const fathom_context& context, char out[56]) {
  char* at = std::copy_n("00-", 3, out);
  at = write_hex(context.trace_id, 16, at);
  *at++ = '-';
  at = write_hex(context.span_id, 8, at);
  *at++ = '-';
  const uint8_t flags = context.flags & 3;
  at = write_hex(&flags, 1, at);
  *at = '\0';
}

size_t parse_state(std::string_view text, char out[kMostStateBytes]) {
  Members members;
  if (!split(text, members)) return 0;
  members.shorten(kMostStateBytes);
  return members.write(out);
}

size_t format_state(std::string_view state, std::string_view node, char* out, size_t room) {
  Members members = others(state);
  const size_t own = node.empty() ? 0 : kStateKey.size() + 1 + node.size();
  if (own > room) return 0;
  if (own != 0 && members.count == kMostMembers) members.count--;
  const size_t left = room - own;
  members.shorten(own == 0 ? left : left == 0 ? 0 : left - 1);
  if (own == 0) return members.write(out);
  std::memcpy(out, kStateKey.data(), kStateKey.size());
  out[kStateKey.size()] = '=';
  std::memcpy(out + kStateKey.size() + 1, node.data(), node.size());
  if (members.count == 0) return own;
  out[own] = ',';
  return own + 1 + members.write(out + own + 1);
}

size_t state_of_others(std::string_view state, char* out, size_t room) {
  return format_state(state, {}, out, room);
}

}  // namespace fathom::client
