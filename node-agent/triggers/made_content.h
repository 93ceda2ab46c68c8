// MadeContent: the content of a capture, ready to be sent under one or several traces.
//
// Thread safety: constant; ContentPool belongs to the agent's loop. Ownership: shared by all senders. It has the
// program's serial, no pointer: a capture that waits for a minute must not keep the program's memory. Units: in names.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <sys/types.h>

#include "node-agent/control.h"
#include "node-agent/triggers/capture_worker.h"

namespace fathom::agent {

struct MadeContent {
  uint32_t program = 0;  // WatchedProgram::serial
  uid_t uid = 0;
  uint32_t pid = 0;
  std::string service;
  uint64_t begin_nano = 0;  // CLOCK_MONOTONIC
  uint64_t end_nano = 0;
  JobOwner owner = JobOwner::kTrigger;  // kTrigger: sent at once, never kept
  ReadyCapture facts;                   // without the content, which is here:
  std::shared_ptr<const std::string> bytes;
  mutable bool is_sent = false;  // under at least one trace; used on the agent's loop
};

// The service's name by rules that may be newer than the program's facts; null: none.
std::string service_of(const WatchedProgram& program, const Redaction* rules);
MadeContent made_content(const CaptureJob& job, ReadyCapture capture);
// One capture per subject: the same content may be sent under several.
OutgoingCapture outgoing_of(const CaptureSubject& subject, const MadeContent& content);

// Counts the bytes of the contents that it has made and that still exist.
class ContentPool {
 public:
  std::shared_ptr<const MadeContent> add(MadeContent content) {
    const uint64_t size = content.bytes->size();
    *bytes_ += size;
    return {new MadeContent(std::move(content)), [bytes = bytes_, size](const MadeContent* made) {
              *bytes -= size;
              delete made;
            }};
  }
  uint64_t bytes() const { return *bytes_; }

 private:
  std::shared_ptr<uint64_t> bytes_ = std::make_shared<uint64_t>(0);  // contents may outlive the pool
};

}  // namespace fathom::agent
