// BodySink: where the bytes of a capture's body go, one piece behind the other.
//
// Thread safety: none. Ownership: of nothing that is handed over. Errors: none.
#pragma once

#include <string>
#include <string_view>

namespace fathom::capture {

class BodySink {
 public:
  BodySink() = default;
  BodySink(const BodySink&) = delete;
  BodySink& operator=(const BodySink&) = delete;
  virtual ~BodySink() = default;
  virtual void append(std::string_view bytes) = 0;
};

// As it is, for whoever wants to look into it.
class PlainBody : public BodySink {
 public:
  void append(std::string_view bytes) override { bytes_.append(bytes); }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

}  // namespace fathom::capture
