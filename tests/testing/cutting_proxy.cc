#include "tests/testing/cutting_proxy.h"

#include <array>
#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include <boost/asio.hpp>

namespace fathom::testing {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

tcp::endpoint endpoint_of(const std::string& address) {
  size_t colon = address.rfind(':');
  return {asio::ip::make_address(address.substr(0, colon)),
          static_cast<uint16_t>(std::stoul(address.substr(colon + 1)))};
}

class Connection;

struct Shared {
  std::atomic<uint64_t> cut_after{0};
  std::atomic<bool> held{false};
  std::atomic<uint64_t> connections{0};
  std::mutex mutex;
  std::string target;
  std::set<std::shared_ptr<Connection>> open;  // the proxy's thread only
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Shared& shared, tcp::socket client, asio::io_context& loop)
      : shared_(shared), client_(std::move(client)), server_(loop), timer_(loop), left_(shared.cut_after.load()) {}

  void start(const std::string& target) {
    server_.async_connect(endpoint_of(target), [self = shared_from_this()](error_code error) {
      if (error) return self->close();
      self->limited_ = self->left_ > 0;
      self->pump(self->client_, self->server_, self->up_);
      self->pump(self->server_, self->client_, self->down_);
    });
  }
  void close() {
    error_code ignored;
    client_.close(ignored);
    server_.close(ignored);
    timer_.cancel();
    shared_.open.erase(shared_from_this());
  }

 private:
  using Buffer = std::array<char, 16 * 1024>;

  void pump(tcp::socket& from, tcp::socket& to, Buffer& buffer) {
    from.async_read_some(asio::buffer(buffer), [&, self = shared_from_this()](error_code error, size_t size) {
      if (error) return self->close();
      self->pass(from, to, buffer, size);
    });
  }
  void pass(tcp::socket& from, tcp::socket& to, Buffer& buffer, size_t size) {
    if (!client_.is_open()) return;
    if (shared_.held) return wait_and_pass(from, to, buffer, size);
    if (limited_ && left_ <= size) return close();
    left_ -= limited_ ? size : 0;
    asio::async_write(to, asio::buffer(buffer.data(), size), [&, self = shared_from_this()](error_code error, size_t) {
      if (error) return self->close();
      self->pump(from, to, buffer);
    });
  }
  void wait_and_pass(tcp::socket& from, tcp::socket& to, Buffer& buffer, size_t size) {
    auto timer = std::make_shared<asio::steady_timer>(timer_.get_executor(), std::chrono::milliseconds(5));
    timer->async_wait([&, timer, size, self = shared_from_this()](error_code) { self->pass(from, to, buffer, size); });
  }

  Shared& shared_;
  tcp::socket client_, server_;
  asio::steady_timer timer_;
  Buffer up_, down_;
  uint64_t left_;
  bool limited_ = false;
};

}  // namespace

struct CuttingProxy::Impl {
  Impl() : acceptor(loop, tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {
    accept();
    thread = std::thread([this] { loop.run(); });
  }
  ~Impl() {
    loop.stop();
    thread.join();
  }

  void accept() {
    acceptor.async_accept([this](error_code error, tcp::socket client) {
      if (error) return;
      ++shared.connections;
      auto connection = std::make_shared<Connection>(shared, std::move(client), loop);
      shared.open.insert(connection);
      std::string target;
      {
        std::lock_guard lock(shared.mutex);
        target = shared.target;
      }
      connection->start(target);
      accept();
    });
  }
  void cut_all() {
    asio::post(loop, [this] {
      auto open = shared.open;
      for (const auto& connection : open) connection->close();
    });
  }

  asio::io_context loop;
  Shared shared;
  tcp::acceptor acceptor;
  std::thread thread;
};

CuttingProxy::CuttingProxy() : impl_(std::make_unique<Impl>()) {}
CuttingProxy::~CuttingProxy() = default;

std::string CuttingProxy::address() const {
  return "127.0.0.1:" + std::to_string(impl_->acceptor.local_endpoint().port());
}
void CuttingProxy::lead_to(const std::string& target) {
  std::lock_guard lock(impl_->shared.mutex);
  impl_->shared.target = target;
}
void CuttingProxy::cut_after(uint64_t bytes) {
  impl_->shared.cut_after = bytes;
}
void CuttingProxy::cut_all() {
  impl_->cut_all();
}
void CuttingProxy::hold(bool held) {
  impl_->shared.held = held;
}
uint64_t CuttingProxy::connections() const {
  return impl_->shared.connections;
}

}  // namespace fathom::testing
