/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/data/set/loader.h"

#include "t/tap.h"

#define MAX_ITEMS 4096

/* Returns whether each position below plan->used is used by exactly one part in exactly one step,
 * no other is, the shares of a step differ by at most one, and none is larger than the batch. */
static bool epoch_is_complete(const struct shard_plan *plan, int batch)
{
    static unsigned char used[MAX_ITEMS];
    size_t n = 0;

    memset(used, 0, sizeof used);
    for (size_t s = 0; s < plan->steps; s++) {
        size_t least = MAX_ITEMS, most = 0;
        for (int p = 0; p < plan->parts; p++) {
            struct shard_range r = shard_train(plan, s, p);
            size_t count = r.end - r.begin;
            least = count < least ? count : least;
            most = count > most ? count : most;
            if (r.end > plan->used || r.begin > r.end)
                return false;
            for (size_t i = r.begin; i < r.end; i++, n++)
                if (used[i]++)
                    return false;
        }
        if (most > (size_t)batch || most - least > 1)
            return false;
    }
    return n == plan->used;
}

static bool evaluation_is_complete(size_t images, int parts)
{
    size_t next = 0;

    for (int p = 0; p < parts; p++) {
        struct shard_range r = shard_eval(images, parts, p);
        if (r.begin != next)
            return false;
        next = r.end;
    }
    return next == images;
}

static void test_all_sizes(void)
{
    static const size_t images[] = {1, 2, 3, 7, 16, 31, 100, 257, 896};
    struct shard_plan plan;
    struct err e;

    for (int parts = 1; parts <= 16; parts++) {
        bool keep = true, drop = true, eval = true;
        for (size_t k = 0; k < sizeof images / sizeof *images; k++)
            for (int batch = 1; batch <= 16; batch += 5) {
                size_t n = images[k], full = (size_t)(parts * batch);
                keep = keep && shard_plan(n, 2, parts, full, SHARD_KEEP, &plan, &e) == 0 &&
                       plan.used == 2 * n && epoch_is_complete(&plan, batch);
                if (shard_plan(n, 2, parts, full, SHARD_DROP, &plan, &e) == 0)
                    drop = drop && epoch_is_complete(&plan, batch) &&
                           plan.used == plan.steps * full;
                else
                    drop = drop && 2 * n < full;
                eval = eval && evaluation_is_complete(n, parts);
            }
        ok(keep, "%d parts, keep: every item once, shares differ by at most one", parts);
        ok(drop, "%d parts, drop: every step is full", parts);
        ok(eval, "%d parts: every validation image once", parts);
    }
}

/* The numbers that the reference systems published. */
static void test_reference(void)
{
    struct shard_plan plan;
    struct err e;

    ok(shard_plan(100, 1, 2, 2 * 4, SHARD_KEEP, &plan, &e) == 0 && plan.steps == 13,
       "100 items, 2 shards, batch 4: 13 batches per rank");
    ok(shard_plan(3922, 1, 1, 64, SHARD_DROP, &plan, &e) == 0 && plan.steps == 61,
       "3,922 images, batch 64: 61 whole batches");
    ok(shard_plan(692, 1, 1, 64, SHARD_DROP, &plan, &e) == 0 && plan.steps == 10,
       "692 images, batch 64: 10 whole batches");
    ok(shard_plan(896, 2, 14, 14 * 16, SHARD_KEEP, &plan, &e) == 0 && plan.steps == 8 &&
           plan.items == 1792,
       "896 images used twice on 14 GPUs with batch 16: 8 steps of 1,792 items");
    struct shard_range r = shard_eval(224, 14, 13);
    is_int(r.end - r.begin, 16, "224 validation images on 14 ranks: 16 each");
    r = shard_eval(224, 16, 15);
    is_int(r.end - r.begin, 14, "on 16 ranks 14 each: none is dropped");
}

static void test_order(void)
{
    size_t a[24], b[24], count[12] = {0}, equal = 0;
    bool twice = true;

    shard_order(1, 0, 12, 2, a);
    shard_order(1, 0, 12, 2, b);
    ok(memcmp(a, b, sizeof a) == 0, "the order depends on nothing but its arguments");
    for (size_t i = 0; i < 24; i++)
        count[a[i] % 12]++;
    for (size_t i = 0; i < 12; i++)
        twice = twice && count[i] == 2;
    ok(twice, "repeat 2: each image twice");
    shard_order(1, 1, 12, 2, b);
    for (size_t i = 0; i < 24; i++)
        equal += a[i] % 12 == b[i] % 12;
    ok(equal < 12, "another epoch, another order (%zu of 24 equal)", equal);
    shard_order(2, 0, 12, 2, b);
    ok(memcmp(a, b, sizeof a) != 0, "another seed, another order");
}

/* An epoch that one number of parts begins and another one completes uses no item twice, and `want`
 * items in all. */
static void test_continue(enum shard_remainder remainder, size_t want)
{
    struct shard_plan plan;
    struct err e;
    size_t seen[61] = {0}, wrong = 0, total = 0;

    shard_plan(61, 1, 2, 2 * 4, remainder, &plan, &e);
    size_t done = shard_train(&plan, 3, 0).begin;
    for (size_t i = 0; i < done; i++)
        seen[i]++;
    shard_plan(61, 1, 3, 3 * 4, remainder, &plan, &e);
    shard_continue(&plan, done, 3 * 4);
    for (size_t step = 0; step < plan.steps; step++)
        for (int part = 0; part < plan.parts; part++) {
            struct shard_range r = shard_train(&plan, step, part);
            wrong += r.end - r.begin > 4;
            for (size_t i = r.begin; i < r.end; i++)
                seen[i]++;
        }
    for (size_t i = 0; i < 61; i++) {
        wrong += seen[i] > 1;
        total += seen[i];
    }
    is_int(wrong, 0, "continued by another number of parts: nothing twice, no batch too large");
    is_int(total, want, "%zu of 61 items", want);
    shard_continue(&plan, 61, 3 * 4);
    is_int(plan.steps, 0, "nothing is left of an epoch that is done");
}

/* Steps of the same size begin and end at the same items for any number of parts. */
static void test_same_steps(void)
{
    struct shard_plan one, plan;
    struct err e;
    bool same = true;

    shard_plan(61, 1, 1, 8, SHARD_KEEP, &one, &e);
    for (int parts = 2; parts <= 11; parts++) {
        same = same && shard_plan(61, 1, parts, 8, SHARD_KEEP, &plan, &e) == 0 &&
               plan.steps == one.steps && epoch_is_complete(&plan, (8 + parts - 1) / parts);
        for (size_t step = 0; step < one.steps; step++)
            same = same && shard_train(&plan, step, 0).begin == shard_train(&one, step, 0).begin;
    }
    ok(same, "steps of 8 items are the same for 1 to 11 parts");
}

/* Each copy of each image occurs once. */
static void test_copies(void)
{
    size_t order[72], seen[72] = {0}, wrong = 0;

    shard_order(3, 4, 12, 6, order);
    for (size_t i = 0; i < 72; i++) {
        wrong += order[i] >= 72;
        seen[order[i] % 72]++;
    }
    for (size_t i = 0; i < 72; i++)
        wrong += seen[i] != 1;
    is_int((long)wrong, 0, "every copy of every image comes once");
}

int main(void)
{
    test_same_steps();
    test_continue(SHARD_KEEP, 61);
    test_continue(SHARD_DROP, 60);
    struct shard_plan plan;
    struct err e;

    test_all_sizes();
    test_reference();
    test_order();
    test_copies();
    ok(shard_plan(0, 1, 1, 16, SHARD_KEEP, &plan, &e) == -1 && e.code == ERR_DATA,
       "no images: %s", e.text);
    ok(shard_plan(10, 1, 2, 2 * 16, SHARD_DROP, &plan, &e) == -1 && e.code == ERR_DATA,
       "no full step: %s", e.text);
    ok(shard_plan(SIZE_MAX / 2 + 2, 2, 1, 1, SHARD_KEEP, &plan, &e) == -1, "too many items: %s",
       e.text);
    return done_testing();
}
