/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/design/design.h"

#include <stdlib.h>

#include "launcher/analysis/design/design_expect.h"
#include "t/tap.h"

static struct err e;
static struct design_round *rounds;
static struct design_verdict verdict;

static double amdahl(const void *arg, int gpus)
{
    return 100 * (*(const double *)arg + (1 - *(const double *)arg) / gpus);
}

static struct design make_design(void)
{
    struct design d = DESIGN_INIT;

    d.ncounts = 8;
    for (int i = 0; i < 8; i++)
        d.counts[i] = i ? 2 * i : 1;
    for (d.nseeds = 0; d.nseeds < 12; d.nseeds++)
        d.seeds[d.nseeds] = (long)d.nseeds + 1;
    d.whole_s = 7200;
    d.epochs = 72;
    return d;
}

/* Makes rounds until the end; prints them. Returns their number. */
static size_t make(const struct design *d, const struct design_truth *t, struct results *table)
{
    size_t n = 0;

    for (;; n++) {
        if (design_next(d, table, rounds, n, &rounds[n], &verdict, &e))
            bail_out("%s", e.text);
        if (verdict.state != DESIGN_CONTINUE)
            break;
        printf("# %zu runs, %.2f GPU-hours: %s\n", rounds[n].nruns, rounds[n].gpu_hours,
               rounds[n].reason);
        for (size_t i = 0; i < rounds[n].nruns; i++) {
            const struct design_run *r = &rounds[n].runs[i];
            if (design_expect_run(t, d, r->gpus, r->seed, r->limited, 1, table, &e))
                bail_out("%s", e.text);
        }
        results_sort(table);
    }
    printf("# %s: %d, %s; %.1f GPU-hours: %s\n", design_state_name(verdict.state), verdict.gpus,
           design_how_name(verdict.how), verdict.gpu_hours, verdict.why);
    struct buf b = {0};
    design_describe(d, rounds, n, &verdict, &b);
    printf("# %s", b.data);
    buf_destroy(&b);
    return n;
}

static bool has_whole(size_t n, int gpus)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < rounds[i].nruns; k++)
            if (rounds[i].runs[k].gpus == gpus && !rounds[i].runs[k].limited)
                return true;
    return false;
}

static void check_course(void)
{
    struct design d = make_design();
    struct results table = {0};
    double serial = 0.03;
    struct design_truth t = {.time = amdahl, .arg = &serial, .epochs = 72, .noise = 0.01,
                             .scatter = 0.3};

    size_t n = make(&d, &t, &table);
    ok(rounds[0].tested == 0 && rounds[0].nruns == 6, "short runs of three counts come first");
    is_int(verdict.state, DESIGN_DECIDED, "the design decides");
    is_int(verdict.gpus, 8, "the fastest count with an efficiency of 0.80");
    is_int(verdict.how, DESIGN_HOLDS, "whose quality holds");
    ok(!has_whole(n, 10) && !has_whole(n, 14), "slow counts never run in full");
    results_destroy(&table);
    t.falls_from = 6, t.fall = 3;
    make(&d, &t, &table);
    is_int(verdict.gpus, 4, "if quality falls from 6 GPUs on, it is 4");
    is_int(verdict.tests[0].how, DESIGN_FALLS, "that of 8 falls");
    is_int(verdict.ntests, 3, "three counts are tested");
    ok(verdict.tests[1].interval.low > -0.01 && verdict.tests[0].interval.high < -0.01,
       "the intervals say so");
    results_destroy(&table);
}

int main(void)
{
    rounds = calloc(DESIGN_ROUNDS, sizeof *rounds);
    check_course();
    free(rounds);
    return done_testing();
}
