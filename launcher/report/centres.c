/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/proposal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "launcher/report/report_internal.h"
#include "src/cli.h"
#include "src/plural.h"

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

static const struct item *find_centre(const char *key)
{
    for (size_t i = 0; i < NITEMS; i++)
        if (items[i].key && strcmp(items[i].key, key) == 0)
            return &items[i];
    return NULL;
}

int centre_check(const char *name, struct err *e)
{
    const char *keys[NITEMS + 1] = {NULL};
    struct buf list = {0};
    size_t n = 0;

    if (find_centre(name))
        return 0;
    for (size_t i = 0; i < NITEMS; i++)
        if (items[i].key) {
            buf_addf(&list, "%s%s", n ? ", " : "", items[i].key);
            keys[n++] = items[i].key;
        }
    err_set(e, ERR_USAGE, "report: --for %s: unknown centre%s (known: %s)", name,
            cli_suggest(name, keys, (char[CLI_SUGGESTION]){0}), list.data ? list.data : "");
    buf_destroy(&list);
    return -1;
}

struct asked {
    const struct report_series *rs;
    const struct series *s;
    const struct proposal_facts *facts;
};

/* Adds a blank, and why it is one. */
static void leave(struct buf *b, const char *why)
{
    buf_addf(b, PROPOSAL_BLANK "%s%s", *why ? ": " : "", why);
}

static void add_file(struct buf *b, bool has, const char *name, const char *why)
{
    if (has)
        buf_addf(b, "%s beside this file", name);
    else
        leave(b, why);
}

/* Adds what each count has, "1 GPU: 120 s, 2: 61.3 s", or a blank. */
static void add_each(struct buf *b, const struct asked *a, enum quantity q, double scale,
                     const char *unit, const char *why)
{
    size_t known = 0;

    for (size_t i = 0; i < a->s->npoints; i++) {
        const struct series_point *p = &a->s->points[i];
        if (isnan(p->q[q].median))
            continue;
        buf_addf(b, "%s%d%s: %.4g%s", known ? ", " : "", p->gpus,
                 known ? "" : p->gpus > 1 ? " GPUs" : " GPU", scale * p->q[q].median, unit);
        known++;
    }
    if (!known)
        leave(b, why);
}

/* Adds the sum of a column over all requests, or a blank and what is missing. */
static void add_sum(struct buf *b, const struct asked *a, enum request_column column, double factor,
                    const char *unit)
{
    static const char *const missing[REQUEST_COLUMNS] = {
        [REQUEST_NODE_H] = "GPUs of a node, --gpus-per-node",
        [REQUEST_CORE_H] = "cores of a GPU, which folders of logs do not have",
        [REQUEST_BILLED] = "slurm.mem, or another number of the formula"};
    double sum = 0, hours = 0, row[REQUEST_COLUMNS];

    if (!a->facts->nrequests) {
        leave(b, "--request 'NAME: GPUS x RUNS x HOURS' says what is requested");
        return;
    }
    for (size_t i = 0; i < a->facts->nrequests; i++) {
        request_compute(a->rs, a->facts, &a->facts->requests[i], row);
        sum += row[column];
        hours += row[REQUEST_HOURS];
    }
    if (isnan(sum))
        leave(b, isnan(hours) ? "hours of a run, --request 'NAME: GPUS x RUNS x HOURS'"
                              : missing[column]);
    else
        buf_addf(b, "%.*f %s", sum * factor < 100 ? 2 : 0, sum * factor, unit);
}

static void add_billed(struct buf *b, const struct asked *a)
{
    if (a->facts->billing && a->facts->nrequests) {
        buf_add(b, "; billed ");
        add_sum(b, a, REQUEST_BILLED, 1, "h");
    }
}

/* Adds the nodes of a job: of the request with the most node-h, or of the largest. */
static void add_nodes(struct buf *b, const struct asked *a, bool largest)
{
    double row[REQUEST_COLUMNS], most = -1, nodes = NAN;

    for (size_t i = 0; i < a->facts->nrequests; i++) {
        request_compute(a->rs, a->facts, &a->facts->requests[i], row);
        double weight = largest ? row[REQUEST_NODES] : row[REQUEST_NODE_H];
        if (weight > most) {
            most = weight;
            nodes = row[REQUEST_NODES];
        }
    }
    if (isnan(nodes))
        leave(b, "nodes of the request (--request, --gpus-per-node)");
    else
        buf_addf(b, "%.0f node%s%s", nodes, plural((long)nodes),
                 largest ? "" : ", of the jobs with most node-h");
}

static void add_counts(struct buf *b, const struct asked *a)
{
    int most = 0;

    for (size_t i = 0; i < a->facts->nrequests; i++)
        most = a->facts->requests[i].gpus > most ? a->facts->requests[i].gpus : most;
    for (size_t i = 0; i < a->s->npoints; i++) {
        const struct series_point *p = &a->s->points[i];
        buf_addf(b, "%s%d%s", i ? ", " : "", p->gpus, i ? "" : p->gpus > 1 ? " GPUs" : " GPU");
        if (p->nodes)
            buf_addf(b, " (%d node%s)", p->nodes, plural(p->nodes));
    }
    if (most > a->s->points[a->s->npoints - 1].gpus)
        buf_addf(b, "; the %d GPUs requested were not measured", most);
}

/* Adds how much faster the program is for twice the GPUs, from each count to the next. */
static void add_doubling(struct buf *b, const struct asked *a)
{
    char word[128];

    for (size_t i = 1; i < a->s->npoints; i++) {
        const struct series_point *p = &a->s->points[i - 1], *next = p + 1;
        double gain = series_speedup(a->s, next)->value / series_speedup(a->s, p)->value;
        buf_addf(b, "%s%.2f%s (%d to %d%s)", i > 1 ? ", " : "for each doubling ",
                 pow(gain, 1 / log2((double)next->gpus / p->gpus)), i > 1 ? "" : " times", p->gpus,
                 next->gpus, i > 1 ? "" : " GPUs");
    }
    if (a->s->npoints < 2) {
        leave(b, "one count shows no scaling");
        return;
    }
    const struct series_point *last = &a->s->points[a->s->npoints - 1];
    buf_addf(b, "; efficiency of %d GPUs %s", last->gpus,
             efficiency_describe(a->rs, last->gpus, word));
}

static void add_evidence(struct buf *b, const struct asked *a)
{
    char word[128];

    for (size_t i = 0; i < a->facts->nrequests; i++)
        buf_addf(b, "%s%d GPUs: efficiency %s", i ? "; " : "", a->facts->requests[i].gpus,
                 efficiency_describe(a->rs, a->facts->requests[i].gpus, word));
    if (!a->facts->nrequests)
        leave(b, "--request says what sizes are requested");
}

/* IDRIS counts an hour of an A100 as two, of a V100 as one. */
static void add_normalised(struct buf *b, const struct asked *a)
{
    const char *gpu = a->s->rows[0].device;
    double weight = strstr(gpu, "V100") ? 1 : strstr(gpu, "A100") ? 2 : NAN;

    if (isnan(weight))
        leave(b, "the weight of these GPUs");
    else
        add_sum(b, a, REQUEST_GPU_H, weight, "normalised GPU-h");
}

static void add_storage(struct buf *b, const struct asked *a)
{
    double row[REQUEST_COLUMNS], sum = 0;

    for (size_t i = 0; i < a->facts->nrequests; i++) {
        request_compute(a->rs, a->facts, &a->facts->requests[i], row);
        sum += row[REQUEST_STORAGE];
    }
    if (sum > 0)
        buf_addf(b, "%.3g GB of results, as the study's runs have; ", sum);
    buf_add(b, "input data: " PROPOSAL_BLANK);
}

static void add_input(struct buf *b, const struct asked *a)
{
    double bytes = a->s->rows[0].stage_bytes;

    if (bytes > 0)
        buf_addf(b, "%.3g GB are copied to the first node before a run; ", bytes / 1e9);
    if (!isnan(a->s->points[0].q[QUANTITY_STAGE].median)) {
        buf_add(b, "seconds of that: ");
        add_each(b, a, QUANTITY_STAGE, 1, " s", "");
        buf_add(b, "; ");
    }
    buf_add(b, "waiting for data in an epoch: ");
    add_each(b, a, QUANTITY_DATA, 1, " s", "not recorded");
}

static void add_mode(struct buf *b, const struct asked *a)
{
    static const char *const names[] = {
        [SERIES_BATCH_UNKNOWN] = PROPOSAL_BLANK ": the logs do not state the batch",
        [SERIES_ONE_COUNT] = PROPOSAL_BLANK ": one count shows no scaling",
        [SERIES_STRONG] = "strong scaling: the same work for every count",
        [SERIES_WEAK_BATCH] = "the same batch for each GPU, over the same data",
        [SERIES_WEAK] = "weak scaling: the work grows with the count"};

    buf_addf(b, "%s; ", names[a->s->mode]);
    add_doubling(b, a);
}

static void add_answer(struct buf *b, const struct asked *a, enum answer answer)
{
    const struct proposal_facts *f = a->facts;
    const struct series *s = a->s;

    switch (answer) {
    case COUNTS: add_counts(b, a); break;
    case WALL: add_each(b, a, QUANTITY_WHOLE, 1, " s", "no whole run was logged"); break;
    case DOUBLING: add_doubling(b, a); break;
    case GPU_USE: add_each(b, a, QUANTITY_GPU_BUSY, 100, " %", "not recorded"); break;
    case AFFINITY: add_file(b, f->has_affinity, "affinity.txt", "no run printed it"); break;
    case SCRIPT:
        add_file(b, f->has_scripts, "submit_file.sh and run_file.sh",
                 "the results have no job script");
        break;
    case PROGRAM: leave(b, ""); break;
    case NODE_H: add_sum(b, a, REQUEST_NODE_H, 1, "node-h"); add_billed(b, a); break;
    case GPU_H: add_sum(b, a, REQUEST_GPU_H, 1, "GPU-h"); add_billed(b, a); break;
    case CORE_H: add_sum(b, a, REQUEST_CORE_H, 1, "core-h"); add_billed(b, a); break;
    case PEAK:
        add_sum(b, a, REQUEST_GPU_H, 1, "GPU-h");
        buf_add(b, " x 3600 x peak FLOP/s of a GPU, " PROPOSAL_BLANK);
        break;
    case EVIDENCE: add_evidence(b, a); break;
    case NORMALISED: add_normalised(b, a); break;
    case TYPICAL: add_nodes(b, a, false); break;
    case LARGEST: add_nodes(b, a, true); break;
    case CHOICE: buf_add(b, a->rs->words.headline); break;
    case STORAGE: add_storage(b, a); break;
    case USE: leave(b, "'unetctl plan --request' prints what an account has used"); break;
    case SMALLEST:
        buf_addf(b, "Scaling table and figure, over %d GPU%s", s->points[0].gpus,
                 plural(s->points[0].gpus));
        if (s->points[0].gpus > 1)
            buf_add(b, ", because: " PROPOSAL_BLANK);
        break;
    case MODE: add_mode(b, a); break;
    case INPUT: add_input(b, a); break;
    case EXTRAPOLATION: buf_add(b, "Beyond the measurement, for more GPUs of the same kind"); break;
    }
}

void centre_fill(struct table *t, const struct report_series *rs,
                 const struct proposal_facts *facts)
{
    const struct asked asked = {rs, &rs->as->series, facts};
    const struct item *centre = find_centre(facts->centre);

    table_init(t, "What %s asks, with the measurements of %s.", centre->name, rs->label);
    for (const struct item *item = centre + 1; item < items + NITEMS && item->text; item++) {
        struct buf answer = {0};
        add_answer(&answer, &asked, item->answer);
        table_text(t, "asked for", "%s", item->text);
        table_text(t, "answer", "%s", answer.data ? answer.data : "");
        t->failed |= answer.failed;
        buf_destroy(&answer);
    }
}
