/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/report/proposal.h"

#include <math.h>

#include "launcher/report/report_internal.h"
#include "src/format/formula.h"
#include "t/tap.h"

static struct series_point points[2];
static struct analysis_series as;
static struct report_series rs;

/* Sets up 1 and 4 GPUs: whole runs of 3600.1 s and 1000 s, 50 and 160 units/s, an efficiency of 0.8
 * with 4. */
static void set_up(void)
{
    memset(points, 0, sizeof points);
    points[0] = (struct series_point){.gpus = 1, .nodes = 1, .nruns = 3};
    points[1] = (struct series_point){.gpus = 4, .nodes = 2, .nruns = 3};
    points[0].q[QUANTITY_WHOLE].median = 3600.1;
    points[1].q[QUANTITY_WHOLE].median = 1000;
    points[0].q[QUANTITY_RATE].median = 50;
    points[1].q[QUANTITY_RATE].median = 160;
    points[1].efficiency[QUANTITY_STEADY_EPOCH] = (struct ratio){
        0.8, {.low = 0.75, .high = 0.85, .level = 0.95, .method = INTERVAL_FIELLER}, NAN, NAN};
    as.series = (struct series){.points = points, .npoints = 2, .quality = "IoU", .unit = "cells"};
    rs = (struct report_series){.as = &as, .label = "the program", .words.headline = "Use 4."};
}

static void check_decoding(void)
{
    static const char *const wrong[] = {
        "", "a", ": 1 x 1 x 1", "a: 8", "a: 8 x", "a: 8 x 2 x", "a: 8 x 2 x 1 x", "a: 0 x 2 x 1",
        "a: 8 x 0 x 1", "a: 8 x 2 x 0", "a: 8 x 2 x -1", "a: 8 x 2 x nan", "a: 8 x 2 x inf",
        "a: 8 x 2 x 1e9", "a: 8 x 99999999999999999999 x 1", "a: 8 x 2.5 x 1", "8 x 2 x 1"};
    char longest[200];
    struct proposal_request q;
    struct err e;

    ok(proposal_request_decode("a: b_%: 8 x 20 x 12.5", &q, &e) == 0 && q.gpus == 8 &&
           q.runs == 20 && q.hours == 12.5, "a request is decoded");
    is_str(q.name, "a: b_%", "its name is all before the last colon");
    ok(proposal_request_decode("a:8x20", &q, &e) == 0 && q.gpus == 8 && q.runs == 20 &&
           isnan(q.hours), "blanks and hours may be missing");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ok(proposal_request_decode(wrong[i], &q, &e) == -1 && e.code == ERR_USAGE,
           "'%s' is refused", wrong[i]);
    memset(longest, 'a', sizeof longest);
    strcpy(longest + 190, ": 1 x 1");
    ok(proposal_request_decode(longest, &q, &e) == -1, "a name that does not fit is refused");
}

/* Returns the requests, or what a centre asks, as Markdown in a static buffer. */
static const char *fill(const struct proposal_facts *facts)
{
    static char text[4000];
    struct buf sentences = {0};
    struct table t;
    struct doc d;

    doc_init(&d);
    if (facts->centre)
        centre_fill(&t, &rs, facts);
    else
        proposal_request_fill(&t, &sentences, &rs, facts);
    doc_table(&d, TO_MARKDOWN, &t);
    char *written = doc_encode(&d, markdown_write);
    snprintf(text, sizeof text, "%s", written ? written : "");
    free(written);
    buf_destroy(&sentences);
    doc_destroy(&d);
    return text;
}

static void has(const char *text, const char *part, const char *what)
{
    if (!ok(strstr(text, part) != NULL, "%s", what))
        printf("# %s\n# not in: %s\n", part, text);
}

static void check_table(void)
{
    struct proposal_request q[3] = {
        {"all_of it", 4, 10, 2}, {"short", 1, 5, NAN}, {"large", 9, 1, 1}};
    struct proposal_facts facts = {.site = {.gpus_per_node = 2, .cpus_per_gpu = 24},
                                   .flop = 1e9, .run_bytes = 5e8, .requests = q, .nrequests = 1};
    const char *text = fill(&facts);

    has(text, "| all\\_of it | 4 | 2 | 10 | 2 | 80 | 40 | 1920 | 1.152e+16 | 5 | "
              "0.80 (0.75..0.85), measured |", "each amount is the product of printed numbers");
    ok(!strstr(text, "| all |"), "one request has no sum");
    facts.nrequests = 2;
    text = fill(&facts);
    has(text, "| short | 1 | 1 | 5 | 1.01 | 5.05 | 5.05 | 121.20 | 9.09e+14 | 2.50 | 1 (base case) |",
        "hours that are not given are measured ones, rounded up");
    has(text, "| all |  |  |  |  | 85.05 | 45.05 | 2041 |", "the amounts are summed");
    facts.nrequests = 3;
    text = fill(&facts);
    has(text, "| large | 9 | 5 | 1 | 1 | 9 | 5 | 216 | \\_\\_\\_\\_ | 0.5 | "
              "not measured, not predicted |", "what was not measured is not known");
    has(text, "| 2257 | \\_\\_\\_\\_ |", "a sum with an unknown part is a blank");
    facts = (struct proposal_facts){.requests = q + 2, .nrequests = 1};
    text = fill(&facts);
    has(text, "| large | 9 | \\_\\_\\_\\_ | 1 | 1 | 9 | \\_\\_\\_\\_ | \\_\\_\\_\\_ | \\_\\_\\_\\_ |",
        "unknown nodes, cores and bytes are blanks");
    ok(!strstr(text, "FLOP"), "without a count of operations there is no FLOP");
    facts = (struct proposal_facts){0};
    has(fill(&facts), "| \\_\\_\\_\\_ | \\_\\_\\_\\_ | \\_\\_\\_\\_ | \\_\\_\\_\\_ | \\_\\_\\_\\_ |",
        "without a request there is a form");
}

static void check_formulas(void)
{
    static const struct formula_value values[] = {
        {"gpus", 4}, {"cores", 96}, {"mem", NAN}, {"nodes", 2}, {NULL, 0}};
    static const struct {
        const char *text;
        double value;
    } good[] = {{"gpus", 4}, {"max(gpus, cores/8)", 12}, {"gpus / 2 * 0.5", 1}, {"3", 3},
                {"max(1, mem, 2)", NAN}, {"max(mem/64, 2)", NAN}, {"max( gpus*2 )", 8}};
    static const char *const wrong[] = {
        "", "gpu", "max", "max(", "max(gpus", "max(gpus,)", "2 3", "(2", "2)", "2 *", "* 2",
        "gpus/0",
        "gpus*-1", "-1", "nan", "inf", "gpus*nan", "mem)", "max(mem, 2", "gpus;", "min(gpus, 2)", "max(max(2))"};
    double v;

    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        ok(formula_compute(good[i].text, values, &v) &&
               (v == good[i].value || (isnan(v) && isnan(good[i].value))), "'%s' is %g",
           good[i].text, good[i].value);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ok(!formula_compute(wrong[i], values, &v), "'%s' is refused", wrong[i]);
}

/* What centres ask: numbers of the requests in their units, or blanks and what is missing. */
static void check_centres(void)
{
    static const char *const names[] = {"csc", "gcs", "idris", "nersc", "eurohpc", "archer2", "nhr",
                                        "incite"};
    static struct result row = {.device = "NVIDIA A100-SXM4-80GB", .stage_bytes = 2e9};
    struct proposal_request q[2] = {{"all", 4, 10, 2}, {"short", 1, 5, 1}};
    struct proposal_facts facts = {
        .site = {.gpus_per_node = 2, .cpus_per_gpu = 24,
                 .billing = "max(gpus/2, cores/16, mem/128)"}, .requests = q, .nrequests = 2};
    struct err e;

    as.series.rows = &row;
    as.series.nrows = 1;
    points[0].speedup[QUANTITY_STEADY_EPOCH] = (struct ratio){.value = 1};
    points[1].speedup[QUANTITY_STEADY_EPOCH] = (struct ratio){.value = 3.2};
    points[1].q[QUANTITY_GPU_BUSY].median = 0.93;
    points[0].q[QUANTITY_GPU_BUSY].median = NAN;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        facts.centre = names[i];
        ok(centre_check(names[i], &e) == 0 && strstr(fill(&facts), "asked for"), "%s is known",
           names[i]);
    }
    ok(centre_check("cscs", &e) == -1 && e.code == ERR_USAGE && strstr(e.text, "known: csc, gcs, "),
       "another is refused with the list");
    facts.centre = "csc";
    const char *text = fill(&facts);
    has(text, "| 1 GPU (1 node), 4 (2 nodes) |", "counts");
    has(text, "| 1 GPU: 3600 s, 4: 1000 s |", "wall time");
    has(text, "| for each doubling 1.79 times (1 to 4 GPUs); efficiency of 4 GPUs 0.80 "
              "(0.75..0.85), measured |", "times per doubling");
    has(text, "| 4 GPUs: 93 % |", "GPU use, where it is known");
    has(text, "| \\_\\_\\_\\_: no run printed it |", "a blank says what is missing");
    facts.centre = "gcs";
    text = fill(&facts);
    has(text, "| 45.00 node-h; billed \\_\\_\\_\\_: slurm.mem, ", "node-h, and a bill that lacks memory");
    facts.site.mem_gb = 256;
    has(fill(&facts), "| 45.00 node-h; billed 130 h |", "and with it");
    facts.centre = "idris";
    has(fill(&facts), "| 170 normalised GPU-h |", "an hour of an A100 is two");
    memset(row.device, 0, sizeof row.device);
    has(fill(&facts), "| \\_\\_\\_\\_: the weight of these GPUs |", "of unknown GPUs it is a blank");
    facts.centre = "nersc";
    has(fill(&facts), "| 2 nodes |", "the largest job");
    facts.centre = "nhr";
    as.series.mode = SERIES_BATCH_UNKNOWN;
    has(fill(&facts), "| \\_\\_\\_\\_: the logs do not state the batch, which",
        "a mode that is not known is a blank");
    as.series.mode = SERIES_STRONG;
    has(fill(&facts), "| strong scaling: the same work on any number of GPUs; for each doubling ",
        "one that is known is not");
    facts = (struct proposal_facts){.centre = "nersc"};
    has(fill(&facts), "--request 'NAME: GPUS x RUNS x HOURS' says", "without a request, what to type");
}

int main(void)
{
    set_up();
    check_formulas();
    check_decoding();
    check_table();
    check_centres();
    return done_testing();
}
