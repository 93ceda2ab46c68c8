#include "node-agent/uplink/spool_thread.h"

#include <atomic>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include "base/log.h"

namespace fathom::agent {

namespace {

class SpoolThread : public SpoolPort {
 public:
  SpoolThread(boost::asio::io_context& loop, std::unique_ptr<Spool> spool) : loop_(loop), spool_(std::move(spool)) {
    note_figures();
  }
  ~SpoolThread() override {
    alive_.reset();
    thread_.join();
  }

  void append(SpoolHead head, std::shared_ptr<const std::string> otlp, bool taken,
              std::function<void(Result<uint64_t>)> done) override {
    work([this, head = std::move(head), otlp = std::move(otlp), taken, done = std::move(done)]() mutable {
      Result<uint64_t> id = spool_->append(head, *otlp, taken);
      answer([done = std::move(done), id = std::move(id)]() mutable { done(std::move(id)); });
    });
  }
  void take_next(std::function<void(Result<std::optional<SpooledBatch>>)> done) override {
    work([this, done = std::move(done)]() mutable {
      auto batch = std::make_shared<Result<std::optional<SpooledBatch>>>(spool_->take_next());
      answer([done = std::move(done), batch] { done(std::move(*batch)); });
    });
  }
  void release(uint64_t id) override {
    work([this, id] { spool_->release(id); });
  }
  void remove(uint64_t id) override {
    work([this, id] { spool_->remove(id); });
  }
  void set_limit(uint64_t bytes) override {
    work([this, bytes] { spool_->set_limit(bytes); });
  }
  // Once at a time: while the disk stands still, calls come and none ends.
  void tend() override {
    if (tending_.exchange(true)) return;
    work([this] {
      spool_->tend();
      tending_ = false;
    });
  }
  Figures figures() const override { return {bytes_.load(), damaged_spans_.load()}; }

 private:
  template <typename Work>
  void work(Work work) {
    boost::asio::post(thread_, [this, work = std::move(work)]() mutable {
      work();
      note_figures();
    });
  }
  // Unless the port is gone by then.
  template <typename Answer>
  void answer(Answer answer) {
    note_figures();
    boost::asio::post(loop_, [alive = std::weak_ptr<int>(watched_), answer = std::move(answer)]() mutable {
      if (alive.lock()) answer();
    });
  }
  void note_figures() {
    bytes_.store(spool_->bytes());
    damaged_spans_.store(spool_->damaged_spans());
  }

  boost::asio::io_context& loop_;
  std::unique_ptr<Spool> spool_;
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> damaged_spans_{0};
  std::atomic<bool> tending_{false};
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  const std::weak_ptr<int> watched_ = alive_;  // read by the thread, while only the loop lets go of alive_
  boost::asio::thread_pool thread_{1};
};

}  // namespace

Result<std::unique_ptr<SpoolPort>> open_spool(boost::asio::io_context& loop, SpoolOptions options) {
  Result<std::unique_ptr<Spool>> spool = Spool::open(std::move(options));
  if (!spool) return spool.error();
  if (uint64_t left = (*spool)->waiting(); left > 0) {
    log_info(std::to_string(left) + " batches of an earlier run wait in the spool");
  }
  return std::unique_ptr<SpoolPort>(std::make_unique<SpoolThread>(loop, *std::move(spool)));
}

}  // namespace fathom::agent
