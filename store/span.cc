#include "store/span.h"

#include <bit>
#include <string>

#include <boost/beast/core/detail/base64.hpp>

#include "base/number_text.h"

namespace fathom::store {

std::string_view span_kind_name(SpanKind kind) {
  switch (kind) {
    case SpanKind::kUnspecified:
      return "unspecified";
    case SpanKind::kInternal:
      return "internal";
    case SpanKind::kServer:
      return "server";
    case SpanKind::kClient:
      return "client";
    case SpanKind::kProducer:
      return "producer";
    case SpanKind::kConsumer:
      return "consumer";
  }
  return "unspecified";
}

std::string_view status_code_name(StatusCode code) {
  switch (code) {
    case StatusCode::kUnset:
      return "unset";
    case StatusCode::kOk:
      return "ok";
    case StatusCode::kError:
      return "error";
  }
  return "unset";
}

ValueView ValueView::of_double(double value) {
  return {ValueType::kDouble, {}, std::bit_cast<uint64_t>(value)};
}

double ValueView::as_double() const {
  return std::bit_cast<double>(bits);
}

namespace {

std::string base64_text(std::string_view bytes) {
  namespace base64 = boost::beast::detail::base64;
  std::string text(base64::encoded_size(bytes.size()), '\0');
  text.resize(base64::encode(text.data(), bytes.data(), bytes.size()));
  return text;
}

}  // namespace

std::string value_text(const ValueView& value) {
  switch (value.type) {
    case ValueType::kEmpty:
      return "";
    case ValueType::kBool:
      return value.as_bool() ? "true" : "false";
    case ValueType::kInt:
      return number_text(value.as_int());
    case ValueType::kDouble:
      return number_text(value.as_double());
    case ValueType::kBytes:
      return base64_text(value.text);
    case ValueType::kString:
    case ValueType::kJson:
    case ValueType::kCut:
      return std::string(value.text);
  }
  return "";
}

}  // namespace fathom::store
