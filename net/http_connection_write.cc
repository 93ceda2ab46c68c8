// The answering half of HttpConnection: answers, deadlines, the end.
#include <boost/asio/post.hpp>

#include "net/http_connection.h"

namespace fathom::net {

namespace asio = boost::asio;

namespace {

constexpr auto kLingerTime = std::chrono::seconds(5);
constexpr size_t kKeptBufferBytes = 16 * 1024;

// What a handler's respond() calls. It may outlive connection and server, so it only knows them weakly; the server is
// locked first and released last, because a connection's socket needs the server's io_context.
class Responder {
 public:
  Responder(std::weak_ptr<HttpServer::Impl> server, std::weak_ptr<HttpConnection> connection, std::string_view type)
      : server_(std::move(server)), connection_(std::move(connection)), content_type_(type) {}
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;
  ~Responder() {
    if (answered_.load()) return;
    if (auto server = server_.lock()) answer(server->handler->error(500, "the request was dropped", content_type_));
  }

  void answer(HttpResponse response) {
    if (answered_.exchange(true)) return;
    auto server = server_.lock();
    if (!server) return;
    auto connection = connection_.lock();
    if (!connection) return;
    Reservation memory = server->reserve(response, content_type_);
    connection->answer(std::move(response), std::move(memory));
  }

 private:
  const std::weak_ptr<HttpServer::Impl> server_;
  const std::weak_ptr<HttpConnection> connection_;
  const std::string content_type_;  // of the request
  std::atomic<bool> answered_{false};
};

}  // namespace

HttpRespond HttpConnection::responder() {
  auto shared =
      std::make_shared<Responder>(server_.weak_from_this(), weak_from_this(), request_.header("content-type"));
  return [shared](HttpResponse response) { shared->answer(std::move(response)); };
}

void HttpConnection::answer(HttpResponse response, Reservation memory) {
  asio::post(socket_.get_executor(),
             [self = shared_from_this(), response = std::move(response), memory = std::move(memory)]() mutable {
               if (self->state_ != State::kHandling) return;
               self->out_memory_ = std::move(memory);
               self->begin_write(std::move(response), self->wants_keep_alive_);
               self->advance();
             });
}

bool HttpConnection::refuse(Refusal reason, int status, std::string_view message) {
  server_.metrics.refused(reason);
  std::string_view rest(static_cast<const char*>(buffer_.data().data()), buffer_.size());
  std::string type = content_type_of(parser_->get(), parser_->is_header_done() ? std::string_view() : rest);
  begin_write(refusal_response(*server_.handler, status, message, type), false);
  return true;
}

bool HttpConnection::explain(Refusal reason, int status, std::string_view message) {
  server_.metrics.refused(reason);
  HttpResponse response = server_.handler->explain(request_, status, message);
  add_retry_after(response);
  begin_write(std::move(response), false);
  return true;
}

void HttpConnection::begin_write(HttpResponse response, bool keep_alive) {
  state_ = State::kWriting;
  request_ = HttpRequest{};
  parser_.reset();
  close_after_write_ = !keep_alive || drain_ || peer_done_ || (response.rest && !takes_chunks_);
  server_.metrics.answered(response.status);
  out_head_ = render_head(response, !close_after_write_, takes_chunks_);
  out_rest_source_ = head_only_ ? nullptr : std::move(response.rest);
  out_body_ = head_only_ ? std::string() : std::move(response.body);
  if (out_rest_source_ && takes_chunks_) out_body_ = chunk_of({std::move(out_body_), false});
  out_rest_ = boost::beast::buffers_suffix<std::array<asio::const_buffer, 2>>(
      std::array<asio::const_buffer, 2>{asio::buffer(out_head_), asio::buffer(out_body_)});
  out_written_ = 0;
  phase_start_ = Clock::now();
  if (!continue_pending_) write_more();
}

void HttpConnection::write_more() {
  set_pace(out_written_);
  socket_.async_write_some(out_rest_, [self = shared_from_this()](boost::system::error_code fault, size_t bytes) {
    self->on_written(fault, bytes);
  });
}

void HttpConnection::on_written(boost::system::error_code fault, size_t bytes) {
  if (state_ == State::kClosed) return;
  if (fault) return close();
  out_rest_.consume(bytes);
  out_written_ += bytes;
  if (asio::buffer_size(out_rest_) > 0) return write_more();
  if (out_rest_source_) return ask_for_rest();
  finish_write();
  advance();
}

// The source may answer after the connection and the server are destroyed. It holds weak references to both, as a
// Responder does.
void HttpConnection::ask_for_rest() {
  asked_at_ = Clock::now();
  set_deadline(Clock::time_point::max());
  out_rest_source_->next(
      [server = server_.weak_from_this(), self = weak_from_this()](std::optional<BodyPiece> piece) mutable {
        const auto alive = server.lock();
        if (!alive) return;
        if (auto connection = self.lock()) connection->rest(std::move(piece));
      });
}

void HttpConnection::rest(std::optional<BodyPiece> piece) {
  asio::post(socket_.get_executor(),
             [self = shared_from_this(), piece = std::move(piece)]() mutable { self->on_rest(std::move(piece)); });
}

void HttpConnection::on_rest(std::optional<BodyPiece> piece) {
  if (state_ != State::kWriting || !out_rest_source_) return;
  if (!piece) return close();
  if (piece->is_last) out_rest_source_.reset();
  phase_start_ += Clock::now() - asked_at_;  // the peer's pace does not count while it waited for us
  write(takes_chunks_ ? chunk_of(*piece) : std::move(piece->bytes));
}

void HttpConnection::write(std::string bytes) {
  out_head_.clear();
  out_body_ = std::move(bytes);
  out_rest_ = boost::beast::buffers_suffix<std::array<asio::const_buffer, 2>>(
      std::array<asio::const_buffer, 2>{asio::buffer(out_head_), asio::buffer(out_body_)});
  write_more();
}

void HttpConnection::finish_write() {
  out_head_.clear();
  std::string().swap(out_body_);
  out_memory_.release();
  cancel_.reset();
  out_rest_source_.reset();
  head_only_ = false;
  if (!close_after_write_) return next_request();
  boost::system::error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  state_ = State::kLinger;
  lingered_ = 0;
  set_deadline(Clock::now() + kLingerTime);
}

void HttpConnection::next_request() {
  state_ = State::kIdle;
  if (buffer_.size() == 0 && buffer_.capacity() > kKeptBufferBytes) buffer_.shrink_to_fit();
  set_deadline(Clock::now() + std::chrono::nanoseconds(server_.options.idle_timeout_nano));
}

void HttpConnection::close() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  if (cancel_) cancel_->raise();
  boost::system::error_code ignored;
  socket_.close(ignored);
  timer_.cancel();
  parser_.reset();
  request_ = HttpRequest{};
  out_rest_source_.reset();
  server_.remove(this);
}

// One wait is outstanding at a time. A deadline that moves away is noticed when the old one passes, so that a transfer
// does not touch the timer at every read.
void HttpConnection::set_deadline(Clock::time_point deadline) {
  deadline_ = deadline;
  if (deadline_ < armed_) watch_deadline();
}

void HttpConnection::set_pace(uint64_t bytes_written) {
  set_deadline(phase_start_ + std::chrono::nanoseconds(body_allowance_nano(server_.options, bytes_written)));
}

void HttpConnection::set_body_pace(uint64_t bytes_read) {
  auto paced = phase_start_ + std::chrono::nanoseconds(body_allowance_nano(server_.options, bytes_read));
  set_deadline(std::min(paced, Clock::now() + std::chrono::nanoseconds(server_.options.body_stall_timeout_nano)));
}

void HttpConnection::watch_deadline() {
  armed_ = deadline_;
  timer_.expires_at(armed_);
  timer_.async_wait([self = shared_from_this()](boost::system::error_code fault) {
    if (fault || self->state_ == State::kClosed) return;
    self->armed_ = Clock::time_point::max();
    if (Clock::now() >= self->deadline_) return self->on_deadline();
    if (self->deadline_ != Clock::time_point::max()) self->watch_deadline();
  });
}

void HttpConnection::on_deadline() {
  deadline_ = Clock::time_point::max();
  if (state_ == State::kHandling) {
    cancel_->raise();
  } else if (state_ == State::kHeader) {
    refuse(Refusal::kHeaderTimeout, 408, "the header did not come in time");
  } else if (state_ == State::kBody) {
    explain(Refusal::kBodyTimeout, 408, "the body did not come in time");
  } else {
    if (state_ == State::kWriting) server_.metrics.refused(Refusal::kReaderTooSlow);
    return close();
  }
  advance();
}

}  // namespace fathom::net
