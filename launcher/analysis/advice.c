/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/advice.h"

#include <math.h>
#include <stdio.h>

#include "src/plural.h"

static double value_for(const struct series_point *p, enum quantity q)
{
    return q == QUANTITY_COUNT ? p->gpu_hours : p->q[q].median;
}

/* Chooses the measured count with the smallest q (QUANTITY_COUNT stands for GPU-hours); of equal
 * ones that with the fewest GPUs. None is chosen if the numbers of epochs differ, the epoch grows
 * with the GPUs, or a count with whole runs has no q. */
static void choose_least(struct advice_choice *c, const struct series *s, enum quantity q,
                         const char *what)
{
    const struct series_point *best = NULL, *without = NULL;

    for (size_t i = 0; i < s->npoints; i++) {
        const struct series_point *p = &s->points[i];
        if (isnan(value_for(p, q)))
            without = isnan(p->q[QUANTITY_WHOLE].median) ? without : p;
        else if (!best || value_for(p, q) < value_for(best, q))
            best = p;
    }
    *c = (struct advice_choice){.value = NAN};
    if (!s->equal_epochs || s->mode == SERIES_WEAK) {
        snprintf(c->why, sizeof c->why, "%s", !s->equal_epochs
                 ? "runs trained for different numbers of epochs" : "the work grows with the GPUs");
        return;
    }
    if (!best || without) {
        snprintf(c->why, sizeof c->why, best ? "%s was not recorded for %d GPU%s"
                 : "%s was not recorded (--watts W would estimate it)", what,
                 without ? without->gpus : 0, plural(without ? without->gpus : 0));
        return;
    }
    *c = (struct advice_choice){.gpus = best->gpus, .measured = true, .value = value_for(best, q)};
    snprintf(c->why, sizeof c->why, "least %s of the counts %s", what,
             s->limited ? "with whole runs" : "measured");
}

/* Returns whether the energy of the chosen count is below that of all others, by the intervals of
 * their ratios. */
static bool is_separated(const struct series *s, const struct series_point *chosen, enum quantity q)
{
    for (size_t i = 0; i < s->npoints; i++) {
        const struct series_point *p = &s->points[i];
        if (p == chosen || isnan(p->q[q].median))
            continue;
        struct ratio r = series_compare(chosen, p, q);
        if (!interval_is_known(&r.interval) || r.interval.high >= 1)
            return false;
    }
    return true;
}

static void choose_energy(struct advice *a, const struct series *s)
{
    size_t gpus = 0, nodes = 0;

    for (size_t i = 0; i < s->npoints; i++) {
        gpus += s->points[i].q[QUANTITY_ENERGY].count;
        nodes += s->points[i].q[QUANTITY_NODE_ENERGY].count;
    }
    a->energy_by = nodes && !gpus ? QUANTITY_NODE_ENERGY : QUANTITY_ENERGY;
    choose_least(&a->energy, s, a->energy_by, a->energy_by == QUANTITY_ENERGY ? "energy"
                 : "energy of whole nodes, by Slurm,");
    const struct series_point *p = series_find(s, a->energy.gpus);
    a->energy_separated = p && is_separated(s, p, a->energy_by);
    for (size_t i = 0; p && i < p->nruns; i++)
        a->energy_estimated |= p->rows[i].energy_estimated;
    if (p && !a->energy_separated)
        snprintf(a->energy.why, sizeof a->energy.why, "smallest median of the counts measured; "
                 "the intervals do not separate it from all others");
}

/* Chooses the fewest GPUs that meet the deadline, among measured counts and those that the model
 * predicts between and beyond them, up to MODEL_FURTHEST times the largest. */
static void meet_deadline(struct advice_choice *c, const struct series *s,
                          const struct model *whole, double deadline_s)
{
    int last = MODEL_FURTHEST * s->points[s->npoints - 1].gpus;

    *c = (struct advice_choice){.value = NAN};
    if (!(deadline_s > 0)) {
        snprintf(c->why, sizeof c->why, "no deadline was given");
        return;
    }
    for (size_t i = 0; i < s->npoints; i++)
        if (s->points[i].q[QUANTITY_WHOLE].median <= deadline_s) {
            *c = (struct advice_choice){.gpus = s->points[i].gpus, .measured = true,
                                        .value = s->points[i].q[QUANTITY_WHOLE].median,
                                        .why = "the fewest GPUs measured that meet the deadline"};
            break;
        }
    for (int n = s->points[0].gpus + 1; n <= last && (!c->gpus || n < c->gpus); n++) {
        if (series_find(s, n) || !model_is_usable(whole))
            continue;
        struct bounds time = model_predict(whole, n);
        if (time.high > deadline_s)
            continue;
        *c = (struct advice_choice){.gpus = n, .value = time.expected,
                                    .extrapolated = model_is_extrapolation(whole, n)};
        snprintf(c->why, sizeof c->why, "predicted by the model, which expects at most %.4g s (95 "
                 "%%)%s; it was not measured",
                 time.high, n > whole->largest ? ", beyond what was measured" : "");
        return;
    }
    if (!c->gpus)
        snprintf(c->why, sizeof c->why,
                 "no count up to %d, twice the largest measured, meets it", last);
}

void advice_compute(struct advice *a, const struct series *s, const struct model *whole,
                    double deadline_s)
{
    choose_least(&a->time, s, QUANTITY_WHOLE, "time");
    choose_least(&a->gpu_hours, s, QUANTITY_COUNT, "GPU-hours");
    a->energy_estimated = false;
    choose_energy(a, s);
    meet_deadline(&a->deadline, s, whole, deadline_s);
}
