// HttpConnection: one peer of an HttpServer, from accept to close. Internal to net/.
//
// Purpose: a small state machine around one socket: wait, read a header, show it, read a body at a minimum pace, wait
// for the answer (watching for the peer to go away), write it at a minimum pace, begin again or linger and close.
// Thread safety: everything but responder answers runs on the connection's strand. Ownership: the server's registry
// holds open connections; answers hold weak references, so that a late one finds nobody and does nothing.
// Source of the idea: lingering close (RFC 9112, 9.6), so that a refusal is read before the reset of an unread body.
#pragma once

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/buffers_suffix.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/growing_body.h"
#include "net/http_server.h"
#include "net/http_server_impl.h"
#include "net/http_text.h"

namespace fathom::net {

class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(HttpServer::Impl& server, boost::asio::ip::tcp::socket socket, std::string peer);

  void start();                            // from any thread
  void begin_drain();                      // from any thread: finish what is under way, then close
  void abort();                            // from any thread: close now
  void answer(HttpResponse, Reservation);  // from any thread: the handler's answer, and its memory
  void rest(std::optional<BodyPiece>);     // from any thread: the next piece of it

 private:
  using Clock = std::chrono::steady_clock;
  using Parser = boost::beast::http::request_parser<GrowingBody>;
  enum class State { kIdle, kHeader, kBody, kHandling, kWriting, kLinger, kClosed };

  // Reading (http_connection.cc).
  void advance();  // does what the buffered bytes allow, then reads more
  bool step();     // one step of it; true while there may be another
  void skip_empty_lines();
  bool begin_request();
  bool parse_header();
  bool on_header();
  bool is_for_us();
  bool is_let_in();
  bool name_token_file();
  std::string challenge() const;
  bool admit();
  bool expect_continue();
  bool parse_body();
  bool grant_body();
  bool on_body();
  bool linger();
  void read_more();
  size_t read_size() const;
  bool in_request() const { return state_ == State::kHeader || state_ == State::kBody; }
  bool is_answering() const { return state_ == State::kHandling || state_ == State::kWriting; }
  void on_read(boost::system::error_code fault, size_t bytes);
  void on_peer_gone(boost::system::error_code fault);
  void end_of_input();  // the peer sends nothing more

  // Answering (http_connection_write.cc).
  HttpRespond responder();
  // Before the handler has admitted the request, and afterwards.
  bool refuse(Refusal reason, int status, std::string_view message);
  bool explain(Refusal reason, int status, std::string_view message);
  void begin_write(HttpResponse response, bool keep_alive);
  void write_more();
  void write(std::string bytes);
  void ask_for_rest();
  void on_rest(std::optional<BodyPiece> piece);
  void on_written(boost::system::error_code fault, size_t bytes);
  void finish_write();
  void next_request();
  void close();

  // Time (http_connection_write.cc).
  void set_deadline(Clock::time_point deadline);
  // Of a transfer that began at phase_start_:
  void set_pace(uint64_t bytes_written);
  void set_body_pace(uint64_t bytes_read);
  void watch_deadline();
  void on_deadline();

  HttpServer::Impl& server_;
  const std::string peer_;  // "HOST:PORT", for the log
  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer timer_;
  Clock::time_point deadline_ = Clock::time_point::max();
  Clock::time_point armed_ = Clock::time_point::max();
  Clock::time_point phase_start_;

  State state_ = State::kIdle;
  bool reading_ = false;
  bool continue_pending_ = false;  // "100 Continue" is being written
  bool peer_done_ = false;         // its side of the connection is closed
  bool drain_ = false;
  std::vector<char> chunk_;  // where a read lands; apart from buffer_, which is parsed while a read is under way
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  HttpRequest request_;
  std::shared_ptr<CancelSignal> cancel_;  // of the request that is being handled
  uint64_t granted_body_ = 0;
  uint64_t lingered_ = 0;
  bool head_only_ = false;
  bool wants_keep_alive_ = false;

  std::string out_head_;
  std::string out_body_;
  Reservation out_memory_;
  std::shared_ptr<BodySource> out_rest_source_;
  bool takes_chunks_ = true;  // of the request at hand
  Clock::time_point asked_at_;
  boost::beast::buffers_suffix<std::array<boost::asio::const_buffer, 2>> out_rest_;
  uint64_t out_written_ = 0;
  bool close_after_write_ = false;
};

}  // namespace fathom::net
