// How FATHOM_EVENT takes its arguments apart: a name, then up to eight pairs of a key and a value.
//
// Purpose: FATHOM_EACH_(m, name, k1, v1, k2, v2) is m(2, k1, v1) m(1, k2, v2); the preprocessor cannot loop. Nothing
// here is for use by hand.
#ifndef FATHOM_EVENT_PAIRS_H
#define FATHOM_EVENT_PAIRS_H

#define FATHOM_PASTE_(a, b) FATHOM_PASTE_NOW_(a, b)
#define FATHOM_PASTE_NOW_(a, b) a##b
#define FATHOM_FIRST_(...) FATHOM_FIRST_NOW_(__VA_ARGS__, )
#define FATHOM_FIRST_NOW_(first, ...) first

// The number of pairs; a key without a value is an error that names this macro.
#define FATHOM_PAIRS_(...)                                                                                         \
  FATHOM_EIGHTEENTH_(__VA_ARGS__, 8, a_key_without_a_value, 7, a_key_without_a_value, 6, a_key_without_a_value, 5, \
                     a_key_without_a_value, 4, a_key_without_a_value, 3, a_key_without_a_value, 2,                 \
                     a_key_without_a_value, 1, a_key_without_a_value, 0, )
#define FATHOM_EIGHTEENTH_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, n, ...) n

#define FATHOM_EACH_(m, ...) FATHOM_PASTE_(FATHOM_EACH_NAMED_, FATHOM_PAIRS_(__VA_ARGS__))(m, __VA_ARGS__)
#define FATHOM_EACH_NAMED_0(m, name)
#define FATHOM_EACH_NAMED_1(m, name, ...) FATHOM_EACH_PAIR_1(m, __VA_ARGS__)
#define FATHOM_EACH_NAMED_2(m, name, ...) FATHOM_EACH_PAIR_2(m, __VA_ARGS__)
#define FATHOM_EACH_NAMED_3(m, name, ...) FATHOM_EACH_PAIR_3(m, __VA_ARGS__)
#define FATHOM_EACH_NAMED_4(m, name, ...) FATHOM_EACH_PAIR_4(m, __VA_ARGS__)
#define FATHOM_EACH_NAMED_5(m, name, ...) FATHOM_EACH_PAIR_5(m, __VA_ARGS__)
#define FATHOM_EACH_NAMED_6(m, name, ...) FATHOM_EACH_PAIR_6(m, __VA_ARGS__)
#define FATHOM_EACH_NAMED_7(m, name, ...) FATHOM_EACH_PAIR_7(m, __VA_ARGS__)
#define FATHOM_EACH_NAMED_8(m, name, ...) FATHOM_EACH_PAIR_8(m, __VA_ARGS__)
#define FATHOM_EACH_PAIR_1(m, key, value) m(1, key, value)
#define FATHOM_EACH_PAIR_2(m, key, value, ...) m(2, key, value) FATHOM_EACH_PAIR_1(m, __VA_ARGS__)
#define FATHOM_EACH_PAIR_3(m, key, value, ...) m(3, key, value) FATHOM_EACH_PAIR_2(m, __VA_ARGS__)
#define FATHOM_EACH_PAIR_4(m, key, value, ...) m(4, key, value) FATHOM_EACH_PAIR_3(m, __VA_ARGS__)
#define FATHOM_EACH_PAIR_5(m, key, value, ...) m(5, key, value) FATHOM_EACH_PAIR_4(m, __VA_ARGS__)
#define FATHOM_EACH_PAIR_6(m, key, value, ...) m(6, key, value) FATHOM_EACH_PAIR_5(m, __VA_ARGS__)
#define FATHOM_EACH_PAIR_7(m, key, value, ...) m(7, key, value) FATHOM_EACH_PAIR_6(m, __VA_ARGS__)
#define FATHOM_EACH_PAIR_8(m, key, value, ...) m(8, key, value) FATHOM_EACH_PAIR_7(m, __VA_ARGS__)

#endif
