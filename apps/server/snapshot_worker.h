// fathom-worker as the server runs it: a child for each question, which gets nothing but a directory and words.
//
// Purpose: packets and images are hostile input; what looks into them is a process of its own, which limits its memory
// and may die. Here its time and its output are limited. Thread safety: all of it; whoever calls waits for the child,
// and is from then on a thread of background work, as the child is.
// Ownership: a child ends with the call. Errors: kDeadline and kCancelled as the budget says, with the child killed;
// kExhausted for more than 8 MiB; kNotFound, kInvalid and kInternal with the worker's own words, by its exit status (1,
// 2, any other).
#pragma once

#include <string>
#include <string_view>

#include "query/snapshots/snapshot_store.h"

namespace fathom {

inline constexpr size_t kMostAnswerBytes = 8 << 20;

inline constexpr const char* kUnsafeWorker = "--unsafe-worker";  // fathom-server's flag, and fathom-worker's

// `program`: empty for fathom-worker beside our own executable. `is_unsafe`: it also decodes where it cannot be
// confined.
query::RunWorker snapshot_worker(const std::string& program, bool is_unsafe = false);
std::string worker_program(const std::string& program);
// A line in the log when it cannot be run: all but snapshots goes on without it.
void warn_if_missing(const std::string& program);
void warn_if_unsafe(bool is_unsafe);

// What its end says, by its exit status and its last words.
Error worker_failure(int wait_status, std::string_view said);
Error worker_missing(const std::string& program);

}  // namespace fathom
