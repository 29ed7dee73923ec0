/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects of masks: which pixels are one object, and which objects agree. */
#include "src/base.h"

#include "t/tap.h"
#include "trainer/evaluate/evaluate.h"

/* Masks as texts: a digit for each pixel, a space between rows; want: of class 1, then 2. */
static void check(const char *truth, const char *pred, const int64_t want[2][3], const char *what)
{
    struct instance_counts counts[3] = {{0}};
    size_t width = strcspn(truth, " "), n = 0;
    uint8_t masks[2][64];
    struct err e;

    for (size_t i = 0; truth[i]; i++)
        if (truth[i] != ' ') {
            masks[0][n] = (uint8_t)(truth[i] - '0');
            masks[1][n++] = (uint8_t)(pred[i] - '0');
        }
    int rc = instances_add(counts, masks[0], masks[1], n / width, width, &e);
    bool same = rc == 0;
    for (int c = 0; c < 2; c++)
        same = same && counts[c + 1].truth == want[c][0] && counts[c + 1].pred == want[c][1] &&
               counts[c + 1].matched == want[c][2];
    ok(same, "%s: %d true, %d predicted, %d matched; %d, %d, %d", what, (int)counts[1].truth,
       (int)counts[1].pred, (int)counts[1].matched, (int)counts[2].truth, (int)counts[2].pred,
       (int)counts[2].matched);
}

int main(void)
{
    check("0000 0000", "0000 0000", (const int64_t[2][3]){{0}}, "nothing");
    check("1001 0110", "1001 0110", (const int64_t[2][3]){{1, 1, 1}}, "corners connect");
    check("10101 10101 11111", "10101 10101 00000", (const int64_t[2][3]){{1, 3, 0}},
          "three columns that meet below are one");
    check("001 010 100", "001 010 100", (const int64_t[2][3]){{1, 1, 1}}, "a rising line");
    check("1001 0000", "0110 0000", (const int64_t[2][3]){{2, 1, 0}}, "the ends of a row are apart");
    check("110", "100", (const int64_t[2][3]){{1, 1, 0}}, "an IoU of 1/2 is too small");
    check("1110", "1100", (const int64_t[2][3]){{1, 1, 1}}, "of 2/3 it is not");
    check("11 22", "11 11", (const int64_t[2][3]){{1, 1, 0}, {1, 0, 0}}, "classes that touch");
    check("1122 1122", "1112 1112", (const int64_t[2][3]){{1, 1, 1}, {1, 1, 0}}, "and are matched");
    check("11011", "11111", (const int64_t[2][3]){{2, 1, 0}}, "one over two matches neither");
    check("111101", "111111", (const int64_t[2][3]){{2, 1, 1}}, "or the one that is most of it");
    return done_testing();
}
