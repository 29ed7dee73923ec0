/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/rules.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/analysis/analysis.h"
#include "launcher/analysis/statistics/shapiro_wilk.h"
#include "src/plural.h"

#define NORMAL_ALPHA 0.05
#define MEDIAN_INTERVAL_FEWEST 6 /* values, for a 95 % interval of their median (median.h) */

static const char *const texts[RULES_COUNT] = {
    "Say whether a speed-up's base case is one GPU of the same program, and give its time.",
    "Say why only a part of the possible cases was measured.",
    "Sum up costs by the arithmetic mean, rates by the harmonic mean.",
    "Do not average ratios; average what they are made of.",
    "Say whether values are deterministic; otherwise give intervals of confidence.",
    "Do not take values as normal without a check.",
    "Compare by statistics that fit the data, not by eye.",
    "Think about whether means and medians, or the tails, answer the question.",
    "Say all factors that were varied, and the whole setup.",
    "Say how parallel times were taken: what is synchronized, what is summed up over processes.",
    "Show a bound of the performance where there is one.",
    "Plot as much as is needed to read the result; join points only where that means something.",
};

const char *rule_state_name(enum rule_state state)
{
    static const char *const names[] = {"met", "not met", "not applicable"};

    return names[state];
}

__attribute__((format(printf, 3, 4)))
static void set_rule(struct rule *r, enum rule_state state, const char *fmt, ...)
{
    va_list ap;

    r->state = state;
    va_start(ap, fmt);
    vsnprintf(r->why, sizeof r->why, fmt, ap);
    va_end(ap);
}

/* The facts that the rules depend on, over all series. */
struct rule_facts {
    size_t nseries, fewest, most; /* fewest, most: runs per count */
    bool settings; /* a series is named by its settings, so they were varied */
    bool base_is_one, setup, records, knows_images, tested;
    bool judged;          /* some run has a quality */
    bool stepped, images; /* some series has no epochs; some counts images */
    int missing;
    size_t nchecked; /* points (GPU counts of a series) with enough runs to test for normality */
    double normal;   /* p-value for the steady epoch times of all these points being normal */
};

/* Returns the p-value for the point's steady epochs being normal, or NaN if that cannot be
 * tested. */
static double check_normality(const struct series_point *p)
{
    double *times = calloc(p->nruns + 1, sizeof *times), result = NAN;

    for (size_t i = 0; times && i < p->nruns; i++)
        times[i] = quantity_of(&p->rows[i], QUANTITY_STEADY_EPOCH);
    if (times)
        result = shapiro_wilk_test(times, p->nruns).p;
    free(times);
    return result;
}

static void gather_normality(struct rule_facts *f, const struct analysis *a)
{
    size_t n = 0, most = 0;

    for (size_t i = 0; i < a->nseries; i++)
        most += a->series[i].series.npoints;
    double *p = calloc(most + 1, sizeof *p);
    for (size_t i = 0; p && i < a->nseries; i++)
        for (size_t k = 0; k < a->series[i].series.npoints; k++) {
            p[n] = check_normality(&a->series[i].series.points[k]);
            f->nchecked += !isnan(p[n++]);
        }
    f->normal = p ? shapiro_wilk_combine(p, n) : NAN;
    free(p);
}

static struct rule_facts gather_facts(const struct analysis *a)
{
    struct rule_facts f = {.fewest = (size_t)-1,
                      .base_is_one = true,
                      .setup = true,
                      .records = true,
                      .knows_images = true,
                      .tested = true};

    for (size_t i = 0; i < a->nseries; i++) {
        const struct series *s = &a->series[i].series;
        f.settings |= strcmp(s->name, s->engine) != 0;
        f.base_is_one &= s->points[0].gpus == 1;
        f.knows_images &= s->by_images;
        for (size_t k = 0; k < s->npoints; k++) {
            const struct series_point *p = &s->points[k];
            f.fewest = p->nruns < f.fewest ? p->nruns : f.fewest;
            f.most = p->nruns > f.most ? p->nruns : f.most;
            f.setup &= p->batch_per_gpu > 0 && p->rows[0].host[0];
            f.records &= !isnan(p->q[QUANTITY_COMM].median);
            f.tested &= p->nruns - p->nlimited > 1;
            f.judged |= s->has_quality;
            f.stepped |= s->stepped;
            f.images |= strcmp(s->unit, "images") == 0;
        }
    }
    for (size_t i = 0; i < a->nsources; i++)
        f.missing +=
            (int)(a->sources[i].results.count -
                  results_count(&a->sources[i].results, RESULT_DONE));
    gather_normality(&f, a);
    return f;
}

static void check_base_rule(struct rule *r, const struct analysis *a)
{
    const struct series *s = &a->series[0].series;
    const struct series_point *p = s->points;

    char training[48] = "";

    if (!isnan(p->q[QUANTITY_TRAINING].median))
        snprintf(training, sizeof training, ", %.4g s for the %s",
                 p->q[QUANTITY_TRAINING].median, s->stepped ? "whole run" : "training");
    set_rule(r, RULE_MET,
        "The base case is %d GPU%s of the same program: %.4g s per steady %s%s%s.",
        p->gpus, plural(p->gpus), p->q[QUANTITY_STEADY_EPOCH].median, series_interval(s), training,
        p->gpus == 1 ? "" : "; 1 GPU was not measured, which the report states");
}

static void check_subset(struct rule *r, const struct rule_facts *f)
{
    if (f->missing)
        set_rule(r, RULE_NOT_MET,
            "%d run%s no result; the report names %s, but not why the counts that were measured "
            "are enough.",
            f->missing, f->missing == 1 ? " has" : "s have",
            f->missing == 1 ? "it and its reason" : "them and their reasons");
    else
        set_rule(r, RULE_MET, "Every run that was asked for has a result and is shown.");
}

static void check_intervals(struct rule *r, const struct rule_facts *f)
{
    if (f->fewest >= MEDIAN_INTERVAL_FEWEST)
        set_rule(r, RULE_MET,
            "Times are not deterministic: medians and speed-ups have 95 %% intervals over %zu "
            "runs per count at the least.",
            f->fewest);
    else if (f->fewest > 1)
        set_rule(r, RULE_NOT_MET,
            "Times are not deterministic. Speed-ups have 95 %% intervals over %zu runs per count "
            "at the least, but medians of fewer than %d runs have only their range.",
            f->fewest, MEDIAN_INTERVAL_FEWEST);
    else
        set_rule(r, RULE_NOT_MET,
            "Times are not deterministic, and some count has one run: its interval is over the "
            "%s of that run only. Repeat with --seeds 3 or more.",
            f->stepped ? "intervals" : "epochs");
}

static void check_normal_samples(struct rule *r, const struct rule_facts *f)
{
    char found[120] = "";

    if (f->nchecked)
        snprintf(found, sizeof found,
                 "Shapiro and Wilk's test of the steady %s at %zu count%s, combined by "
                 "Fisher: p = %.2g. ", f->stepped ? "intervals" : "epochs", f->nchecked,
                 plural((long)f->nchecked), f->normal);
    if (f->fewest >= 10)
        set_rule(r, RULE_MET,
            "%sTimes are not taken as normal: medians have order-statistic intervals, speed-ups "
            "bootstrap intervals. Changes of quality have Student's t, which takes differences of "
            "runs as normal.",
            found);
    else if (f->most < 2)
        set_rule(r, RULE_NOT_APPLICABLE,
            "With one run per count the distribution of values is unknown.");
    else if (f->nchecked == 0)
        set_rule(r, RULE_NOT_MET,
            "With fewer than 10 runs per count speed-ups have Fieller's interval, "
            "which assumes normal times; checking that takes 3 runs that differ.");
    else if (f->normal < NORMAL_ALPHA)
        set_rule(r, RULE_NOT_MET,
            "%sTimes are not normal, but with fewer than 10 runs per count "
            "speed-ups have Fieller's interval, which assumes that they are. Repeat 10 times.",
            found);
    else
        set_rule(r, RULE_MET,
            "%sNothing speaks against normal times, which Fieller's interval of speed-ups "
            "assumes, though few runs show only gross departures; medians assume nothing.",
            found);
}

static void check_comparison(struct rule *r, const struct rule_facts *f)
{
    if (!f->judged)
        set_rule(r, f->fewest > 1 ? RULE_MET : RULE_NOT_MET,
            "Times are compared by intervals of their ratios%s. No run has a quality.",
            f->fewest > 1 ? "" : ", but some count has one run");
    else if (f->tested)
        set_rule(r, RULE_MET,
            "Quality is compared with the base case by the interval of its change (Student's t, "
            "simultaneous over the counts by Bonferroni), and runs that collapse are counted.");
    else
        set_rule(r, RULE_NOT_MET,
            "Not enough repeats: some count has one run, whose quality may be chance.");
}

static void check_setup(struct rule *r, const struct rule_facts *f)
{
    if (f->setup)
        set_rule(r, RULE_MET,
            "GPUs%s%s were varied; run.json and record.jsonl of each run hold the rest: batch, "
            "%sversions, hosts.",
            f->most > 1 ? f->settings ? ", seeds" : " and seeds"
            : f->settings ? "" : ", but not seeds,",
            f->settings ? " and settings (each series has a table of them)" : "",
            f->images ? "network, data, " : "");
    else
        set_rule(r, RULE_NOT_MET,
                 "These logs hold no setup: neither batch nor hosts nor versions.");
}

static void check_timing(struct rule *r, const struct rule_facts *f)
{
    if (f->records)
        set_rule(r, RULE_MET,
            "The time of an %s is the largest over the ranks, which start it together; waiting for "
            "data and communication is rank 0's.", f->stepped ? "interval" : "epoch");
    else
        set_rule(r, RULE_NOT_MET,
            "The logs do not state whose clock was used, and whether ranks were synchronized.");
}

static void check_bound(struct rule *r, const struct rule_facts *f)
{
    set_rule(r, RULE_MET,
        "Ideal scaling is drawn beside each speed-up, and the model of the times where it may be "
        "used%s.",
        f->knows_images ? "" : "; without counts of work it may be exceeded");
}

void rules_compute(struct rule rules[RULES_COUNT], const struct analysis *a)
{
    struct rule_facts f = gather_facts(a);

    for (int i = 0; i < RULES_COUNT; i++)
        rules[i] = (struct rule){.number = i + 1, .text = texts[i]};
    check_base_rule(&rules[0], a);
    check_subset(&rules[1], &f);
    set_rule(&rules[2], RULE_MET,
        "Times are summed up by their median, energy and GPU-hours from it; %s per second of "
        "a count are %s over that time, never a mean of rates.", f.images ? "images" : "units",
        f.images ? "images" : "units");
    set_rule(&rules[3], RULE_MET,
        "Times are summed up over runs first, then divided; no mean of speed-ups or efficiencies "
        "is taken.");
    check_intervals(&rules[4], &f);
    check_normal_samples(&rules[5], &f);
    check_comparison(&rules[6], &f);
    set_rule(&rules[7], RULE_MET,
        "Medians, because %ss have slow outliers; smallest and largest run%s are shown by "
        "themselves.", f.stepped ? "interval" : "epoch",
        f.stepped ? "" : ", and the first epoch, which is the tail,");
    check_setup(&rules[8], &f);
    check_timing(&rules[9], &f);
    check_bound(&rules[10], &f);
    set_rule(&rules[11], RULE_MET,
        "Figures show every count with its interval%s; lines join counts to guide the eye, and "
        "models are drawn no further than twice what was measured.",
        f.stepped ? "" : ", and losses by epoch");
}
