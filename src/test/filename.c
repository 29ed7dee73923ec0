/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"

#include "t/tap.h"

static const char *escaped(const char *name)
{
    static char text[64];
    return filename_escape(name, text, sizeof text);
}

int main(void)
{
    char small[12];

    is_str(escaped("images/0001.png"), "images/0001.png", "a plain name is unchanged");
    is_str(escaped("a\nb\tc\x1b[2J"), "a\\x0ab\\x09c\\x1b[2J", "control characters are escaped");
    is_str(escaped("a\\b"), "a\\\\b", "a backslash is doubled");
    is_str(escaped("Prüfkörper_µm.png"), "Prüfkörper_µm.png", "UTF-8 is unchanged");
    is_str(escaped("a\xff\xc3"), "a\\xff\\xc3", "bytes that are not UTF-8 are escaped");
    is_str(escaped("\xc2\x9b"), "\\xc2\\x9b", "control characters beyond ASCII are escaped");
    is_str(escaped("\xed\xa0\x80\xc0\xaf"), "\\xed\\xa0\\x80\\xc0\\xaf",
           "surrogates and overlong forms are escaped");
    is_str(filename_escape("0123456789ab", small, sizeof small), "01234567...",
           "a long name is truncated");
    is_str(filename_escape("0123456\n9ab", small, sizeof small), "0123456...",
           "a name is not truncated within an escape");

    ok(filename_is_utf8("µ") && !filename_is_utf8("\xb5"), "UTF-8 and Latin-1 are distinguished");
    is_int(filename_stem("a.b.png"), 3, "the stem ends at the last dot");
    is_int(filename_stem(".keep"), 5, "a leading dot does not start a suffix");
    is_int(filename_stem("noext"), 5, "a name without a suffix is its stem");
    ok(filename_is_image("x.png") && filename_is_image("x.TIF") && filename_is_image("x.jpeg"),
       "suffixes of images are known in any case");
    ok(!filename_is_image("x.txt") && !filename_is_image("png") && !filename_is_image("x.png~"),
       "other names are not images");
    return done_testing();
}
