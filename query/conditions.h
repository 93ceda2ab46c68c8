// The conditions of `where` as they were asked, turned into what the store compares: once per query, for both faces.
//
// Purpose: people write a number as they read it in an answer (3.0, 1e5, NaN), while the store knows one text of each
// value (value_text); and a text KEY=VALUE does not say where its key ends when there are several '='. Both become
// alternatives of one condition. Thread safety: plain functions. Errors: kInvalid with the cure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/span_store.h"

namespace fathom::query {

// At so many '=' a condition's key may end; the later ones belong to its value.
inline constexpr size_t kKeyEnds = 16;

// The other texts that the store may have of the number that `text` spells; nothing when it spells none. An integer
// stands for a double only where that is the very same number.
std::vector<std::string> other_number_texts(std::string_view text);

// `key` must not be empty.
Result<store::Condition> condition_of(std::string key, std::string value);
// "KEY=VALUE": every split that leaves a key.
Result<store::Condition> parse_condition(std::string_view text);

}  // namespace fathom::query
