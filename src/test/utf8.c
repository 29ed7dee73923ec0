/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"

#include "t/tap.h"

int main(void)
{
    is_int(utf8_size("a"), 1, "ASCII has one byte");
    is_int(utf8_size(""), 1, "the final NUL has one byte");
    is_int(utf8_size("\xc3\xa4"), 2, "a character of two bytes");
    is_int(utf8_size("\xe2\x82\xac"), 3, "a character of three bytes");
    is_int(utf8_size("\xf0\x9f\x98\x80"), 4, "a character of four bytes");
    is_int(utf8_size("\xc3"), 0, "a truncated character is invalid");
    is_int(utf8_size("\xa4"), 0, "a continuation byte is invalid");
    is_int(utf8_size("\xc0\x80"), 0, "an overlong form of two bytes is invalid");
    is_int(utf8_size("\xe0\x9f\xbf"), 0, "an overlong form of three bytes is invalid");
    is_int(utf8_size("\xed\xa0\x80"), 0, "a surrogate is invalid");
    is_int(utf8_size("\xf4\x90\x80\x80"), 0, "a character beyond U+10FFFF is invalid");
    return done_testing();
}
