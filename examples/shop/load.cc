#include "load.h"

#include <fathom/grpc.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <utility>
#include <vector>

#include "flags.h"
#include "parts.h"
#include "service.h"
#include "shop.grpc.pb.h"

namespace shop {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kDeadline = std::chrono::seconds(10);
constexpr std::array<const char*, 5> kWords = {"red", "lamp", "blue chair", "clock 3", "nothing at all"};

// Names of the codes that the shop answers with.
std::string code_name(::grpc::StatusCode code) {
  switch (code) {
    case ::grpc::StatusCode::OK:
      return "OK";
    case ::grpc::StatusCode::NOT_FOUND:
      return "NOT_FOUND";
    case ::grpc::StatusCode::FAILED_PRECONDITION:
      return "FAILED_PRECONDITION";
    case ::grpc::StatusCode::PERMISSION_DENIED:
      return "PERMISSION_DENIED";
    case ::grpc::StatusCode::DATA_LOSS:
      return "DATA_LOSS";
    default:
      return "code " + std::to_string(code);
  }
}

bool belongs_to_the_shop(::grpc::StatusCode code) {
  return code_name(code).front() != 'c';
}

// What became of the requests so far, and how many are under way.
class Ledger {
 public:
  void started() {
    std::lock_guard lock(mutex_);
    ++under_way_;
  }
  void ended(Clock::duration took, ::grpc::StatusCode code) {
    std::lock_guard lock(mutex_);
    took_ms_.push_back(std::chrono::duration<double, std::milli>(took).count());
    ++codes_[code];
    if (--under_way_ == 0) none_left_.notify_all();
  }
  LoadOutcome wait() {
    std::unique_lock lock(mutex_);
    none_left_.wait(lock, [this] { return under_way_ == 0; });
    return {json(), failed()};
  }

 private:
  uint64_t failed() const {
    uint64_t count = 0;
    for (auto [code, times] : codes_) count += belongs_to_the_shop(code) ? 0 : times;
    return count;
  }
  std::string milliseconds(double share) {
    if (took_ms_.empty()) return "0";
    size_t rank = std::min(took_ms_.size() - 1, static_cast<size_t>(share * static_cast<double>(took_ms_.size())));
    std::nth_element(took_ms_.begin(), took_ms_.begin() + static_cast<ptrdiff_t>(rank), took_ms_.end());
    char text[32];
    std::snprintf(text, sizeof text, "%.3f", took_ms_[rank]);
    return text;
  }
  std::string json() {
    std::string statuses;
    for (auto [code, times] : codes_) {
      statuses += (statuses.empty() ? "\"" : ",\"") + code_name(code) + "\":" + std::to_string(times);
    }
    return "{\"requests\":" + std::to_string(took_ms_.size()) + ",\"failed\":" + std::to_string(failed()) +
           ",\"statuses\":{" + statuses + "},\"milliseconds\":{\"p50\":" + milliseconds(0.5) +
           ",\"p99\":" + milliseconds(0.99) + ",\"max\":" + milliseconds(1) + "}}";
  }

  std::mutex mutex_;
  std::condition_variable none_left_;
  uint64_t under_way_ = 0;
  std::vector<double> took_ms_;
  std::map<::grpc::StatusCode, uint64_t> codes_;
};

// One customer's request, from its due time to its answer.
template <typename Request, typename Reply>
struct Visit {
  Visit(const char* name, Clock::time_point due_time) : due(due_time), span(name) {
    auto late = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - due);
    span.set("load.late_us", late.count());
  }
  const Clock::time_point due;
  fathom::DetachedSpan span;  // the root of the trace
  ::grpc::ClientContext context;
  Request request;
  Reply reply;
};

class Load {
 public:
  explicit Load(const LoadOptions& options)
      : options_(options), random_(options.seed), gateway_(Gateway::NewStub(connect(options.gateway))) {}

  LoadOutcome run() {
    const Clock::time_point begin = Clock::now();
    const auto length = std::chrono::duration<double>(options_.seconds);
    Clock::time_point due = begin;
    while (true) {
      due += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(gap_(random_) / options_.rate));
      if (options_.seconds > 0 && due - begin >= length) break;
      if (wait_until(due)) break;
      start_one(due);
    }
    return ledger_.wait();
  }

 private:
  // Never too early: latencies count from the due time.
  bool wait_until(Clock::time_point due) {
    do {
      auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(due - Clock::now()).count();
      if (options_.pause(std::max<int64_t>(left, 0))) return true;
    } while (Clock::now() < due);
    return false;
  }

  uint64_t below(uint64_t bound) { return random_() % bound; }
  std::string customer() { return "c" + std::to_string(below(50)); }
  // A few are wanted often; three do not exist.
  uint32_t item() {
    double skewed = std::pow(std::uniform_real_distribution<double>()(random_), 3);
    if (below(1000) < 3) return UINT32_MAX - static_cast<uint32_t>(below(3));
    return static_cast<uint32_t>(skewed * options_.items);
  }

  void start_one(Clock::time_point due) {
    uint64_t dice = below(100);
    if (dice < 60) return show(due);
    if (dice < 85) return order(due);
    search(due);
  }

  void show(Clock::time_point due) {
    auto visit = std::make_shared<Visit<ItemRequest, Product>>("look at an item", due);
    visit->request.set_customer(customer());
    visit->request.set_item(item());
    visit->span.set("shop.item", visit->request.item());
    send(visit, [this](auto&... arguments) { gateway_->async()->Show(arguments...); });
  }
  void order(Clock::time_point due) {
    auto visit = std::make_shared<Visit<OrderRequest, OrderReply>>("buy an item", due);
    visit->request.set_customer(customer());
    visit->request.set_item(item());
    visit->request.set_quantity(static_cast<uint32_t>(1 + below(3)));
    visit->span.set("shop.item", visit->request.item()).set("shop.quantity", visit->request.quantity());
    send(visit, [this](auto&... arguments) { gateway_->async()->Order(arguments...); });
  }
  void search(Clock::time_point due) {
    auto visit = std::make_shared<Visit<SearchRequest, SearchReply>>("search", due);
    visit->request.set_customer(customer());
    visit->request.set_words(kWords[below(kWords.size())]);
    visit->request.set_most(10);
    send(visit, [this](auto&... arguments) { gateway_->async()->Search(arguments...); });
  }

  template <typename AVisit, typename Call>
  void send(const std::shared_ptr<AVisit>& visit, const Call& call) {
    ledger_.started();
    visit->span.set("shop.customer", visit->request.customer());
    visit->context.set_deadline(std::chrono::system_clock::now() + kDeadline);
    fathom::grpc::set_parent(visit->context, visit->span.context());
    auto* context = &visit->context;
    auto* request = &visit->request;
    auto* reply = &visit->reply;
    std::function<void(::grpc::Status)> done = [this, visit = visit](const ::grpc::Status& status) mutable {
      if (!status.ok()) visit->span.error(status.error_message());
      visit->span.end();
      const Clock::duration took = Clock::now() - visit->due;
      // Its context holds the channel, which gRPC's own threads must not be the last to let go of.
      visit.reset();
      ledger_.ended(took, status.error_code());
    };
    call(context, request, reply, done);
  }

  const LoadOptions& options_;
  std::mt19937_64 random_;
  std::exponential_distribution<double> gap_;
  std::unique_ptr<Gateway::Stub> gateway_;
  Ledger ledger_;
};

}  // namespace

LoadOutcome run_load(const LoadOptions& options) {
  return Load(options).run();
}

int run_load(const std::vector<std::string>& words) {
  Flags flags(words, {{"--gateway", "127.0.0.1:7101"}, {"--seconds", "20"}, {"--rate", "100"}, {"--seed", "1"}});
  hold_signals();
  name_program("load");
  LoadOptions options;
  options.gateway = flags.text("--gateway");
  options.seconds = static_cast<double>(flags.number("--seconds"));
  options.rate = static_cast<double>(std::max<uint64_t>(flags.number("--rate"), 1));
  options.seed = flags.number("--seed");
  options.pause = wait_for_stop;
  LoadOutcome outcome = run_load(options);
  std::printf("%s\n", outcome.json.c_str());
  let_spans_be_taken();
  return outcome.failed == 0 ? 0 : 1;
}

}  // namespace shop
