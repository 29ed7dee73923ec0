/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/report/proposal.h"

#include <glob.h>
#include <math.h>

#include "launcher/host/path.h"
#include "launcher/report/report_internal.h"
#include "src/atomicfile.h"
#include "src/cli.h"
#include "src/files.h"
#include "src/format/formula.h"
#include "src/settings/settings.h"

#define OUTPUTS (TO_MARKDOWN | TO_LATEX)
#define SCRIPT_MAX (1 << 20)
#define COUNTS_ASKED 3 /* numbers of GPUs, or of nodes, that centres ask for at least */
#define MOST_VALUES 12
#define THREADS "OpenMP affinity: " /* begins the lines that run_file.sh asks for */

#define SCRIPTS "submit_file.sh and run_file.sh"
static const char *const script_names[] = {"submit_file.sh", "run_file.sh"};

/* ---- requests ---- */

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
            (i == REQUEST_BILLED && !*facts->site.billing))
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

/* Returns what is known of it in words, valid until the next call. */
static const char *describe_efficiency(const struct report_series *rs, int gpus)
{
    static char dst[128];
    const struct series *s = &rs->as->series;
    const struct series_point *p = series_find(s, gpus);
    const struct model *m = &rs->as->steady;
    const struct ratio *r = p ? series_efficiency(s, p) : NULL;
    double share = (double)s->points[0].gpus / gpus;

    if (p == s->points)
        snprintf(dst, sizeof dst, "1 (base case)");
    else if (r && interval_is_known(&r->interval))
        snprintf(dst, sizeof dst, "%.2f (%.2f..%.2f), measured", r->value, r->interval.low,
                 r->interval.high);
    else if (r && isfinite(r->value))
        snprintf(dst, sizeof dst, "%.2f, measured, without an interval", r->value);
    else if (model_is_usable(m) && !model_is_extrapolation(m, gpus) && gpus > m->smallest) {
        struct bounds b = model_speedup(m, s->points[0].gpus, gpus);
        snprintf(dst, sizeof dst, "%.2f (%.2f..%.2f), not measured: %s", share * b.expected,
                 share * b.low, share * b.high,
                 gpus > m->largest ? "predicted, if no limit begins" : "interpolation");
    } else
        snprintf(dst, sizeof dst, "not measured, not predicted");
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
    double nodes = p && p->nodes ? p->nodes : ceil(q->gpus / known(facts->site.gpus_per_node));
    double cores = known(facts->site.cpus_per_gpu) * q->gpus, all = (double)q->runs * hours;
    const struct formula_value job[] = {{"gpus", q->gpus}, {"cores", cores},
                                        {"mem", nodes * known(facts->site.mem_gb)}, {"nodes", nodes},
                                        {NULL, 0}};

    if (*facts->site.billing)
        formula_compute(facts->site.billing, job, &billed);
    const double v[REQUEST_COLUMNS] = { /* in the order of the enum */
        q->gpus, nodes, (double)q->runs, hours, q->gpus * all, nodes * all, cores * all,
        all * billed, p ? facts->flop * p->q[QUANTITY_RATE].median * 3600 * all : NAN,
        known(facts->run_bytes) * (double)q->runs / 1e9};
    for (int i = 0; i < REQUEST_COLUMNS; i++)
        sum[i] += dst[i] = v[i];
}

void proposal_request_fill(struct table *t, struct buf *sentences, const struct report_series *rs,
                           const struct proposal_facts *facts)
{
    double sum[REQUEST_COLUMNS] = {0}, row[REQUEST_COLUMNS];
    size_t n = facts->nrequests;
    struct buf what = {0};

    buf_addf(&what, "Requested resources, with the measurements of %s. GPU-h: GPUs x runs x hours. "
             "node-h: whole nodes. core-h: the cores that jobs ask for", rs->label);
    if (facts->site.cpus_per_gpu)
        buf_addf(&what, ", %d for each GPU", facts->site.cpus_per_gpu);
    if (*facts->site.billing)
        buf_addf(&what, ". billed h: runs x hours x %s", facts->site.billing);
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
    for (const struct proposal_request *q = facts->requests; q < facts->requests + n; q++) {
        request_compute(rs, facts, q, row, sum);
        buf_addf(sentences, "We request %ld run%s of %s on %d GPU%s, ", q->runs, plural(q->runs),
                 q->name, q->gpus, plural(q->gpus));
        if (isfinite(row[REQUEST_HOURS]))
            buf_addf(sentences, "%.4g h each: %.4g GPU-h.\n", row[REQUEST_HOURS],
                     row[REQUEST_GPU_H]);
        else
            buf_add(sentences, PROPOSAL_BLANK " h each.\n");
        add_row(t, q->name, row, REQUEST_GPUS, facts);
        table_text(t, "efficiency", "%s", describe_efficiency(rs, q->gpus));
    }
    if (n == 1)
        return;
    for (int k = 0; !n && k < REQUEST_COLUMNS; k++)
        sum[k] = NAN;
    add_row(t, n ? "all" : PROPOSAL_BLANK, sum, n ? REQUEST_GPU_H : REQUEST_GPUS, facts);
    table_text(t, "efficiency", "%s", n ? "" : PROPOSAL_BLANK);
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
    size_t n = 0;

    for (size_t i = 0; i < NITEMS; i++)
        if (items[i].key)
            keys[n++] = items[i].key;
    return cli_choose(name, keys, "report: --for: unknown centre", e) < 0 ? -1 : 0;
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
    if (*a->facts->site.billing && a->facts->nrequests) {
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
                 describe_efficiency(a->rs, p->gpus));
}

static void add_evidence(struct buf *b, const struct asked *a)
{
    for (size_t i = 0; i < a->facts->nrequests; i++)
        buf_addf(b, "%s%d GPUs: efficiency %s", i ? "; " : "", a->facts->requests[i].gpus,
                 describe_efficiency(a->rs, a->facts->requests[i].gpus));
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

static void add_file(struct buf *b, const void *found, const char *name, const char *why)
{
    buf_addf(b, found ? "%s beside this file" : PROPOSAL_BLANK ": %s", found ? name : why);
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
    case MODE:
        buf_add(b, s->mode < SERIES_STRONG ? PROPOSAL_BLANK ": " : "");
        series_describe_mode(s, b);
        buf_add(b, "; ");
        add_doubling(b, a);
        break;
    case DOUBLING: add_doubling(b, a); break;
    case INPUT: add_input(b, a); break;
    case PEAK:
        add_sum(b, a, REQUEST_GPU_H, 1, "GPU-h");
        buf_add(b, " x 3600 x peak FLOP/s of a GPU, " PROPOSAL_BLANK);
        break;
    case AFFINITY: add_file(b, a->facts->affinity.data, "affinity.txt", "no run printed it"); break;
    case SCRIPT: add_file(b, a->facts->run, SCRIPTS, "the results have no job script"); break;
    case PROGRAM: buf_add(b, PROPOSAL_BLANK); break;
    case CHOICE: buf_add(b, a->rs->words.headline); break;
    case USE: LEAVE("'unetctl plan --request' prints what an account has used"); break;
    case EXTRAPOLATION: buf_add(b, "Beyond the measurement, for more GPUs of the same kind"); break;
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

/* ---- the document ---- */

/* Adds a line if the counts, or the nodes, are fewer than centres ask for. */
static void add_few_counts(struct buf *b, const struct series *s)
{
    size_t nodes = 0;
    bool known = true;

    for (size_t i = 0; i < s->npoints; i++) {
        nodes += i == 0 || s->points[i].nodes != s->points[i - 1].nodes;
        known &= s->points[i].nodes > 0;
    }
    if (s->npoints >= COUNTS_ASKED && (!known || nodes >= COUNTS_ASKED))
        return;
    buf_addf(b, "Few counts were measured: %zu of GPUs", s->npoints);
    if (known)
        buf_addf(b, ", %zu of nodes", nodes);
    buf_addf(b, ". Centres ask for at least %d, up to the size that is requested.\n", COUNTS_ASKED);
}

static void add_measurement(struct doc *d, const struct report_series *rs,
                            const struct proposal_facts *facts)
{
    const struct series *s = &rs->as->series;
    struct buf weak = {0}, verdict = {0};
    struct table t;

    buf_addf(&verdict, "%s\n%s", rs->words.headline, rs->words.evidence);
    if (s->npoints < 2)
        buf_addf(&verdict, "%s was measured on one number of GPUs, which shows no scaling.\n",
                 rs->label);
    else if (!rs->as->decision.decided)
        buf_add(&verdict, "The runs do not decide yet how many GPUs are worth using.\n");
    doc_paragraph(d, OUTPUTS, &verdict);
    tables_fill_scaling(&t, rs);
    doc_table(d, OUTPUTS, &t);
    if (s->points[0].gpus > 1)
        buf_addf(&weak, "Speed-ups are relative to %d GPUs, the smallest feasible number%s\n",
                 s->points[0].gpus, facts->left_out ? "." : ", because: " PROPOSAL_BLANK);
    buf_add(&weak, facts->left_out ? facts->left_out : "");
    add_few_counts(&weak, s);
    buf_add(&weak, rs->words.caveats);
    if (weak.length)
        doc_add(d, NODE_PARAGRAPH, OUTPUTS,
                "What the measurement does not show, or what weakens it:");
    doc_list(d, OUTPUTS, "", weak.data ? weak.data : "");
    d->failed |= weak.failed;
    buf_destroy(&weak);
}

/* Fills a table of 1.5 and 2 times the largest measured count. */
static void fill_extrapolation(struct table *t, const struct report_series *rs)
{
    const struct series *s = &rs->as->series;
    int base = s->points[0].gpus, largest = s->points[s->npoints - 1].gpus;

    table_init(t, "Extrapolation, not measured: speed-up and efficiency of %s over %d GPU%s that the "
               "model expects, with intervals of %.0f %%.", rs->label, base, plural(base),
               100 * MODEL_LEVEL);
    for (int halves = 3; halves <= 4; halves++) {
        int n = (halves * largest + 1) / 2;
        struct bounds b = model_speedup(&rs->as->steady, base, n);
        double share = (double)base / n;
        table_number(t, "GPUs", n, 0);
        table_number(t, "speed-up", b.expected, 2);
        table_range(t, "its interval", b.low, b.high, 2, "");
        table_number(t, "efficiency", share * b.expected, 2);
        table_range(t, "interval of it", share * b.low, share * b.high, 2, "");
    }
}

static void add_extrapolation(struct doc *d, const struct report_series *rs,
                              const struct proposal_facts *f)
{
    const struct series *s = &rs->as->series;
    const struct model *m = &rs->as->steady;
    int largest = s->points[s->npoints - 1].gpus;
    int end = model_is_usable(m) ? MODEL_FURTHEST * largest : largest;
    struct buf text = {0};
    struct table t;

    if (end > largest) {
        fill_extrapolation(&t, rs);
        doc_table(d, OUTPUTS, &t);
        buf_add(&text, "Assumptions: ");
        prediction_explain(m, end, &text);
        buf_add(&text, "Program, input, nodes and network stay those of the measurement.\n");
    } else
        buf_addf(&text, "Nothing is predicted beyond %d GPU%s of %s: %s.\n", largest,
                 plural(largest), rs->label,
                 m->ncounts < COUNTS_ASKED ? "a model needs three numbers of GPUs to be checked by"
                                           : "the measured counts contradict the model");
    for (size_t i = 0; i < f->nrequests; i++)
        if (f->requests[i].gpus > end)
            buf_addf(&text, "The request asks for %d GPUs (%s), for which these runs show nothing: "
                     "measure closer to that.\n", f->requests[i].gpus, f->requests[i].name);
    doc_paragraph(d, OUTPUTS, &text);
}

/* Adds what a member of the runs, a text or a long, is, each value once. */
static void add_values(struct buf *b, const struct series *s, const char *what, size_t offset,
                       bool text)
{
    struct map known = {0};
    char number[24];
    size_t n = 0;

    buf_addf(b, "%s: ", what);
    for (const struct result *r = s->rows; r < s->rows + s->nrows; r++) {
        const void *at = (const char *)r + offset;
        if (!text)
            snprintf(number, sizeof number, "%ld", *(const long *)at);
        const char *value = text ? at : number;
        if (!*value || map_get(&known, value, NULL) || ++n > MOST_VALUES)
            continue;
        b->failed |= map_set(&known, value, 0) != 0;
        buf_addf(b, "%s%s", n > 1 ? ", " : "", value);
    }
    map_destroy(&known);
    buf_add(b, n > MOST_VALUES ? " and others.\n" : n ? ".\n" : PROPOSAL_BLANK ".\n");
}

static void add_method(struct doc *d, const struct report_series *rs,
                       const struct proposal_facts *facts)
{
    const struct series *s = &rs->as->series;
    struct buf text = {0};

    paragraph_describe(&text, rs);
    if (!s->stepped)
        add_values(&text, s, "Length of a run in epochs", offsetof(struct result, epochs), false);
    add_values(&text, s, "Seeds", offsetof(struct result, seed), false);
    buf_addf(&text, "Cluster: %s.\n", *facts->site.cluster ? facts->site.cluster : PROPOSAL_BLANK);
    add_values(&text, s, "Nodes", offsetof(struct result, hosts), true);
    add_values(&text, s, "Runs started at", offsetof(struct result, started), true);
    doc_paragraph(d, OUTPUTS, &text);
}

/* Builds the document, into which the figure moves. */
static void build(struct doc *d, const struct report *r, const struct proposal_facts *facts,
                  struct figures *figures)
{
    static const struct {
        const char *title;
        void (*add)(struct doc *d, const struct report_series *rs, const struct proposal_facts *f);
    } parts[] = {{"Measured scaling", add_measurement}, {"Beyond the measurement", add_extrapolation},
                 {"How it was measured", add_method}};
    struct buf text = {0};
    struct table t;

    doc_init(d);
    snprintf(d->created, sizeof d->created, "%s", r->created);
    snprintf(d->comment, sizeof d->comment, "Blanks (" PROPOSAL_BLANK ") are what unetctl does not "
             "know: fill them in.");
    doc_begin(d, ROLE_PLAIN, OUTPUTS, "Parallel performance of %s", r->title);
    doc_add(d, NODE_PARAGRAPH, OUTPUTS, "What the program computes, how it is parallelised, its "
            "input and its reading and writing of files: " PROPOSAL_BLANK);
    if (facts->centre) {
        centre_fill(&t, &r->series[0], facts);
        doc_table(d, OUTPUTS, &t);
    }
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        doc_begin(d, ROLE_PLAIN, OUTPUTS, "%s", parts[k].title);
        for (size_t i = 0; i < r->nseries; i++)
            parts[k].add(d, &r->series[i], facts);
        if (k == 0 && figures->count)
            doc_figure(d, OUTPUTS, figures->list, "%s", "scaling")->value = !*figures->why_not;
        doc_end(d);
    }
    doc_begin(d, ROLE_PLAIN, OUTPUTS, "Requested resources");
    proposal_request_fill(&t, &text, &r->series[0], facts);
    doc_paragraph(d, OUTPUTS, &text);
    doc_table(d, OUTPUTS, &t);
    doc_add(d, NODE_PARAGRAPH, OUTPUTS, "Storage of the input data, and of what is kept: "
            PROPOSAL_BLANK);
    doc_end(d);
    doc_begin(d, ROLE_PLAIN, OUTPUTS, "Appendix: job script");
    if (facts->run)
        doc_add(d, NODE_PARAGRAPH, OUTPUTS, SCRIPTS " beside this file are the job of run %s, %d "
                "GPU%s.", facts->run->run, facts->run->gpus, plural(facts->run->gpus));
    else
        doc_add(d, NODE_PARAGRAPH, OUTPUTS, "The results have no job script. Attach the one of "
                "a typical run: " PROPOSAL_BLANK);
    doc_end(d);
    doc_end(d);
    doc_add(d, NODE_PARAGRAPH, TO_MARKDOWN, "Made by unetctl %s on %s.", PACKAGE_VERSION,
            r->created);
}

/* Adds the lines that OpenMP printed in a run (templates/command/run_file.sh). */
static void read_affinity(struct proposal_facts *facts, const char *dir, int gpus)
{
    char pattern[PATH_MAX], line[4096];
    size_t before = facts->affinity.length;
    glob_t found;

    if (glob(path_format(pattern, "%s/attempt-*/*.out", dir), 0, NULL, &found))
        return;
    for (size_t i = 0; i < found.gl_pathc && facts->affinity.length == before; i++) {
        FILE *f = files_stream(found.gl_pathv[i], "r", FILES_TEXT_MAX);
        while (f && fgets(line, sizeof line, f))
            if (text_begins(line, THREADS))
                buf_addf(&facts->affinity, "%d GPU%s: %s", gpus, plural(gpus),
                         line + strlen(THREADS));
        if (f)
            fclose(f);
    }
    globfree(&found);
}

/* Sets what the study's folder has of its runs: affinities, and of a run of the count that the
 * verdict presents its size and whether its job scripts are there. */
static void read_run(struct proposal_facts *facts, const struct report *r)
{
    const struct analysis_series *as = r->series[0].as;
    const struct series_point *p = as->series.npoints > 1 ? as->decision.best : as->series.points;
    char dir[PATH_MAX];

    if (!*facts->site.study_dir)
        return;
    for (size_t i = 0; i < as->series.npoints; i++)
        read_affinity(facts, path_format(dir, "%s/runs/%s", facts->site.study_dir,
                                           as->series.points[i].rows[0].run),
                      as->series.points[i].gpus);
    path_format(dir, "%s/runs/%s", facts->site.study_dir, p->rows[0].run);
    facts->run_bytes = (double)path_measure(dir, false);
    if (path_has_file(dir, script_names[0]) && path_has_file(dir, script_names[1]))
        facts->run = &p->rows[0];
}

static int write_files(const struct report *r, struct proposal_facts *facts,
                       struct figures *figures, const char *dir, struct err *e)
{
    char path[PATH_MAX];
    size_t n;
    struct doc d;

    if (path_make_folder(dir, e) || figures_draw(figures, dir, e))
        return -1;
    if (*figures->why_not)
        log_warn("no PDF of the figure: %s", figures->why_not);
    for (size_t i = 0; facts->run && i < sizeof script_names / sizeof *script_names; i++) {
        path_format(path, "%s/runs/%s/%s", facts->site.study_dir, facts->run->run, script_names[i]);
        char *text = atomicfile_read(path, SCRIPT_MAX, &n, e);
        if (!text || path_write(dir, script_names[i], text, e))
            return -1;
    }
    build(&d, r, facts, figures);
    int rc = path_write(dir, "proposal.tex", doc_encode(&d, latex_write), e) ||
             path_write(dir, "proposal.md", doc_encode(&d, markdown_write), e) ||
             folder_write_results(r, dir, e) ||
             (facts->affinity.length &&
              path_write(dir, "affinity.txt", buf_steal(&facts->affinity), e));
    doc_destroy(&d);
    return -rc;
}

int proposal_write(const struct report *r, struct proposal_facts *facts, const char *dir,
                   struct err *e)
{
    struct figures figures;

    files_own(dir);
    if (files_rmdir(dir) && errno != ENOENT)
        return err_errno(e, ERR_CONFIG, errno, "report: --proposal %s: name a new folder, since the "
                         "blanks of an earlier proposal may have been filled in", dir);
    facts->left_out = r->left_out;
    read_run(facts, r);
    figures_create_scaling(&figures, r);
    int rc = figures.failed ? mem_fail(e) : write_files(r, facts, &figures, dir, e);
    figures_destroy(&figures);
    buf_destroy(&facts->affinity);
    return rc;
}
