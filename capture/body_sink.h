// BodySink: where the bytes of a capture's body go, one piece behind the other.
//
// Thread safety: none. Ownership: of nothing that is handed over. Errors: none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace fathom::capture {

class BodySink {
 public:
  BodySink() = default;
  BodySink(const BodySink&) = delete;
  BodySink& operator=(const BodySink&) = delete;
  virtual ~BodySink() = default;

  void append(std::string_view bytes) {
    bytes_ += bytes.size();
    take(bytes);
  }
  uint64_t bytes() const { return bytes_; }  // so far

 private:
  virtual void take(std::string_view bytes) = 0;

  uint64_t bytes_ = 0;
};

// As it is, for whoever wants to look into it.
class PlainBody : public BodySink {
 public:
  std::string release() { return std::move(body_); }

 private:
  void take(std::string_view bytes) override { body_.append(bytes); }

  std::string body_;
};

}  // namespace fathom::capture
