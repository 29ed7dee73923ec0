/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/collect/scan.h"

#include "t/tap.h"

static void count(void *arg, size_t i)
{
    ((int *)arg)[i]++;
}

int main(void)
{
    enum { N = 5000 };
    static int done[N + 1];
    bool once = true;

    scan_each(N, count, done);
    for (int i = 0; i < N; i++)
        once &= done[i] == 1;
    ok(once && done[N] == 0, "each item is visited once, and no other");
    scan_each(0, count, done);
    scan_each(1, count, done);
    ok(done[0] == 2 && done[1] == 1, "no item and one item are visited");
    return done_testing();
}
