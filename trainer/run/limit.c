/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/run/limit.h"

#include <inttypes.h>
#include <math.h>

#include "src/clock.h"

#define INTERVAL_S 1.0
#define INTERVALS 20

int limit_open(struct limit *l, const struct settings *c, int64_t done, double seconds,
               struct err *e)
{
    *l = (struct limit){.steps = c->limit.steps, .seconds = 60 * c->limit.minutes, .done = done,
                        .before = done, .seconds_before = seconds};
    if (l->steps == 0 || done < l->steps)
        return 0;
    return err_set(e, ERR_CHECKPOINT, "the checkpoint has %" PRId64 " steps, and limit.steps ends "
                   "the run after %" PRId64 ": raise it (--set limit.steps=N), or start anew", done,
                   l->steps);
}

bool limit_is_set(const struct limit *l)
{
    return l->steps > 0 || l->seconds > 0;
}

bool limit_is_over(const struct limit *l)
{
    return l->seconds > 0 && l->seconds_before + clock_now() - l->began >= l->seconds;
}

void limit_continue(struct limit *l)
{
    l->began += clock_now() - l->paused;
}

static int write_interval(struct limit *l, double now, struct run_log *log, struct err *e)
{
    double seconds = now - l->began;
    size_t images = l->images;

    l->seconds_before += seconds;
    l->before = l->done;
    l->images = 0;
    l->began = now;
    return run_log_steps(log, l->done, seconds, images, e);
}

/* Of the last interval the steps may not be complete yet: limit_pause writes it. */
static bool is_due(const struct limit *l, double now)
{
    double seconds = l->seconds > 0 ? fmin(INTERVAL_S, l->seconds / INTERVALS) : INTERVAL_S;

    return !l->reached && limit_is_set(l) &&
           (now - l->began >= seconds ||
            (l->steps > 0 && (l->done - l->before) * INTERVALS >= l->steps));
}

int limit_count(struct limit *l, size_t images, struct run_log *log, struct err *e)
{
    double now = clock_now();

    l->done++;
    l->images += images;
    l->reached |= l->steps > 0 && l->done >= l->steps;
    return log && is_due(l, now) ? write_interval(l, now, log, e) : 0;
}

int limit_pause(struct limit *l, struct run_log *log, struct err *e)
{
    l->paused = clock_now();
    return log && l->reached && l->done > l->before ? write_interval(l, l->paused, log, e) : 0;
}
