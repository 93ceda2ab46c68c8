#include <fathom/trace.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

#include "base/testing/repetitions.h"
#include "client/process.h"
#include "client/testing/pool_reader.h"
#include "client/thread.h"

namespace fathom::client {
namespace {

using testing::PoolReader;
using testing::ReadSpan;

// What a child finds wrong, as its exit status; 0 when nothing.
int outcome_of(pid_t child, const std::function<int()>& body) {
  if (child == 0) _exit(body());
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

class Forks : public ::testing::Test {
 protected:
  Forks() : reader_(PoolReader::of_this_process()) { reader_.take(); }
  PoolReader reader_;
};

int spans_in_child() {
  for (int i = 0; i < 500; i++) {
    Span span("child");
    span.set("text", std::string(700, 'x'));
  }
  PoolReader own = PoolReader::of_this_process();
  const std::vector<ReadSpan> spans = own.take();
  if (spans.size() != 500) return 1;
  if (own.header().pid != static_cast<uint32_t>(getpid())) return 2;
  if (own.resource()["process.pid"] != std::to_string(getpid())) return 3;
  if (!own.faults().empty() || fathom_lost_spans() != 0) return 4;
  return 0;
}

TEST_F(Forks, AChildHasAPoolOfItsOwn) {
  { const Span span("before"); }
  const std::string parent_id(reinterpret_cast<const char*>(reader_.header().process_id), 16);
  EXPECT_EQ(outcome_of(fork(),
                       [&] {
                         if (const int wrong = spans_in_child(); wrong != 0) return wrong;
                         PoolReader own = PoolReader::of_this_process();
                         return std::memcmp(own.header().process_id, parent_id.data(), 16) == 0 ? 5 : 0;
                       }),
            0);
  { const Span span("after"); }
  EXPECT_EQ(reader_.take().size(), 2U) << "the parent's pool has the parent's spans only";
  EXPECT_TRUE(reader_.faults().empty());
}

TEST_F(Forks, AlsoWhenTheKernelIsAskedDirectly) {
  { const Span span("before"); }
  EXPECT_EQ(outcome_of(static_cast<pid_t>(syscall(SYS_fork)), spans_in_child), 0);
  EXPECT_EQ(reader_.take().size(), 1U);
}

TEST_F(Forks, GrandchildrenToo) {
  EXPECT_EQ(outcome_of(fork(),
                       [] {
                         if (const int wrong = spans_in_child(); wrong != 0) return wrong;
                         return outcome_of(fork(), spans_in_child);
                       }),
            0);
  EXPECT_TRUE(reader_.take().empty());
}

TEST_F(Forks, OpenSpansAreTheParentsAndTheChildsAreTheirChildren) {
  auto outer = std::make_unique<Span>("outer");
  auto large = std::make_unique<DetachedSpan>("large");
  large->set("text", std::string(2000, 'x'));
  const std::string outer_id = outer->context().traceparent().substr(36, 16);
  EXPECT_EQ(outcome_of(fork(),
                       [&] {
                         outer->set("by", "child");
                         large->set("by", "child");
                         { const Span inner("inner"); }
                         if (live().slabs.taken.load() != 0) return 1;
                         large.reset();
                         outer.reset();
                         if (Context::active().has_value()) return 2;
                         const std::vector<ReadSpan> spans = PoolReader::of_this_process().take();
                         return spans.size() == 1 && spans[0].parent_span_id == outer_id ? 0 : 3;
                       }),
            0);
  outer.reset();
  large.reset();
  const std::vector<ReadSpan> spans = reader_.take();
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].attribute("by"), "?");
  EXPECT_EQ(spans[1].attribute("text").size(), 2000U);
}

bool has_remote_parent(const ReadSpan& span) {
  return (span.flags & pool::kRemoteParent) != 0;
}

// Of the child's spans `first`, `inner` and `second`, which ended in this order: inner, first, second.
int wrong_parents(const Context& parent) {
  const std::vector<ReadSpan> spans = PoolReader::of_this_process().take();
  if (spans.size() != 3) return 1;
  const std::string trace_id = parent.traceparent().substr(3, 32), parent_id = parent.traceparent().substr(36, 16);
  const ReadSpan &inner = spans[0], &first = spans[1], &second = spans[2];
  if (first.parent_span_id != parent_id || second.parent_span_id != parent_id) return 2;
  if (inner.parent_span_id != first.span_id || inner.trace_id != trace_id || first.trace_id != trace_id) return 3;
  if (!has_remote_parent(first) || !has_remote_parent(second)) return 4;
  return has_remote_parent(inner) ? 5 : 0;
}

int spans_under_the_parents(const Context& parent) {
  {
    const Span first("first");
    if (first.context().tracestate() != "a=1") return 10;
    if (first.context().raw().remote != 0) return 11;
    const Span inner("inner");
  }
  { const DetachedSpan second("second", *Context::active()); }
  return wrong_parents(parent);
}

TEST_F(Forks, TheFirstSpansOfAChildHaveARemoteParent) {
  const Context caller = *Context::extract("00-0102030405060708090a0b0c0d0e0f10-0102030405060708-01", "a=1,fathom=2");
  Span outer("outer", caller);
  const Context parent = outer.context();
  EXPECT_EQ(outcome_of(fork(), [&] { return spans_under_the_parents(parent); }), 0);
  EXPECT_EQ(outcome_of(static_cast<pid_t>(syscall(SYS_fork)), [&] { return spans_under_the_parents(parent); }), 0);
  { const Span inner("inner"); }
  outer.discard();
  const std::vector<ReadSpan> spans = reader_.take();
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_FALSE(has_remote_parent(spans[0])) << "in the parent";
}

TEST_F(Forks, AGrandchildsFirstSpanHasARemoteParentToo) {
  Span outer("outer", *Context::extract("00-0102030405060708090a0b0c0d0e0f10-0102030405060708-01", "a=1"));
  EXPECT_EQ(outcome_of(fork(),
                       [] {
                         const Span middle("middle");
                         const Context parent = middle.context();
                         return outcome_of(fork(), [&] { return spans_under_the_parents(parent); });
                       }),
            0);
  outer.discard();
}

TEST_F(Forks, AParentsSpanThatTheChildActivatesIsARemoteParent) {
  DetachedSpan detached("detached",
                        *Context::extract("00-0102030405060708090a0b0c0d0e0f10-0102030405060708-01", "a=1"));
  const Context parent = detached.context();
  EXPECT_EQ(outcome_of(fork(),
                       [&] {
                         { const Span other("other"); }
                         if (PoolReader::of_this_process().take().size() != 1) return 20;
                         const Activation active(detached);
                         return spans_under_the_parents(parent);
                       }),
            0);
  detached.discard();
}

TEST_F(Forks, TheContextOfAParentsSpanIsRemoteInTheChild) {
  Span outer("outer");
  EXPECT_EQ(outer.context().raw().remote, 0);
  EXPECT_EQ(outcome_of(fork(),
                       [&] {
                         if (Context::active()->raw().remote != 1) return 1;
                         if (outer.context().raw().remote != 1) return 2;
                         { const Span own("own"); }
                         if (Context::active()->raw().remote != 1) return 3;
                         return Context::active()->traceparent() == outer.context().traceparent() ? 0 : 4;
                       }),
            0);
  outer.discard();
}

TEST_F(Forks, AChildThatOnlyLeavesItsParentsSpansMakesNothing) {
  auto outer = std::make_unique<Span>("outer");
  EXPECT_EQ(outcome_of(fork(),
                       [&] {
                         outer.reset();
                         return live().pool.load() == nullptr ? 0 : 1;
                       }),
            0);
}

// The child of a fork in a signal handler goes back to the write that the signal interrupted.
TEST_F(Forks, AnInterruptedWriteGoesOnInTheChildWithoutReachingTheParent) {
  { const Span span("before"); }
  reader_.take();
  char* parents = live().pool.load();
  this_thread.writer.writes++;
  const int outcome = outcome_of(fork(), [&] {
    std::memset(parents, 'x', 4096);  // where the write would go on
    this_thread.writer.writes--;
    return spans_in_child();
  });
  this_thread.writer.writes--;
  EXPECT_EQ(outcome, 0);
  EXPECT_EQ(reader_.header().magic, pool::kMagic);
}

TEST_F(Forks, FromAProgramWhoseThreadsGoOnWriting) {
  const uint64_t lost_before = reader_.lost(pool::kLostPoolFull);
  std::atomic<bool> done{false};
  std::vector<std::thread> writers;
  std::atomic<uint64_t> made{0};
  for (int i = 0; i < 3; i++) {
    writers.emplace_back([&] {
      while (!done.load()) {
        {
          const Span span("writer");
        }
        made++;
      }
    });
  }
  uint64_t taken = 0;
  for (uint64_t i = 0; i < repetitions(5); i++) {
    EXPECT_EQ(outcome_of(fork(), spans_in_child), 0);
    taken += reader_.take().size();
  }
  done = true;
  for (std::thread& writer : writers) writer.join();
  taken += reader_.take().size();
  EXPECT_EQ(taken + reader_.lost(pool::kLostPoolFull) - lost_before, made.load());
  EXPECT_TRUE(reader_.faults().empty());
}

TEST_F(Forks, VforkAndExecLeaveEverythingAsItWas) {
  Span outer("outer");
  const pid_t child = vfork();
  if (child == 0) {
    execl("/bin/true", "true", nullptr);
    _exit(1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  { const Span span("inner"); }
  EXPECT_EQ(reader_.take().size(), 1U);
  outer.discard();
}

}  // namespace
}  // namespace fathom::client
