// Redaction rules for tests.
//
// Header-only. Thread safety: plain functions.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "node-agent/redaction/redaction.h"

namespace fathom::agent::testing {

inline std::shared_ptr<const Redactor> redactor_of(const std::vector<std::string>& rules, uint8_t key_byte = 7) {
  RedactKey key;
  key.bytes.fill(key_byte);
  auto made = Redactor::make(rules, key);
  EXPECT_TRUE(made.ok()) << made.error().message;
  return made.ok() ? *made : nullptr;
}

// The agent's own rules, and a server's.
inline std::shared_ptr<const Redaction> redaction_of(const std::vector<std::string>& own,
                                                     const std::vector<std::string>& server = {},
                                                     const std::string& fingerprint = "") {
  return std::make_shared<const Redaction>(redactor_of(own), redactor_of(server, 8), fingerprint);
}

inline std::string hash_of(const std::string& text, uint8_t key_byte = 7) {
  return redactor_of({"hash key k"}, key_byte)->replaced(RedactAction::kHash, RedactValue::of_text(text));
}

}  // namespace fathom::agent::testing
