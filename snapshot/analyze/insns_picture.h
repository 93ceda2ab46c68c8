// Which functions ran when, as a picture: instructions in slots of time, stacked by function.
//
// Thread safety: any. Errors: those of the snapshot.
#pragma once

#include "snapshot/analyze/answer_context.h"

namespace fathom::snapshot {

Result<> answer_picture(const AnswerContext& context, const Question& question, AnswerWriter& writer);

}  // namespace fathom::snapshot
