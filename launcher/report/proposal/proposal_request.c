/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/proposal/proposal_request.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/settings/settings.h"

int proposal_request_decode(const char *text, struct proposal_request *dst, struct err *e)
{
    const char *colon = strrchr(text, ':');
    long gpus, runs;
    double hours = NAN;
    int end = 0, all = 0;

    if (colon)
        sscanf(colon + 1, "%ld x %ld %n x %lf %n", &gpus, &runs, &end, &hours, &all);
    if (!end || colon == text || colon - text >= (ptrdiff_t)sizeof dst->name ||
        colon[1 + (all ? all : end)] || gpus < 1 || gpus > SETTINGS_GPUS_MAX || runs < 1 ||
        runs > 1000000 || (all && !(hours > 0 && hours <= 1e6)))
        return err_set(e, ERR_USAGE, "report: --request '%s': must be 'NAME: GPUS x RUNS x HOURS', "
                       "such as 'training: 8 x 20 x 12.5'; without HOURS, those of a whole run as "
                       "measured", text);
    *dst = (struct proposal_request){.gpus = (int)gpus, .runs = runs, .hours = hours};
    snprintf(dst->name, sizeof dst->name, "%.*s", (int)(colon - text), text);
    return 0;
}

int proposal_request_end(const struct report_series *rs)
{
    const struct series *s = &rs->as->series;
    int largest = s->points[s->npoints - 1].gpus;

    return model_is_usable(&rs->as->steady) ? MODEL_FURTHEST * largest : largest;
}

enum { GPUS, NODES, RUNS, HOURS, GPU_H, NODE_H, CORE_H, FLOP, STORAGE, NCOLUMNS };

static const char *const heads[NCOLUMNS] = {"GPUs",   "nodes",  "runs", "hours of a run", "GPU-h",
                                            "node-h", "core-h", "FLOP", "storage GB"};

/* Adds the values of a row from a column on; NaN becomes a blank. */
static void add_row(struct table *t, const char *name, const double v[NCOLUMNS], int from,
                    bool flop)
{
    table_add_text(t, "job type", "%s", name);
    for (int i = 0; i < NCOLUMNS; i++)
        if (i < from || (i == FLOP && !flop))
            table_addf(t, heads[i], "%s", i == FLOP ? "-" : "");
        else if (isnan(v[i]))
            table_addf(t, heads[i], PROPOSAL_BLANK);
        else if (v[i] < 1 || v[i] >= 1e12)
            table_addf(t, heads[i], "%.4g", v[i]);
        else
            table_addf(t, heads[i], "%.*f", v[i] == floor(v[i]) || v[i] >= 1000 ? 0 : 2, v[i]);
}

/* Adds the efficiency with these GPUs, and where it is from. */
static void add_efficiency(struct table *t, const struct report_series *rs, int gpus)
{
    static const char head[] = "efficiency";
    const struct series *s = &rs->as->series;
    const struct series_point *p = series_find(s, gpus);
    const struct model *m = &rs->as->steady;
    const struct ratio *r = p ? series_efficiency(s, p) : NULL;
    double share = (double)s->points[0].gpus / gpus;

    if (p == s->points)
        table_add_text(t, head, "1 (base case)");
    else if (r && interval_is_known(&r->interval))
        table_add_text(t, head, "%.2f (%.2f..%.2f), measured", r->value, r->interval.low,
                       r->interval.high);
    else if (r && isfinite(r->value))
        table_add_text(t, head, "%.2f, measured, without an interval", r->value);
    else if (model_is_usable(m) && !model_is_extrapolation(m, gpus) && gpus > m->smallest) {
        struct bounds b = model_speedup(m, s->points[0].gpus, gpus);
        table_add_text(t, head, "%.2f (%.2f..%.2f), not measured: %s", share * b.expected,
                       share * b.low, share * b.high,
                       gpus > m->largest ? "extrapolation" : "interpolation");
    } else
        table_add_text(t, head, "not measured, not predicted");
}

static double known(double value)
{
    return value > 0 ? value : NAN;
}

static void add_request(struct table *t, const struct report_series *rs,
                        const struct proposal_facts *facts, const struct proposal_request *q,
                        double sum[NCOLUMNS])
{
    const struct series_point *p = series_find(&rs->as->series, q->gpus);
    double measured = p ? p->q[QUANTITY_WHOLE].median / 3600 : NAN;
    double step = measured < 1 ? 1e4 : 1e2; /* rounded, so that printed numbers multiply */
    double hours = isnan(q->hours) ? ceil(measured * step) / step : q->hours;
    double all = (double)q->runs * hours;
    double nodes = p && p->nodes ? p->nodes : ceil(q->gpus / known(facts->gpus_per_node));
    const double v[NCOLUMNS] = {
        q->gpus, nodes, (double)q->runs, hours, q->gpus * all, nodes * all,
        known(facts->cpus_per_gpu) * q->gpus * all,
        p ? facts->flop * p->q[QUANTITY_RATE].median * 3600 * all : NAN,
        known(facts->run_bytes) * (double)q->runs / 1e9};

    add_row(t, q->name, v, GPUS, facts->flop > 0);
    add_efficiency(t, rs, q->gpus);
    for (int i = 0; i < NCOLUMNS; i++)
        sum[i] += v[i];
}

void proposal_request_fill(struct table *t, const struct report_series *rs,
                           const struct proposal_facts *facts)
{
    static const double blank[NCOLUMNS] = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    double sum[NCOLUMNS] = {0};
    char cores[48] = "", bytes[96] = "", flop[128] = "";

    if (facts->cpus_per_gpu)
        snprintf(cores, sizeof cores, ", %d for each GPU", facts->cpus_per_gpu);
    if (facts->run_bytes > 0)
        snprintf(bytes, sizeof bytes, " Storage: %.3g GB for each run, as a finished one of the "
                 "study has.", facts->run_bytes / 1e9);
    if (facts->flop > 0)
        snprintf(flop, sizeof flop, " FLOP: %.4g for each of the %s, times the measured "
                 "throughput and all hours: an upper bound.", facts->flop, rs->as->series.unit);
    table_init(t, "Requested resources, with the measurements of %s. GPU-h: GPUs x runs x hours. "
               "node-h: whole nodes. core-h: the cores that jobs ask for%s. Hours that the request "
               "does not give are those of a whole run as measured, rounded up.%s%s", rs->label,
               cores, bytes, flop);
    for (size_t i = 0; i < facts->nrequests; i++)
        add_request(t, rs, facts, &facts->requests[i], sum);
    if (facts->nrequests == 1)
        return;
    add_row(t, facts->nrequests ? "all" : PROPOSAL_BLANK, facts->nrequests ? sum : blank,
            facts->nrequests ? GPU_H : GPUS, facts->flop > 0);
    table_add_text(t, "efficiency", facts->nrequests ? "" : PROPOSAL_BLANK);
}
