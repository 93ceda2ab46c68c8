// The conditions of `where` as they were asked, turned into what the store compares: once per query, for both faces.
//
// Purpose: one grammar wherever a condition is one text:
//
//     KEY=VALUE  KEY!=VALUE      has the key, with this value; with other values alone
//     KEY>N  KEY>=N  KEY<N  KEY<=N    has it, with a number that is so
//     KEY  !KEY                  has it; lacks it
//
// Blanks around each part are nothing. KEY or VALUE in double quotes may hold anything, with \" and \\ for these two;
// bare, a key holds no blanks and none of = ! < > ~ " and a value does not begin with one of = ~ < > " and holds no &&
// and no ||, since who writes that means something else. People write a number as they read it in an answer (3.0, 1e5,
// NaN), while the store knows one text of each value (value_text): the others become alternatives of one condition.
// Thread safety: plain functions. Errors: kInvalid with the cure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/condition.h"

namespace fathom::query {

// The other texts that the store may have of the number that `text` spells; nothing when it spells none. An integer
// stands for a double only where that is the very same number.
std::vector<std::string> other_number_texts(std::string_view text);

// `key` must not be empty; of kExists and kLacks `value` must be, and of a range it must be a number: an integer of 64
// bits is taken exactly, any other as the nearest double.
Result<store::Condition> condition_of(std::string key, std::string value,
                                      store::Compare compare = store::Compare::kEqual);
// By the grammar above.
Result<store::Condition> parse_condition(std::string_view text);

}  // namespace fathom::query
