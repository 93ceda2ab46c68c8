// EventRedactor: applies redaction rules to the events of a program on their way into a capture.
//
// Purpose: a field that a key rule drops is not in the capture's tracepoint; one that a key rule hashes or masks is a
// text there. A value rule is known to match only when an event comes: a text is replaced, or empty if it is to be
// dropped; and if a number matches, the event gets a variant of its tracepoint whose numbers are all texts. Thread
// safety: none. Ownership: results are valid until the next call; the rules outlive it. Errors: none.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "capture/capture.h"
#include "capture/event_columns.h"
#include "node-agent/detail/event_decoder.h"
#include "node-agent/detail/tracepoint_table.h"
#include "node-agent/redaction/redaction.h"

namespace fathom::agent {

class EventRedactor {
 public:
  explicit EventRedactor(const Redaction& rules) : rules_(rules) {}

  // False: no rule can match an event of this tracepoint.
  bool may_change(const Tracepoint& tracepoint) const;
  // `plain`: the tracepoint of the capture without rules. `has_only_texts`: the variant without numbers.
  capture::Tracepoint described(capture::Tracepoint plain, bool has_only_texts) const;

  // The values of one event, as far as they were there.
  void redact(std::span<const FieldValue> values);
  bool needs_texts() const { return needs_texts_; }  // a number was changed
  void write(capture::EventValues& out) const;

 private:
  struct Value {
    const FieldValue* plain = nullptr;
    bool is_changed = false;
    std::string text;  // if it is changed
  };

  void redact(const FieldValue& plain);

  const Redaction& rules_;
  std::vector<Value> values_;  // of the current event
  bool needs_texts_ = false;
};

}  // namespace fathom::agent
