// SpanRedactor: applies redaction rules to span records before they are encoded, and to the resource of a program.
//
// Purpose: SpanEncoder and FinishedSpans only see redacted records, so names and values that a rule removes reach
// neither OTLP nor captures. Names, status messages, names of events and trace states are redacted by value rules,
// attributes of spans, events and links also by key rules. Thread safety: none, belongs to the agent's loop. Ownership:
// a redacted record points into the redactor, until the next call. Errors: none. Bounds: a redacted record has at most
// kMostRecordBytes; what follows is left out, and counted as dropped attributes, events or links of the span.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "node-agent/pool/record.h"
#include "node-agent/redaction/redaction.h"

namespace fathom::agent {

class SpanRedactor {
 public:
  // A record becomes at most this many times as long: a value of one byte becomes a hash of 37.
  static constexpr size_t kMostGrowth = 6;

  // Null: there are no rules.
  void use(std::shared_ptr<const Redaction> rules) { rules_ = std::move(rules); }
  bool has_rules() const { return rules_ != nullptr; }
  SpanRecordView redacted(const SpanRecordView& span);

 private:
  void redact(const Item& item, pool::SpanRecord& head);
  void redact_attribute(const Item& item, pool::SpanRecord& head);
  void append(const Item& item, pool::SpanRecord& head);

  std::shared_ptr<const Redaction> rules_;
  std::string name_;
  std::string items_;
  std::string value_;     // of the current item
  bool is_full_ = false;  // the record had no room for an item
};

// The records of a pool's resource, redacted.
std::string redacted_resource(std::string_view pool_resource, const Redaction& rules);

}  // namespace fathom::agent
