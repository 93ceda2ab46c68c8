#include "node-agent/agent/drain.h"

#include <algorithm>
#include <boost/asio/post.hpp>

#include "base/hash.h"
#include "base/time.h"
#include "ingest/limits.h"

namespace fathom::agent {

namespace {

constexpr uint64_t kFirstFruitlessNano = 50'000'000;
// A thousand times what a look at one costs; a pool of the usual size is looked at each time all the same.
constexpr uint64_t kPausePerChunkNano = 10'000;

// Whole chunks are read, so the last may go beyond what was asked for. A resource grows no more than items do.
static_assert(SpanEncoder::most_bytes(DrainOptions().batch_bytes + PoolFile::kMostChunkBytes) +
                  SpanEncoder::most_bytes(pool::kResourceBytes) + kMostProcessBytes <=
              ingest::kBatchBytesBeforeWelcome);

// The time to the next multiple of the period, so that programs are read together; not shorter than `shortest_nano`.
uint64_t until_next(uint64_t period_nano, uint64_t shortest_nano) {
  const uint64_t left_nano = period_nano - now_monotonic_nano() % period_nano;
  return left_nano < shortest_nano ? left_nano + period_nano : left_nano;
}

void append_raw(std::string& out, const auto& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

std::array<uint8_t, 16> batch_identity(const DrainOptions& options, const PoolReader& reader) {
  const PoolShape& shape = reader.file().shape();
  std::string named;
  append_raw(named, options.node_id);
  append_raw(named, options.boot_id);
  append_raw(named, shape.inode);
  append_raw(named, shape.process_id);
  append_raw(named, reader.sequence());
  Hash128 hash = hash128(named);
  std::array<uint8_t, 16> identity;
  static_assert(sizeof hash == sizeof identity);
  std::memcpy(identity.data(), &hash, sizeof hash);
  return identity;
}

Drain::Drain(boost::asio::io_context& loop, const DrainOptions& options, TickClock& clock, AgentLosses& losses,
             Outbox& outbox)
    : loop_(loop),
      options_(options),
      clock_(clock),
      losses_(losses),
      outbox_(outbox),
      thread_looks_(options.thread_looks),
      encoder_(clock, losses, options.finished_spans),
      spans_(counter("fathom_agent_spans_total", "Spans that were taken out of programs' pools.")),
      batches_(counter("fathom_agent_batches_total", "Batches that were made of them.")),
      bytes_(counter("fathom_agent_batch_bytes_total", "Bytes of OTLP in these batches.")),
      no_room_(counter("fathom_agent_back_pressure_total",
                       "Times that spans stayed in a program's pool because neither the collector nor the spool took "
                       "more.")) {}

void Drain::add(const std::shared_ptr<Program>& program) {
  if (program->queued || program->sending) return;
  program->queued = true;
  turns_.add(program->id().uid, program);
  go_on();
}

void Drain::go_on() {
  if (!halted_ && !turns_.empty()) post_step();
}

// One pool per turn of the loop: sockets and timers come in between.
void Drain::post_step() {
  if (posted_) return;
  posted_ = true;
  boost::asio::post(loop_, [this, alive = alive_] {
    if (*alive) step();
  });
}

void Drain::step() {
  posted_ = false;
  if (halted_ || !turns_.turn_to([this](uid_t user) { return may_send(user); })) return;  // kept() goes on
  std::shared_ptr<Program> program = turns_.next();
  if (program && drain(program) == Step::kNoRoom) return no_room_.add();
  turns_.pop();
  if (program) program->queued = false;
  go_on();
}

bool Drain::may_send(uid_t user) {
  return hurries_ || shares_.may_send(user, now_monotonic_nano());
}

Drain::Step Drain::drain(const std::shared_ptr<Program>& program) {
  PoolReader& reader = program->reader();
  if (program->gone || program->read_to_end || !reader.is_ours() || reader.under_way() != reader.resumes())
    return Step::kDone;
  if (!outbox_.room(SpanEncoder::most_bytes(batch_bytes()))) return Step::kNoRoom;
  bool resumed = reader.resumes();
  Collected collected = collect(*program);
  program->final_round = hurries_ && !collected.full;
  program->fruitless_pause_nano = collected.spans > 0 ? 0 : program->fruitless_pause_nano;
  if (collected.spans > 0) {
    if (!resumed) reader.begin();
    send(program, collected);
  } else if (resumed) {
    reader.acknowledge();  // nothing in it could be sent
  } else {
    note_fruitless(*program, collected);
  }
  return Step::kDone;
}

// A third of the outbox's limit: OTLP may be five eighths longer than records, and whole chunks are read. Redacted
// records may be longer, too.
uint64_t Drain::batch_bytes() const {
  const uint64_t most = std::min(options_.batch_bytes, outbox_.most_bytes() / 3);
  return rules_of(options_.redaction) ? most / SpanRedactor::kMostGrowth : most;
}

// Made for each batch: a new connection may change the pid. It comes first: servers drop attributes from the end.
const std::string& Drain::resource_of(Program& program) {
  resource_.clear();
  append_process(resource_, {options_.node_id, program.node_pid()});
  return resource_ += program.resource();
}

Collected Drain::collect(Program& program) {
  PoolReader& reader = program.reader();
  encoder_.redact(rules_of(options_.redaction));
  encoder_.begin(reader.file().shape().clock, resource_of(program), program.last_batch_bytes + 4096,
                 program.node_tids(thread_looks_));
  FinishedSpans* finished = options_.finished_spans;
  if (finished != nullptr)
    finished->begin(program.watch_serial, program.id().uid, program.service_namespace(), program.service());
  Collected collected = collect_with(program);
  if (finished != nullptr) finished->finish();
  return collected;
}

Collected Drain::collect_with(Program& program) {
  PoolReader& reader = program.reader();
  if (reader.resumes()) {
    Collected collected = reader.collect_again(encoder_);
    collected.full = true;  // there is more behind it, likely
    return collected;
  }
  Collected collected = reader.collect(encoder_, batch_bytes(), program.ended());
  if (program.ended() && !program.note_read_after_end(collected)) losses_.endless_pools.add();
  return collected;
}

// Bytes, but no span: a thread that was stopped in the middle of a write, or a program that means ill. Looking costs
// time, so it is done less and less. Not even bytes: it cost as much as there are chunks.
void Drain::note_fruitless(Program& program, const Collected& collected) {
  if (program.ended()) return;
  uint64_t pause = program.reader().file().chunks_used() * kPausePerChunkNano;
  if (collected.read_bytes > 0) {
    pause = std::clamp(program.fruitless_pause_nano * 2, kFirstFruitlessNano, options_.longest_fruitless_nano);
    program.fruitless_pause_nano = pause;
  }
  program.pause_collecting(pause, pause);
}

// Each batch has a fixed cost for the agent and the collector, which many spans share.
void Drain::pause(Program& program, uint32_t spans) const {
  const uint64_t longest_nano = options_.batch_pause_nano;
  const uint64_t shortest_nano = std::min(options_.short_batch_pause_nano, longest_nano);
  const uint64_t pause_nano = std::clamp(spans * options_.pause_per_span_nano, shortest_nano, longest_nano);
  const bool is_short = pause_nano == shortest_nano || program.has_own_thread_ids();
  program.pause_collecting(shortest_nano, is_short ? shortest_nano : until_next(pause_nano, shortest_nano));
}

void Drain::send(const std::shared_ptr<Program>& program, const Collected& collected) {
  OutgoingBatch batch{.identity = batch_identity(options_, program->reader()),
                      .otlp = encoder_.finish(),
                      .spans = collected.spans,
                      .oldest_age_nano = encoder_.oldest_age_nano()};
  program->last_batch_bytes = batch.otlp.size();
  program->sending = true;
  if (!collected.full) pause(*program, collected.spans);
  ++under_way_;
  shares_.begin(program->id().uid, now_monotonic_nano());
  spans_.add(collected.spans);
  batches_.add();
  bytes_.add(batch.otlp.size());
  outbox_.send(std::move(batch), [this, alive = alive_, program, full = collected.full](Outcome) {
    // Kept or refused for good, which the outbox counted: either way it is not ours any more.
    if (*alive) kept(program, full);
  });
}

void Drain::kept(const std::shared_ptr<Program>& program, bool was_full) {
  --under_way_;
  shares_.end(program->id().uid);
  program->sending = false;
  if (program->gone) return go_on();
  if (program->reader().is_ours()) program->reader().acknowledge();
  bool more = hurries_ ? !program->final_round : was_full || program->ended();
  if (more) add(program);
  go_on();
}

}  // namespace fathom::agent
