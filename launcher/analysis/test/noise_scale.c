/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/noise_scale.h"

#include "launcher/analysis/test/near.h"
#include "launcher/analysis/test/table.h"

static struct results table;
static struct series s[SERIES_MAX];
static struct noise_scale n;
static const struct series_facts facts;

/* |G|^2 = 2 and tr(Sigma) = 640 give 2 + 640 / batch over so many images. */
static void add(int gpus, long seed, double wobble)
{
    struct result *r = table_add(&table, "x", gpus, seed, 1);

    r->batch_per_gpu = 16;
    if (gpus > 1) {
        r->grad_local = (2 + 640. / 16) * wobble;
        r->grad_global = (2 + 640. / (16 * gpus)) * wobble;
    }
}

static void compute(void)
{
    size_t k;

    series_destroy(&s[0]);
    if (series_compute(s, &k, "study", &table, "x", &facts, NULL, &table_error))
        bail_out("%s", table_error.text);
    noise_scale_compute(&n, &s[0]);
}

int main(void)
{
    add(1, 1, 1);
    compute();
    ok(!n.measured && isnan(n.critical_batch) && strstr(n.why_not, "not measured"), "one GPU can't tell: %s",
       n.why_not);
    add(4, 1, 1);
    compute();
    ok(n.measured && n.nruns == 1 && !interval_is_known(&n.interval), "one run, no interval");
    near(n.critical_batch, 320, 1e-9, "tr(Sigma) / |G|^2 comes out");
    near(n.gpus, 20, 1e-9, "as GPUs of 16 images");
    add(2, 1, 1.1);
    add(8, 1, 0.9);
    compute();
    near(n.critical_batch, 320, 1e-9, "whatever the counts");
    ok(interval_is_known(&n.interval) && n.interval.low <= 320 + 1e-9 && 320 - 1e-9 <= n.interval.high,
       "with an interval over runs");
    for (size_t i = 0; i < table.count; i++)
        table.rows[i].grad_global = table.rows[i].grad_local / 16;
    compute();
    ok(!n.measured && strstr(n.why_not, "lost in its noise"), "a gradient below its noise: %s", n.why_not);
    series_destroy(&s[0]);
    results_destroy(&table);
    return done_testing();
}
