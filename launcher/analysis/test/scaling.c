/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/scaling.h"

#include <math.h>

#include "t/tap.h"

static struct err e;

static struct result *add(struct results *table, const char *engine, int gpus, long seed, double epoch)
{
    struct result r;

    result_init(&r);
    snprintf(r.run, sizeof r.run, "%s-%d-%ld", engine, gpus, seed);
    result_set_text(r.engine, sizeof r.engine, engine);
    r.gpus = gpus, r.seed = seed, r.state = RESULT_DONE;
    r.first_epoch_s = 3 * epoch, r.second_epoch_s = epoch * 1.25, r.median_epoch_s = epoch;
    r.training_time = 12 * epoch, r.iou = 0.9;
    if (results_add(table, &r, &e))
        bail_out("%s", e.text);
    return &table->rows[table->count - 1];
}

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-12;
}

static void check_known_numbers(void)
{
    struct results table = {0};
    struct scaling s;

    add(&table, "embedded", 1, 1, 8);
    add(&table, "embedded", 2, 1, 5);
    add(&table, "embedded", 2, 2, 4);
    add(&table, "embedded", 2, 3, 6);
    add(&table, "embedded", 4, 1, 2)->state = RESULT_FAILED;
    add(&table, "embedded", 8, 1, 2)->oversubscribed = 1;
    add(&table, "horovod", 2, 1, 4);
    add(&table, "horovod", 6, 1, 2);
    ok(scaling_compute(&s, &table, "embedded", &e) == 0, "one engine of two");
    is_int(s.npoints, 3, "a count with no good run is no point");
    const struct scaling_point *two = &s.points[1], *eight = &s.points[2];
    ok(near(two->epoch_s.median, 5) && near(two->epoch_s.min, 4) && near(two->epoch_s.max, 6) &&
           two->nruns == 3,
       "median and spread over the seeds");
    ok(near(two->speedup_steady, 1.6) && near(two->efficiency, 0.8), "times are summed up, then divided");
    ok(near(eight->speedup_total, 4) && near(eight->efficiency_total, 0.5), "by total time");
    ok(near(eight->speedup_second, 4), "by the second epoch");
    ok(near(s.points[0].efficiency, 1) && near(s.points[0].speedup_total, 1), "the base case is 1");
    ok(eight->oversubscribed && !two->oversubscribed, "who was oversubscribed");
    ok(isnan(two->images_per_s.median) && !s.by_images, "what is not known is NaN");
    ok(near(eight->gpu_hours, 8 * 24 / 3600.), "GPU hours");
    scaling_destroy(&s);

    ok(scaling_compute(&s, &table, "horovod", &e) == 0 && s.npoints == 2, "the other engine");
    ok(near(s.points[1].speedup_steady, 2) && near(s.points[1].efficiency, 2. / 3) &&
           near(scaling_ideal(&s, 6), 3),
       "without N=1 the smallest count is the base, and ideal is N / base");
    scaling_destroy(&s);
    ok(scaling_compute(&s, &table, "nobody", &e) == 0 && s.npoints == 0, "no runs, no points");
    scaling_destroy(&s);

    size_t row = 0;
    is_str(scaling_next_engine(&table, &row), "embedded", "the first engine");
    is_str(scaling_next_engine(&table, &row), "horovod", "the second");
    ok(!scaling_next_engine(&table, &row), "no third");
    results_destroy(&table);
}

/* 12 GPUs that drop a remainder process fewer images in less time: that is no speed. */
static void check_dropped_images(void)
{
    struct results table = {0};
    struct scaling s;

    add(&table, "embedded", 1, 1, 10)->images = 100;
    add(&table, "embedded", 2, 1, 4)->images = 80;
    ok(scaling_compute(&s, &table, "embedded", &e) == 0 && s.by_images, "images are known");
    ok(near(s.points[1].speedup_steady, 2.5) && near(s.points[1].efficiency, 1),
       "efficiency counts images, not epochs");
    scaling_destroy(&s);
    results_destroy(&table);
}

int main(void)
{
    check_known_numbers();
    check_dropped_images();
    return done_testing();
}
