/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/cluster/range.h"

#include "t/tap.h"

static void decodes(const char *text, const char *want)
{
    struct range r = {0};
    struct err e = {0};
    char got[256] = "";

    if (range_decode(text, 1, 1024, &r, &e)) {
        is_str(e.text, want, "'%s'", text);
        return;
    }
    for (size_t i = 0; i < r.count && strlen(got) < 240; i++)
        snprintf(got + strlen(got), 16, "%s%d", i ? " " : "", r.values[i]);
    is_str(got, want, "'%s'", text);
    range_destroy(&r);
}

static void refuses(const char *text, int min, int max, const char *want)
{
    struct range r = {0};
    struct err e = {0};

    if (ok(range_decode(text, min, max, &r, &e) == -1 && e.code == ERR_USAGE &&
               strstr(e.text, want),
           "'%.40s' is refused", text))
        printf("# %s\n", e.text);
    else
        printf("# want '%s' in '%s'\n", want, e.text);
}

int main(void)
{
    struct range r;
    struct err e;
    char longest[400001];

    decodes("1", "1");
    decodes("1..4", "1 2 3 4");
    decodes("1..14", "1 2 3 4 5 6 7 8 9 10 11 12 13 14");
    decodes("4..14:2", "4 6 8 10 12 14");
    decodes("1,2,4..14:2", "1 2 4 6 8 10 12 14");
    decodes("1..6:4", "1 5");
    decodes("3..3", "3");
    decodes("8,1..3,2,8", "1 2 3 8");
    decodes(" 1 , 3..4 ", "1 3 4");
    decodes("0004", "4");
    decodes("1024", "1024");

    refuses("", 1, 1024, "position 1: a whole number is missing");
    refuses("0", 1, 1024, "position 1: 0 is not within 1..1024");
    refuses("1..", 1, 1024, "position 4: a whole number is missing");
    refuses("..4", 1, 1024, "position 1");
    refuses("14..1", 1, 1024, "smaller number first");
    refuses("2,14..1", 1, 1024, "position 3");
    refuses("1..99999999", 1, 1024, "position 4: 99999999 is not within 1..1024");
    refuses("1..99999999", 1, INT_MAX, "more than 65536 values");
    refuses("1..40000,1..40000", 1, INT_MAX, "more than 65536 values");
    refuses("99999999999999999999999999999999", 1, INT_MAX, "not within");
    refuses("1..4:0", 1, 1024, "position 6: 0 is not within");
    refuses("1..4:", 1, 1024, "position 6");
    refuses("4:2", 1, 1024, "position 2");
    refuses("1,,2", 1, 1024, "position 3");
    refuses("1,", 1, 1024, "position 3");
    refuses(",1", 1, 1024, "position 1");
    refuses("-1", 1, 1024, "negative");
    refuses("1-4", 1, 1024, "two dots");
    refuses("1.5", 1, 1024, "position 2");
    refuses("1...4", 1, 1024, "position 4");
    refuses("four", 1, 1024, "position 1");
    refuses("1 2", 1, 1024, "position 3");
    refuses("0x4", 1, 1024, "position 1");

    ok(range_decode("0..2", 0, 5, &r, &e) == 0 && r.count == 3 && r.values[0] == 0,
       "0 is accepted if the minimum is 0");
    range_destroy(&r);
    ok(range_decode("2147483647", 1, INT_MAX, &r, &e) == 0 && r.values[0] == INT_MAX,
       "INT_MAX is accepted");
    range_destroy(&r);
    ok(range_decode("1..65536", 1, INT_MAX, &r, &e) == 0 && r.count == RANGE_COUNT_MAX,
       "the largest number of values is accepted");
    range_destroy(&r);
    range_destroy(NULL);

    memset(longest, '7', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    refuses(longest, 1, 1024, "not within");
    return done_testing();
}
