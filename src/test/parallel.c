/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/parallel.h"

#include <stdatomic.h>

#include "t/tap.h"

static atomic_int calls;

static int count(void *arg, size_t i, struct err *e)
{
    ((int *)arg)[i]++;
    return 0;
}

static int fail_at(void *arg, size_t i, struct err *e)
{
    calls++;
    return i == *(size_t *)arg ? err_set(e, ERR_DATA, "item %zu", i) : 0;
}

static void add_one(void *arg)
{
    ++*(int *)arg;
}

static void test_task(void)
{
    struct parallel_task beside, after;
    int a = 0, b = 0;

    parallel_begin(&beside, true, add_one, &a);
    parallel_begin(&after, false, add_one, &b);
    is_int(b, 0, "a call that may not be beside is not made at once");
    parallel_join(&beside);
    parallel_join(&after);
    ok(a == 1 && b == 1, "each is made once");
}

int main(void)
{
    enum { N = 5000 };
    static int done[N + 1];
    size_t bad = 7;
    bool once = true;
    struct err e;

    is_int(parallel_each(N, 8, count, done, &e), 0, "eight threads");
    for (int i = 0; i < N; i++)
        once &= done[i] == 1;
    ok(once && done[N] == 0, "visit each item once, and no other");
    parallel_each(0, 8, count, done, &e);
    parallel_each(1, 1000, count, done, &e);
    ok(done[0] == 2 && done[1] == 1, "no item and one item are visited");
    is_int(parallel_each(N, 1, fail_at, &bad, &e), -1, "an item that fails");
    is_str(e.text, "item 7", "is reported");
    is_int(calls, 8, "and is the last");
    is_int(parallel_each(N, 8, fail_at, &bad, &e), -1, "by threads, too");
    is_str(e.text, "item 7", "with its error");
    test_task();
    return done_testing();
}
