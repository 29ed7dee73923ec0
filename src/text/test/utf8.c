/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "src/text/utf8.h"

#include "t/tap.h"

int main(void)
{
    is_int(utf8_size("a"), 1, "ASCII");
    is_int(utf8_size(""), 1, "the end");
    is_int(utf8_size("\xc3\xa4"), 2, "two bytes");
    is_int(utf8_size("\xe2\x82\xac"), 3, "three");
    is_int(utf8_size("\xf0\x9f\x98\x80"), 4, "four");
    is_int(utf8_size("\xc3"), 0, "cut off");
    is_int(utf8_size("\xa4"), 0, "the middle of one");
    is_int(utf8_size("\xc0\x80"), 0, "not the shortest form");
    is_int(utf8_size("\xe0\x9f\xbf"), 0, "nor this");
    is_int(utf8_size("\xed\xa0\x80"), 0, "a surrogate");
    is_int(utf8_size("\xf4\x90\x80\x80"), 0, "beyond the last one");
    return done_testing();
}
