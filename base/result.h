// Result<T>: the one way in which a fault of the world (network, disk, input) is reported.
//
// Purpose: a value or an Error, never an exception across a module's line. Faults of our own (a broken invariant) are
// assertions instead. Thread safety: a plain value. Errors: `code` is for programs, `message` for people; a message
// names what went wrong and, where there is one, the cure.
#pragma once

#include <cassert>
#include <concepts>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace fathom {

enum class ErrorCode {
  kInvalid,  // the caller's input is wrong; repeating it will not help
  kNotFound,
  kUnavailable,  // for now; the same call may succeed later
  kExhausted,    // a limit of size; repeating it will not help
  kDeadline,
  kCancelled,
  kCorrupt,  // stored or received bytes are not what they should be
  kUnsupported,
  kInternal,
};

std::string_view error_code_name(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
};

inline Error invalid(std::string message) {
  return {ErrorCode::kInvalid, std::move(message)};
}
inline Error not_found(std::string message) {
  return {ErrorCode::kNotFound, std::move(message)};
}
inline Error unavailable(std::string message) {
  return {ErrorCode::kUnavailable, std::move(message)};
}
inline Error exhausted(std::string message) {
  return {ErrorCode::kExhausted, std::move(message)};
}
inline Error corrupt(std::string message) {
  return {ErrorCode::kCorrupt, std::move(message)};
}
inline Error internal(std::string message) {
  return {ErrorCode::kInternal, std::move(message)};
}

template <typename T = std::monostate>
class [[nodiscard]] Result {
 public:
  Result()
    requires std::same_as<T, std::monostate>
  = default;
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return checked(*this); }
  const T& value() const& { return checked(*this); }
  T&& value() && { return std::move(checked(*this)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const {
    assert(!ok());
    return std::get<1>(state_);
  }

 private:
  template <typename Self>
  static auto& checked(Self& self) {
    assert(self.ok());
    return std::get<0>(self.state_);
  }

  std::variant<T, Error> state_;
};

}  // namespace fathom
