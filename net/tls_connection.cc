#include "net/tls_connection.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "base/fd.h"
#include "net/address.h"
#include "net/certificates.h"
#include "net/quick_ack.h"

namespace fathom::net {

namespace asio = boost::asio;
namespace ssl = boost::asio::ssl;
using asio::ip::tcp;

namespace {

constexpr uint8_t kHandshakeRecord = 0x16;  // how every connection of TLS begins
constexpr std::string_view kHttp2Preface = "PRI * HT";
constexpr std::string_view kSpeaksTls = "this port speaks TLS";
// What gRPC's and Node's clients do without a word when they do not trust us.
constexpr std::string_view kCutOffWithin =
    "it cut the connection off within the handshake; does it trust the CA of our certificate, and know us by its "
    "names?";

std::string http_farewell() {
  const std::string body = "{\"error\":{\"code\":\"invalid\",\"message\":\"" + std::string(kSpeaksTls) +
                           ": write https:// instead of http://\"}}\n";
  return "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

// An empty SETTINGS, then GOAWAY with words for its debug data: gRPC and others show them.
std::string http2_farewell() {
  const std::string words(kSpeaksTls);
  std::string out("\0\0\0\4\0\0\0\0\0", 9);
  out += std::string("\0\0", 2) + static_cast<char>(8 + words.size()) + std::string("\7\0\0\0\0\0", 6);
  return out + std::string("\0\0\0\0\0\0\0\1", 8) + words;  // no stream; PROTOCOL_ERROR
}

bool looks_like_http(std::string_view first) {
  return !first.empty() && first.front() >= 'A' && first.front() <= 'Z';
}

}  // namespace

TlsConnection::TlsConnection(TlsFront::Impl& front, tcp::socket socket)
    : front_(front),
      context_(front.tls->context()),
      stream_(std::move(socket), *context_),
      inner_(stream_.get_executor()),
      timer_(stream_.get_executor()) {}

void TlsConnection::start() {
  asio::post(stream_.get_executor(), [self = shared_from_this()] { self->begin(); });
}

void TlsConnection::abort() {
  asio::post(stream_.get_executor(), [self = shared_from_this()] { self->close(); });
}

void TlsConnection::look_at_certificate() {
  asio::post(stream_.get_executor(), [self = shared_from_this()] {
    const bool relays = !self->closed_ && self->inner_.is_open();  // else it is looked at before it does
    if (relays && !self->is_trusted()) self->close();
  });
}

void TlsConnection::begin() {
  Fault fault;
  const tcp::endpoint peer = stream_.next_layer().remote_endpoint(fault);
  if (!fault) peer_ = endpoint_text(peer);
  set_deadline(front_.options.handshake_timeout_nano, TlsRefusal::kTimeout, "no handshake came in time");
  stream_.next_layer().async_wait(tcp::socket::wait_read, [self = shared_from_this()](const Fault& waited) {
    if (self->closed_) return;
    if (waited) return self->close();
    self->look_at_first_bytes();
  });
}

void TlsConnection::look_at_first_bytes() {
  char first[kHttp2Preface.size()];
  const ssize_t bytes = ::recv(stream_.next_layer().native_handle(), first, sizeof first, MSG_PEEK | MSG_DONTWAIT);
  if (bytes == 0) return close();  // whoever only looks whether the port is open
  if (bytes < 0) return refuse(TlsRefusal::kCutOff, "the connection was cut off");
  if (static_cast<uint8_t>(first[0]) == kHandshakeRecord) return shake_hands();
  tell_plain_speaker({first, static_cast<size_t>(bytes)});
}

void TlsConnection::tell_plain_speaker(std::string_view first) {
  if (kHttp2Preface.starts_with(first)) {
    farewell_ = http2_farewell();
  } else if (looks_like_http(first)) {
    farewell_ = http_farewell();
  }
  front_.refused(TlsRefusal::kNotTls, peer_, "it speaks no TLS");
  asio::async_write(stream_.next_layer(), asio::buffer(farewell_),
                    [self = shared_from_this()](const Fault&, size_t) { self->linger(); });
}

void TlsConnection::shake_hands() {
  accept_protocol(stream_.native_handle(), front_.options.protocol);
  Fault ignored;
  stream_.set_verify_callback(
      [this](bool fine, ssl::verify_context& store) {
        if (!fine) certificate_fault_ = certificate_fault(store.native_handle());
        return fine;
      },
      ignored);
  stream_.async_handshake(ssl::stream_base::server, [self = shared_from_this()](const Fault& fault) {
    if (self->closed_) return;
    self->clear_deadline();
    self->on_shaken(fault);
  });
}

void TlsConnection::on_shaken(const Fault& fault) {
  if (!fault) return relay();
  const TlsRefusal reason = reason_of(fault);
  const std::string why =
      reason == TlsRefusal::kCutOff          ? std::string(kCutOffWithin)
      : reason == TlsRefusal::kCertificate   ? "its certificate: " + certificate_fault_
      : reason == TlsRefusal::kNoCertificate ? "it shows no certificate, and one of the client CA is asked for"
      : reason == TlsRefusal::kPeerRefused   ? "it does not accept our certificate: " + fault.message()
                                             : fault.message();
  refuse(reason, why);
}

TlsRefusal TlsConnection::reason_of(const Fault& fault) const {
  if (!certificate_fault_.empty()) return TlsRefusal::kCertificate;
  if (fault.category() != asio::error::get_ssl_category()) return TlsRefusal::kCutOff;
  switch (ERR_GET_REASON(static_cast<unsigned long>(fault.value()))) {
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return TlsRefusal::kNoCertificate;
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
      return TlsRefusal::kPeerRefused;
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_NO_SHARED_CIPHER:
    case SSL_R_VERSION_TOO_LOW:
      return TlsRefusal::kVersion;
    default:
      return TlsRefusal::kMalformed;
  }
}

void TlsConnection::refuse(TlsRefusal reason, const std::string& why) {
  front_.refused(reason, peer_, why);
  linger();
}

void TlsConnection::linger() {
  if (closed_) return;
  Fault ignored;
  stream_.next_layer().shutdown(tcp::socket::shutdown_send, ignored);
  end_in_time();
  discard();
}

void TlsConnection::discard() {
  stream_.next_layer().async_read_some(asio::buffer(from_peer_),
                                       [self = shared_from_this()](const Fault& fault, size_t) {
                                         if (self->closed_) return;
                                         fault ? self->close() : self->discard();
                                       });
}

void TlsConnection::end_in_time() {
  if (std::exchange(ending_, true)) return;
  timer_.expires_after(std::chrono::nanoseconds(front_.options.end_timeout_nano));
  timer_.async_wait([self = shared_from_this()](const Fault& fault) {
    if (!fault) self->close();
  });
}

// By what is asked for now, which may be more than when its handshake began.
bool TlsConnection::is_trusted() {
  const auto now = front_.tls->context();
  if (now == context_) return true;
  const std::optional<std::string> fault = peer_fault(stream_.native_handle(), now->native_handle());
  if (fault) front_.refused(TlsRefusal::kCertificate, peer_, "its certificate: " + *fault);
  return !fault;
}

void TlsConnection::relay() {
  if (!is_trusted()) return close();
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    front_.refused(TlsRefusal::kAcceptFailed, peer_, "there is no file descriptor for it");
    return close();
  }
  Fd theirs(ends[1]);
  Fault fault;
  inner_.assign(asio::local::stream_protocol(), ends[0], fault);
  if (fault) {
    ::close(ends[0]);
    return close();
  }
  if (!front_.deliver(std::move(theirs), peer_)) return close();
  read_peer();
  read_inner();
}

void TlsConnection::read_peer() {
  acknowledge_at_once(stream_.next_layer());
  stream_.async_read_some(asio::buffer(from_peer_), [self = shared_from_this()](const Fault& fault, size_t bytes) {
    if (self->closed_) return;
    if (fault) return self->on_peer_ended();
    asio::async_write(self->inner_, asio::buffer(self->from_peer_, bytes), [self](const Fault& written, size_t) {
      if (self->closed_ || written) return;  // read_inner() sees the end, too
      self->read_peer();
    });
  });
}

// What is within decides what becomes of its answer.
void TlsConnection::on_peer_ended() {
  Fault ignored;
  inner_.shutdown(asio::local::stream_protocol::socket::shutdown_send, ignored);
}

void TlsConnection::read_inner() {
  inner_.async_read_some(asio::buffer(from_inner_), [self = shared_from_this()](const Fault& fault, size_t bytes) {
    if (self->closed_) return;
    fault ? self->end_peer() : self->write_peer(bytes);
  });
}

void TlsConnection::write_peer(size_t bytes) {
  set_deadline(front_.options.write_stall_nano, TlsRefusal::kReaderTooSlow, "it does not read");
  asio::async_write(stream_, asio::buffer(from_inner_, bytes), [self = shared_from_this()](const Fault& fault, size_t) {
    if (self->closed_) return;
    self->clear_deadline();
    fault ? self->close() : self->read_inner();
  });
}

// The peer may still send what nobody wants any more, which must not become a reset before it has read its answer.
void TlsConnection::end_peer() {
  end_in_time();
  stream_.async_shutdown([self = shared_from_this()](const Fault&) { self->linger(); });
}

void TlsConnection::set_deadline(uint64_t nano, TlsRefusal reason, const char* why) {
  armed_ = true;
  timer_.expires_after(std::chrono::nanoseconds(nano));
  timer_.async_wait([self = shared_from_this(), reason, why](const Fault& fault) {
    if (fault || self->closed_ || !self->armed_) return;
    self->front_.refused(reason, self->peer_, why);
    self->close();
  });
}

void TlsConnection::clear_deadline() {
  armed_ = false;
  timer_.cancel();
}

void TlsConnection::close() {
  if (closed_) return;
  closed_ = true;
  Fault ignored;
  timer_.cancel();
  inner_.close(ignored);
  stream_.next_layer().close(ignored);
  front_.remove(this);
}

}  // namespace fathom::net
