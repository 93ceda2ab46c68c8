// fathom for C++ programs: spans for some tens of nanoseconds each. The one header that a program includes.
//
//   fathom::Span span("checkout");          // child of the thread's active span, or the root of a new trace
//   span.set("items", 3).set("tenant", name);
//   if (!paid) span.error("card refused");
//   // ends where it goes out of scope
//
// Purpose, thread safety, ownership, errors: as fathom/trace_c.h says; this is that interface with scopes. Nothing here
// throws or allocates, but for the two that return std::string. An exception that leaves a scope ends its span, which
// is no error by that alone; what ends the program without leaving the scope loses the span. A Span belongs to the
// thread that made it; a DetachedSpan may be handed from thread to thread, and is never active by itself.
#pragma once

#if __cplusplus < 201703L
#error "fathom/trace.h needs C++17; programs of an older standard use fathom/trace_c.h"
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fathom/trace_c.h>

namespace fathom {

enum class Kind { kInternal = FATHOM_INTERNAL, kServer, kClient, kProducer, kConsumer };

namespace trace_internal {
inline fathom_text text(std::string_view view) noexcept {
  return {view.data(), view.size()};
}
// What can be said of a span: a text, a truth, a whole number, a number.
template <typename T>
inline constexpr bool kIsText = std::is_convertible_v<const T&, std::string_view> && !std::is_null_pointer_v<T>;
template <typename T>
using Value = std::enable_if_t<kIsText<T> || std::is_arithmetic_v<T>>;

// A null pointer is an empty text: getenv() gives such.
template <typename T>
fathom_text text_of(const T& text_like) noexcept {
  if constexpr (std::is_convertible_v<const T&, const char*>) {
    const char* characters = text_like;
    if (characters == nullptr) return {nullptr, 0};
  }
  return text(text_like);
}
}  // namespace trace_internal

// The program; each is the function of this name in fathom/trace_c.h.
inline void set_resource(std::string_view attributes) noexcept {
  fathom_set_resource(trace_internal::text(attributes));
}
inline uint64_t lost_spans() noexcept {
  return fathom_lost_spans();
}
// Whether the agent has taken all finished spans.
inline bool flush(uint64_t timeout_nano) noexcept {
  return fathom_flush(timeout_nano) == 0;
}

// Where a span belongs: what travels between programs.
class Context {
 public:
  // From W3C's headers; nothing when `traceparent` is not one, and then the request begins a new trace here.
  static std::optional<Context> extract(std::string_view traceparent, std::string_view tracestate = {}) noexcept {
    Context context;
    if (fathom_extract(trace_internal::text(traceparent), trace_internal::text(tracestate), &context.raw_) != 0)
      return std::nullopt;
    return context;
  }
  // A null pointer is an empty text here, too.
  static std::optional<Context> extract(const char* traceparent, const char* tracestate = nullptr) noexcept {
    return extract(std::string_view(traceparent == nullptr ? "" : traceparent),
                   std::string_view(tracestate == nullptr ? "" : tracestate));
  }
  // That of the thread's active span.
  static std::optional<Context> active() noexcept {
    Context context;
    if (fathom_active_context(&context.raw_) != 0) return std::nullopt;
    return context;
  }

  std::string traceparent() const {
    char out[56];
    fathom_inject_parent(&raw_, out);
    return {out, 55};
  }
  std::string tracestate() const {
    char out[640];
    return {out, fathom_inject_state(&raw_, out, sizeof out)};
  }
  const fathom_context& raw() const noexcept { return raw_; }

 private:
  template <typename>
  friend class SpanSetters;
  fathom_context raw_{};
};

// Keep the detail of what happens now: fathom_trigger() says what the agent does with it.
inline void trigger(std::string_view reason = {}) noexcept {
  fathom_trigger(trace_internal::text(reason));
}

// The requests that this scope serves, all at once: fathom_serve_begin() says what belongs to them.
//
//   std::vector<fathom::Context> requests = ...;
//   const fathom::Serving serving(requests);
class Serving {
 public:
  Serving(const Context* contexts, size_t count) noexcept {
    static_assert(sizeof(Context) == sizeof(fathom_context), "an array of the one is an array of the other");
    fathom_serve_begin(&raw_, count == 0 ? nullptr : &contexts->raw(), count);
  }
  Serving(std::initializer_list<Context> contexts) noexcept : Serving(contexts.begin(), contexts.size()) {}
  // What has its contexts one behind the other: a vector, an array, a span.
  template <typename Contexts, typename = decltype(static_cast<const Context*>(std::declval<const Contexts&>().data()))>
  explicit Serving(const Contexts& contexts) noexcept : Serving(contexts.data(), contexts.size()) {}
  ~Serving() { fathom_serve_end(&raw_); }
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;

 private:
  fathom_serving raw_;
};

// What both kinds of spans can be told.
template <typename Self>
class SpanSetters {
 public:
  template <typename T, typename = trace_internal::Value<T>>
  Self& set(std::string_view key, const T& value) noexcept {
    const fathom_text name = trace_internal::text(key);
    if constexpr (trace_internal::kIsText<T>) {
      fathom_span_set_string(raw(), name, trace_internal::text_of(value));
    } else if constexpr (std::is_same_v<T, bool>) {
      fathom_span_set_bool(raw(), name, value);
    } else if constexpr (std::is_integral_v<T>) {
      fathom_span_set_int(raw(), name, static_cast<int64_t>(value));
    } else {
      fathom_span_set_double(raw(), name, static_cast<double>(value));
    }
    return self();
  }
  Self& rename(std::string_view name) noexcept {
    return fathom_span_set_name(raw(), trace_internal::text(name)), self();
  }
  Self& ok() noexcept { return fathom_span_set_status(raw(), FATHOM_OK, {nullptr, 0}), self(); }
  Self& error(std::string_view message = {}) noexcept {
    fathom_span_set_status(raw(), FATHOM_ERROR, trace_internal::text(message));
    return self();
  }
  Self& link(const Context& other) noexcept { return fathom_span_add_link(raw(), &other.raw()), self(); }
  // span.event("retry").detail("attempt", 2)
  Self& event(std::string_view name) noexcept {
    return fathom_span_add_event(raw(), trace_internal::text(name)), self();
  }
  // An attribute of the event or link that was added last.
  template <typename T, typename = trace_internal::Value<T>>
  Self& detail(std::string_view key, const T& value) noexcept {
    const fathom_text name = trace_internal::text(key);
    if constexpr (trace_internal::kIsText<T>) {
      fathom_detail_string(raw(), name, trace_internal::text_of(value));
    } else if constexpr (std::is_same_v<T, bool>) {
      fathom_detail_bool(raw(), name, value);
    } else if constexpr (std::is_integral_v<T>) {
      fathom_detail_int(raw(), name, static_cast<int64_t>(value));
    } else {
      fathom_detail_double(raw(), name, static_cast<double>(value));
    }
    return self();
  }

  Context context() const noexcept {
    Context context;
    fathom_span_context(&span_, &context.raw_);
    return context;
  }
  void end() noexcept { fathom_span_end(raw()); }
  void discard() noexcept { fathom_span_discard(raw()); }
  bool open() const noexcept { return span_.opaque[0] != 0; }
  fathom_span* raw() noexcept { return &span_; }

 protected:
  SpanSetters() noexcept { span_.opaque[0] = 0; }  // the rest is written as it is needed
  ~SpanSetters() { fathom_span_end(&span_); }
  fathom_span span_;

 private:
  Self& self() noexcept { return static_cast<Self&>(*this); }
};

// The work of this scope, on this thread: active from here to the end of the scope.
class Span : public SpanSetters<Span> {
 public:
  [[nodiscard]] explicit Span(std::string_view name, Kind kind = Kind::kInternal) noexcept {
    fathom_span_start_here(&span_, trace_internal::text(name), static_cast<fathom_kind>(kind));
    fathom_span_activate(&span_);
  }
  // Of a parent elsewhere: Span span("GET /cart", fathom::Context::extract(header), fathom::Kind::kServer).
  [[nodiscard]] Span(std::string_view name, const std::optional<Context>& parent,
                     Kind kind = Kind::kInternal) noexcept {
    fathom_span_start(&span_, trace_internal::text(name), static_cast<fathom_kind>(kind),
                      parent ? &parent->raw() : nullptr);
    fathom_span_activate(&span_);
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;
};

// Work that goes from thread to thread: started, handed on, ended wherever it is done.
class DetachedSpan : public SpanSetters<DetachedSpan> {
 public:
  DetachedSpan() = default;  // none
  explicit DetachedSpan(std::string_view name, Kind kind = Kind::kInternal) noexcept {
    fathom_span_start_here(&span_, trace_internal::text(name), static_cast<fathom_kind>(kind));
  }
  DetachedSpan(std::string_view name, const std::optional<Context>& parent, Kind kind = Kind::kInternal) noexcept {
    fathom_span_start(&span_, trace_internal::text(name), static_cast<fathom_kind>(kind),
                      parent ? &parent->raw() : nullptr);
  }
  DetachedSpan(DetachedSpan&& other) noexcept { take(other); }
  DetachedSpan& operator=(DetachedSpan&& other) noexcept {
    if (this == &other) return *this;
    end();
    take(other);
    return *this;
  }

 private:
  void take(DetachedSpan& other) noexcept {
    std::memcpy(&span_, &other.span_, sizeof span_);
    other.span_.opaque[0] = 0;
  }
};

// Makes a detached span the thread's active one while this lives; the span must not move or end elsewhere meanwhile.
// One at a time for a span: the first that goes deactivates it.
class Activation {
 public:
  explicit Activation(DetachedSpan& span) noexcept : span_(span) { fathom_span_activate(span_.raw()); }
  ~Activation() { fathom_span_deactivate(span_.raw()); }
  Activation(const Activation&) = delete;
  Activation& operator=(const Activation&) = delete;

 private:
  DetachedSpan& span_;
};

}  // namespace fathom
