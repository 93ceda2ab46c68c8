// TracePieces: the HTTP answer to a query for a trace by id. The connection holds one piece at a time.
//
// Purpose: the pieces of a TraceText are written by the threads of queries, as short ones, when the connection asks for
// them; compressed where the client takes that. Thread safety: as BodySource. Ownership: owns the text; the runner must
// outlive the server whose connections ask. Errors: none of its own; a runner that stops ends the body.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "net/body_source.h"
#include "net/gzip.h"
#include "query/runner.h"
#include "query/trace_text.h"

namespace fathom::query {

// Documents up to this size are answered whole.
inline constexpr size_t kWholeTraceBytes = 1 << 20;

class TracePieces : public net::BodySource, public std::enable_shared_from_this<TracePieces> {
 public:
  TracePieces(QueryRunner& runner, std::unique_ptr<TraceText> text, bool is_packed);

  // `text` as it goes over the wire.
  std::string packed(std::string text, bool is_last);
  void next(std::function<void(std::optional<net::BodyPiece>)> deliver) override;
  uint64_t held_bytes() const override { return text_->held_bytes(); }

 private:
  QueryRunner& runner_;
  const std::unique_ptr<TraceText> text_;
  std::optional<net::GzipStream> gzip_;
};

}  // namespace fathom::query
