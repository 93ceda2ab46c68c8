#include "query/trace_pieces.h"

#include <utility>

namespace fathom::query {

namespace {

constexpr size_t kPieceBytes = 256 * 1024;
constexpr int kFastestLevel = 1;

}  // namespace

TracePieces::TracePieces(QueryRunner& runner, std::unique_ptr<TraceText> text, bool is_packed)
    : runner_(runner), text_(std::move(text)) {
  if (is_packed) gzip_.emplace(kFastestLevel);
}

std::string TracePieces::packed(std::string text, bool is_last) {
  return gzip_ ? gzip_->add(text, is_last) : std::move(text);
}

void TracePieces::next(std::function<void(std::optional<net::BodyPiece>)> deliver) {
  auto piece = std::make_shared<net::BodyPiece>();
  runner_.run(
      {.name = "trace_text",
       .budget = runner_.make_budget(0),
       .work = [self = shared_from_this(), piece](store::QueryBudget&) -> Result<> {
         std::string text = self->text_->next(kPieceBytes);
         piece->is_last = self->text_->is_complete();
         piece->bytes = self->packed(std::move(text), piece->is_last);
         return {};
       },
       .done = [piece, deliver = std::move(deliver)](
                   const Result<>& result) { deliver(result ? std::optional(std::move(*piece)) : std::nullopt); },
       .continues = true});
}

}  // namespace fathom::query
