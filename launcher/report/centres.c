/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/proposal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "launcher/report/report_internal.h"
#include "src/cli.h"
#include "src/format/formula.h"
#include "src/plural.h"
#include "src/settings/settings.h"

enum request_column {
    REQUEST_GPUS, /* of a run, and the next three */
    REQUEST_NODES, REQUEST_RUNS, REQUEST_HOURS, REQUEST_GPU_H, REQUEST_NODE_H, REQUEST_CORE_H,
    REQUEST_BILLED, REQUEST_FLOP, REQUEST_STORAGE, REQUEST_COLUMNS
};

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

static const char *const heads[REQUEST_COLUMNS] = {
    "GPUs", "nodes", "runs", "hours of a run", "GPU-h", "node-h", "core-h", "billed h", "FLOP",
    "storage GB"};

static void add_row(struct table *t, const char *name, const double v[REQUEST_COLUMNS], int from,
                    const struct proposal_facts *facts)
{
    table_text(t, "job type", "%s", name);
    for (int i = 0; i < REQUEST_COLUMNS; i++)
        if ((i == REQUEST_FLOP && !(facts->flop > 0)) ||
            (i == REQUEST_BILLED && !facts->billing))
            table_word(t, heads[i], "-");
        else if (i < from)
            table_word(t, heads[i], "%s", "");
        else if (isnan(v[i]))
            table_word(t, heads[i], PROPOSAL_BLANK);
        else if (v[i] < 1 || v[i] >= 1e12)
            table_word(t, heads[i], "%.4g", v[i]);
        else
            table_word(t, heads[i], "%.*f", v[i] == floor(v[i]) || v[i] >= 1000 ? 0 : 2, v[i]);
}

static const char *efficiency_describe(const struct report_series *rs, int gpus, char dst[128])
{
    const struct series *s = &rs->as->series;
    const struct series_point *p = series_find(s, gpus);
    const struct model *m = &rs->as->steady;
    const struct ratio *r = p ? series_efficiency(s, p) : NULL;
    double share = (double)s->points[0].gpus / gpus;

    if (p == s->points)
        snprintf(dst, 128, "1 (base case)");
    else if (r && interval_is_known(&r->interval))
        snprintf(dst, 128, "%.2f (%.2f..%.2f), measured", r->value, r->interval.low,
                 r->interval.high);
    else if (r && isfinite(r->value))
        snprintf(dst, 128, "%.2f, measured, without an interval", r->value);
    else if (model_is_usable(m) && !model_is_extrapolation(m, gpus) && gpus > m->smallest) {
        struct bounds b = model_speedup(m, s->points[0].gpus, gpus);
        snprintf(dst, 128, "%.2f (%.2f..%.2f), not measured: %s", share * b.expected,
                 share * b.low, share * b.high,
                 gpus > m->largest ? "predicted, if no limit begins" : "interpolation");
    } else
        snprintf(dst, 128, "not measured, not predicted");
    return dst;
}

static double known(double value)
{
    return value > 0 ? value : NAN;
}

/* Sets what a request amounts to, and adds it to sum; NaN: unknown. Hours of a measured whole run
 * are rounded up, so that printed numbers multiply. */
static void request_compute(const struct report_series *rs, const struct proposal_facts *facts,
                            const struct proposal_request *q, double dst[REQUEST_COLUMNS],
                            double sum[REQUEST_COLUMNS])
{
    const struct series_point *p = series_find(&rs->as->series, q->gpus);
    double measured = p ? p->q[QUANTITY_WHOLE].median / 3600 : NAN, step = measured < 1 ? 1e4 : 1e2;
    double hours = isnan(q->hours) ? ceil(measured * step) / step : q->hours, billed = NAN;
    double nodes = p && p->nodes ? p->nodes : ceil(q->gpus / known(facts->gpus_per_node));
    double cores = known(facts->cpus_per_gpu) * q->gpus, all = (double)q->runs * hours;
    const struct formula_value job[] = {{"gpus", q->gpus}, {"cores", cores},
                                        {"mem", nodes * known(facts->mem_gb)}, {"nodes", nodes},
                                        {NULL, 0}};

    if (facts->billing)
        formula_compute(facts->billing, job, &billed);
    const double v[REQUEST_COLUMNS] = { /* in the order of the enum */
        q->gpus, nodes, (double)q->runs, hours, q->gpus * all, nodes * all, cores * all,
        all * billed, p ? facts->flop * p->q[QUANTITY_RATE].median * 3600 * all : NAN,
        known(facts->run_bytes) * (double)q->runs / 1e9};
    for (int i = 0; i < REQUEST_COLUMNS; i++)
        sum[i] += dst[i] = v[i];
}

void proposal_request_fill(struct table *t, const struct report_series *rs,
                           const struct proposal_facts *facts)
{
    double sum[REQUEST_COLUMNS] = {0}, row[REQUEST_COLUMNS];
    size_t n = facts->nrequests;
    struct buf what = {0};
    char word[128];

    buf_addf(&what, "Requested resources, with the measurements of %s. GPU-h: GPUs x runs x hours. "
             "node-h: whole nodes. core-h: the cores that jobs ask for", rs->label);
    if (facts->cpus_per_gpu)
        buf_addf(&what, ", %d for each GPU", facts->cpus_per_gpu);
    if (facts->billing)
        buf_addf(&what, ". billed h: runs x hours x %s", facts->billing);
    buf_addf(&what, ". Hours that the request does not give are those of a whole run%s, rounded up.",
             rs->as->series.logged ? ", as logged" : ", from its job's start to its end");
    if (facts->run_bytes > 0)
        buf_addf(&what, " Storage: %.3g GB for each run, as a finished one of the study has.",
                 facts->run_bytes / 1e9);
    if (facts->flop > 0)
        buf_addf(&what, " FLOP: %.4g for each of the %s, times the measured throughput and all "
                 "hours: an upper bound.", facts->flop, rs->as->series.unit);
    table_init(t, "%s", what.data ? what.data : "");
    t->failed |= what.failed;
    buf_destroy(&what);
    for (size_t i = 0; i < n; i++) {
        request_compute(rs, facts, &facts->requests[i], row, sum);
        add_row(t, facts->requests[i].name, row, REQUEST_GPUS, facts);
        table_text(t, "efficiency", "%s",
                   efficiency_describe(rs, facts->requests[i].gpus, word));
    }
    if (n == 1)
        return;
    for (int k = 0; !n && k < REQUEST_COLUMNS; k++)
        sum[k] = NAN;
    add_row(t, n ? "all" : PROPOSAL_BLANK, sum, n ? REQUEST_GPU_H : REQUEST_GPUS, facts);
    table_text(t, "efficiency", "%s", n ? "" : PROPOSAL_BLANK);
}

void proposal_request_describe(struct buf *b, const struct report_series *rs,
                               const struct proposal_facts *facts)
{
    double row[REQUEST_COLUMNS], sum[REQUEST_COLUMNS] = {0};

    for (const struct proposal_request *q = facts->requests; q < facts->requests + facts->nrequests;
         q++) {
        request_compute(rs, facts, q, row, sum);
        buf_addf(b, "We request %ld run%s of %s on %d GPU%s, ", q->runs, plural(q->runs), q->name,
                 q->gpus, plural(q->gpus));
        if (isfinite(row[REQUEST_HOURS]))
            buf_addf(b, "%.4g h each: %.4g GPU-h.\n", row[REQUEST_HOURS], row[REQUEST_GPU_H]);
        else
            buf_add(b, PROPOSAL_BLANK " h each.\n");
    }
}

/* ---- what centres ask ---- */

#define SAY_REQUEST "--request 'NAME: GPUS x RUNS x HOURS'"
#define LEAVE(why) buf_add(b, PROPOSAL_BLANK ": " why)

enum answer {
    COUNTS, WALL, DOUBLING, GPU_USE, AFFINITY, SCRIPT, PROGRAM, NODE_H, GPU_H, CORE_H, PEAK,
    EVIDENCE, NORMALISED, TYPICAL, LARGEST, CHOICE, STORAGE, USE, SMALLEST, MODE, INPUT,
    EXTRAPOLATION
};

static const struct item {
    const char *key, *name; /* of a centre; its items have neither */
    const char *text;
    enum answer answer;
} items[] = {
#define CENTRE(key, name, page) {#key, name, NULL, PROGRAM},
#define ITEM(text, answer) {NULL, NULL, text, answer},
#include "launcher/report/centres.def"
};
#define NITEMS (sizeof items / sizeof *items)

struct asked {
    const struct report_series *rs;
    const struct proposal_facts *facts;
    double sum[REQUEST_COLUMNS]; /* over all requests */
    double nodes[2]; /* of a job of the request with the most node-h, and of the largest */
};

int centre_check(const char *name, struct err *e)
{
    const char *keys[NITEMS + 1] = {NULL};
    char list[128] = "";
    size_t n = 0;

    for (size_t i = 0; i < NITEMS; i++)
        if (items[i].key) {
            strcat(strcat(list, n ? ", " : ""), items[i].key);
            keys[n++] = items[i].key;
            if (strcmp(items[i].key, name) == 0)
                return 0;
        }
    return err_set(e, ERR_USAGE, "report: --for %s: unknown centre%s (known: %s)", name,
                   cli_suggest(name, keys, (char[CLI_SUGGESTION]){0}), list);
}

/* Adds what each count has, "1 GPU: 120 s, 2: 61.3 s", or a blank. */
static void add_each(struct buf *b, const struct asked *a, enum quantity q, double scale,
                     const char *unit, const char *why)
{
    const struct series *s = &a->rs->as->series;
    size_t known = 0;

    for (const struct series_point *p = s->points; p < s->points + s->npoints; p++)
        if (!isnan(p->q[q].median)) {
            buf_addf(b, "%s%d%s: %.4g%s", known ? ", " : "", p->gpus,
                     known ? "" : p->gpus > 1 ? " GPUs" : " GPU", scale * p->q[q].median, unit);
            known++;
        }
    if (!known)
        buf_addf(b, PROPOSAL_BLANK ": %s", why);
}

/* Adds the sum of a column over all requests, or a blank and what is missing. */
static void add_sum(struct buf *b, const struct asked *a, enum request_column column, double factor,
                    const char *unit)
{
    double sum = a->sum[column] * factor;

    if (!a->facts->nrequests)
        LEAVE(SAY_REQUEST " says what is requested");
    else if (isnan(sum))
        buf_addf(b, PROPOSAL_BLANK ": %s",
                 isnan(a->sum[REQUEST_HOURS]) ? "hours of a run, " SAY_REQUEST
                 : column == REQUEST_NODE_H   ? "GPUs of a node, --gpus-per-node"
                 : column == REQUEST_CORE_H ? "cores of a GPU, which folders of logs do not have"
                                            : "slurm.mem, or another number of the formula");
    else
        buf_addf(b, "%.*f %s", sum < 100 ? 2 : 0, sum, unit);
}

static void add_hours(struct buf *b, const struct asked *a, enum request_column column,
                      const char *unit)
{
    add_sum(b, a, column, 1, unit);
    if (a->facts->billing && a->facts->nrequests) {
        buf_add(b, "; billed ");
        add_sum(b, a, REQUEST_BILLED, 1, "h");
    }
}

static void add_counts(struct buf *b, const struct asked *a)
{
    const struct series *s = &a->rs->as->series;
    int most = s->points[s->npoints - 1].gpus, measured = most;

    for (size_t i = 0; i < s->npoints; i++) {
        const struct series_point *p = &s->points[i];
        buf_addf(b, "%s%d%s", i ? ", " : "", p->gpus, i ? "" : p->gpus > 1 ? " GPUs" : " GPU");
        if (p->nodes)
            buf_addf(b, " (%d node%s)", p->nodes, plural(p->nodes));
    }
    for (size_t i = 0; i < a->facts->nrequests; i++)
        most = a->facts->requests[i].gpus > most ? a->facts->requests[i].gpus : most;
    if (most > measured)
        buf_addf(b, "; the %d GPUs requested were not measured", most);
}

/* Adds how much faster the program is for twice the GPUs, from each count to the next. */
static void add_doubling(struct buf *b, const struct asked *a)
{
    const struct series *s = &a->rs->as->series;
    const struct series_point *p = s->points;
    char word[128];

    for (size_t i = 1; i < s->npoints; i++, p++) {
        double gain = series_speedup(s, p + 1)->value / series_speedup(s, p)->value;
        buf_addf(b, "%s%.2f%s (%d to %d%s)", i > 1 ? ", " : "for each doubling ",
                 pow(gain, 1 / log2((double)p[1].gpus / p->gpus)), i > 1 ? "" : " times", p->gpus,
                 p[1].gpus, i > 1 ? "" : " GPUs");
    }
    if (s->npoints < 2)
        LEAVE("one count shows no scaling");
    else
        buf_addf(b, "; efficiency of %d GPUs %s", p->gpus,
                 efficiency_describe(a->rs, p->gpus, word));
}

static void add_evidence(struct buf *b, const struct asked *a)
{
    char word[128];

    for (size_t i = 0; i < a->facts->nrequests; i++)
        buf_addf(b, "%s%d GPUs: efficiency %s", i ? "; " : "", a->facts->requests[i].gpus,
                 efficiency_describe(a->rs, a->facts->requests[i].gpus, word));
    if (!a->facts->nrequests)
        LEAVE("--request says what sizes are requested");
}

static void add_input(struct buf *b, const struct asked *a)
{
    const struct series *s = &a->rs->as->series;

    if (s->rows[0].stage_bytes > 0)
        buf_addf(b, "%.3g GB are copied to the first node before a run; ",
                 s->rows[0].stage_bytes / 1e9);
    if (!isnan(s->points[0].q[QUANTITY_STAGE].median)) {
        buf_add(b, "seconds of that: ");
        add_each(b, a, QUANTITY_STAGE, 1, " s", "");
        buf_add(b, "; ");
    }
    buf_add(b, "waiting for data in an epoch: ");
    add_each(b, a, QUANTITY_DATA, 1, " s", "not recorded");
}

/* Adds what is one text, whatever was measured. */
static void add_text(struct buf *b, const struct asked *a, enum answer answer)
{
    const char *const modes[] = {
        [SERIES_BATCH_UNKNOWN] = PROPOSAL_BLANK ": the logs do not state the batch; ",
        [SERIES_ONE_COUNT] = PROPOSAL_BLANK ": one count shows no scaling; ",
        [SERIES_STRONG] = "strong scaling: the same work for every count; ",
        [SERIES_WEAK_BATCH] = "the same batch for each GPU, over the same data; ",
        [SERIES_WEAK] = "weak scaling: the work grows with the count; "};
    const char *const texts[] = {
        [AFFINITY] = a->facts->has_affinity ? "affinity.txt beside this file"
                                            : PROPOSAL_BLANK ": no run printed it",
        [SCRIPT] = a->facts->has_scripts ? "submit_file.sh and run_file.sh beside this file"
                                         : PROPOSAL_BLANK ": the results have no job script",
        [PROGRAM] = PROPOSAL_BLANK, [CHOICE] = a->rs->words.headline,
        [USE] = PROPOSAL_BLANK ": 'unetctl plan --request' prints what an account has used",
        [PEAK] = " x 3600 x peak FLOP/s of a GPU, " PROPOSAL_BLANK,
        [MODE] = modes[a->rs->as->series.mode],
        [EXTRAPOLATION] = "Beyond the measurement, for more GPUs of the same kind"};

    buf_add(b, texts[answer]);
}

static void add_answer(struct buf *b, const struct asked *a, enum answer answer)
{
    const struct series *s = &a->rs->as->series;
    const char *gpu = s->rows[0].device;
    double nodes = a->nodes[answer == LARGEST], storage = a->sum[REQUEST_STORAGE];

    switch (answer) {
    case COUNTS: add_counts(b, a); break;
    case WALL: add_each(b, a, QUANTITY_WHOLE, 1, " s", "no whole run was logged"); break;
    case GPU_USE: add_each(b, a, QUANTITY_GPU_BUSY, 100, " %", "not recorded"); break;
    case NODE_H: add_hours(b, a, REQUEST_NODE_H, "node-h"); break;
    case GPU_H: add_hours(b, a, REQUEST_GPU_H, "GPU-h"); break;
    case CORE_H: add_hours(b, a, REQUEST_CORE_H, "core-h"); break;
    case EVIDENCE: add_evidence(b, a); break;
    case NORMALISED: /* IDRIS counts an hour of an A100 as two, of a V100 as one */
        if (strstr(gpu, "V100") || strstr(gpu, "A100"))
            add_sum(b, a, REQUEST_GPU_H, strstr(gpu, "V100") ? 1 : 2, "normalised GPU-h");
        else
            LEAVE("the weight of these GPUs");
        break;
    case TYPICAL:
    case LARGEST:
        if (isnan(nodes))
            LEAVE("nodes of the request (--request, --gpus-per-node)");
        else
            buf_addf(b, "%.0f node%s%s", nodes, plural((long)nodes),
                     answer == LARGEST ? "" : ", of the jobs with most node-h");
        break;
    case STORAGE:
        if (storage > 0)
            buf_addf(b, "%.3g GB of results, as the study's runs have; ", storage);
        buf_add(b, "input data: " PROPOSAL_BLANK);
        break;
    case SMALLEST:
        buf_addf(b, "Scaling table and figure, over %d GPU%s%s", s->points[0].gpus,
                 plural(s->points[0].gpus),
                 s->points[0].gpus > 1 ? ", because: " PROPOSAL_BLANK : "");
        break;
    case DOUBLING: add_doubling(b, a); break;
    case INPUT: add_input(b, a); break;
    default:
        if (answer == PEAK)
            add_sum(b, a, REQUEST_GPU_H, 1, "GPU-h");
        add_text(b, a, answer);
        if (answer == MODE)
            add_doubling(b, a);
    }
}

void centre_fill(struct table *t, const struct report_series *rs,
                 const struct proposal_facts *facts)
{
    struct asked a = {rs, facts, {0}, {NAN, NAN}};
    const struct item *item = items;
    double row[REQUEST_COLUMNS], most = -1;

    for (size_t i = 0; i < facts->nrequests; i++) {
        request_compute(rs, facts, &facts->requests[i], row, a.sum);
        a.nodes[0] = row[REQUEST_NODE_H] > most ? row[REQUEST_NODES] : a.nodes[0];
        a.nodes[1] = fmax(a.nodes[1], row[REQUEST_NODES]);
        most = fmax(most, row[REQUEST_NODE_H]);
    }
    while (!item->key || strcmp(item->key, facts->centre) != 0)
        item++;
    table_init(t, "What %s asks, with the measurements of %s.", item->name, rs->label);
    while (++item < items + NITEMS && item->text) {
        struct buf answer = {0};
        add_answer(&answer, &a, item->answer);
        table_text(t, "asked for", "%s", item->text);
        table_text(t, "answer", "%s", answer.data ? answer.data : "");
        t->failed |= answer.failed;
        buf_destroy(&answer);
    }
}
