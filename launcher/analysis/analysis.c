/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/analysis/analysis.h"

#include <math.h>

#include "launcher/analysis/analysis_internal.h"
#include "launcher/analysis/statistics/hypothesis.h"

#define MEDIAN_INTERVAL_FEWEST 6 /* values, for a 95 % interval of their median (interval.h) */

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

const char *const rule_state_names[] = {"met", "not met", "not applicable"};

#define set_rule(rule, is, ...) \
    ((rule)->state = (is), snprintf((rule)->why, sizeof (rule)->why, __VA_ARGS__))

/* The facts that the rules depend on, over all series. */
struct rule_facts {
    size_t nseries, fewest, most; /* fewest, most: runs per count */
    bool settings; /* a series is named by its settings, so they were varied */
    bool setup, records, knows_images, tested;
    bool judged;          /* some run has a quality */
    bool stepped, images; /* some series has no epochs; some counts images */
    int missing;
};

static struct rule_facts gather_facts(const struct analysis *a)
{
    struct rule_facts f = {.fewest = (size_t)-1,
                      .setup = true,
                      .records = true,
                      .knows_images = true,
                      .tested = true};

    for (size_t i = 0; i < a->nseries; i++) {
        const struct series *s = &a->series[i].series;
        f.settings |= strcmp(s->name, s->engine) != 0;
        f.knows_images &= s->by_units;
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
    return f;
}

static void check_base_rule(struct rule *r, const struct analysis *a)
{
    const struct series *s = &a->series[0].series;
    const struct series_point *p = s->points;

    char training[48] = "", speed[64];

    if (!isnan(p->q[QUANTITY_TRAINING].median))
        snprintf(training, sizeof training, ", %.4g s for the %s",
                 p->q[QUANTITY_TRAINING].median, s->stepped ? "steps" : "training");
    series_describe_speed(s, p, speed, sizeof speed);
    set_rule(r, RULE_MET, "The base case is %d GPU%s of the same program: %s%s%s.", p->gpus,
        plural(p->gpus), speed, training,
        p->gpus == 1 ? "" : "; 1 GPU was not measured, which the report states");
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
                 "These logs do not hold the whole setup: settings, hosts and versions.");
}

static void rules_compute(struct rule rules[RULES_COUNT], const struct analysis *a)
{
    struct rule_facts f = gather_facts(a);
    const char *interval = f.stepped ? "interval" : "epoch", *work = f.images ? "images" : "units";

    for (int i = 0; i < RULES_COUNT; i++)
        rules[i] = (struct rule){.number = i + 1, .text = texts[i]};
    check_base_rule(&rules[0], a);
    if (f.missing)
        set_rule(&rules[1], RULE_NOT_MET,
            "%d run%s no result; the report names %s, but not why the counts that were measured "
            "are enough.",
            f.missing, f.missing == 1 ? " has" : "s have",
            f.missing == 1 ? "it and its reason" : "them and their reasons");
    else
        set_rule(&rules[1], RULE_MET, "Every run that was asked for has a result and is shown.");
    set_rule(&rules[2], RULE_MET,
        "Times are summed up by their median, energy and GPU-hours from it; %s per second of "
        "a count are %s over that time, never a mean of rates.", work, work);
    set_rule(&rules[3], RULE_MET,
        "Times are summed up over runs first, then divided; no mean of speed-ups or efficiencies "
        "is taken.");
    check_intervals(&rules[4], &f);
    if (f.most < 2)
        set_rule(&rules[5], RULE_NOT_APPLICABLE,
            "With one run per count the distribution of values is unknown.");
    else
        set_rule(&rules[5], RULE_NOT_MET,
            "Not tested: Fieller's intervals of speed-ups take times as normal, and Student's t of "
            "quality its changes. Medians have order-statistic intervals, which assume nothing.");
    check_comparison(&rules[6], &f);
    set_rule(&rules[7], RULE_MET,
        "Medians, because %ss have slow outliers, unless means contradict them; smallest and "
        "largest run%s are shown by themselves.", interval,
        f.stepped ? "" : ", and the first epoch, which is the tail,");
    check_setup(&rules[8], &f);
    if (f.records)
        set_rule(&rules[9], RULE_MET,
            "The time of an %s is the largest over the ranks, which start it together; waiting for "
            "data and communication is rank 0's.", interval);
    else
        set_rule(&rules[9], RULE_NOT_MET,
            "The logs do not state whose clock was used, and whether ranks were synchronized.");
    set_rule(&rules[10], RULE_MET,
        "Ideal scaling is drawn beside each speed-up, and the model of the times where it may be "
        "used%s.",
        f.knows_images ? "" : "; without counts of work it may be exceeded");
    set_rule(&rules[11], RULE_MET,
        "Figures show every count with its interval%s; lines join counts to guide the eye, and "
        "models are drawn no further than twice what was measured.",
        f.stepped ? "" : ", and losses by epoch");
}

/* ---- the analysis ---- */

/* The qualities for which the time to reach them is reported by default. */
static const double usual_levels[] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95,
                                      0.99};

static bool is_reached(const struct convergence *c)
{
    for (size_t i = 0; i < c->npoints; i++)
        if (c->points[i].nreached)
            return true;
    return false;
}

/* Adds the times to reach the levels, except levels that no run reached. There are none if runs
 * have no scores. */
static int add_levels(struct analysis_series *as, const struct analysis_options *options,
                      struct err *e)
{
    const double *levels = options->nlevels ? options->levels : usual_levels;
    size_t n = options->nlevels          ? options->nlevels
               : !as->series.is_share ? 0 /* what is usual of others is not known */
                                      : sizeof usual_levels / sizeof *usual_levels;

    as->levels = mem_zero(n + 1, sizeof *as->levels, e);
    if (!as->levels)
        return -1;
    for (size_t i = 0; i < n && as->convergence.scored; i++) {
        struct convergence *c = &as->levels[as->nlevels];
        if (convergence_compute(c, &as->series, levels[i], NAN, e))
            return -1;
        if (is_reached(c))
            as->nlevels++;
        else
            convergence_destroy(c);
    }
    return 0;
}

static int analyse_series(struct analysis_series *as, const struct results *table,
                          const struct analysis_options *options, struct err *e)
{
    if (prediction_fit(&as->steady, &as->series, QUANTITY_STEADY_EPOCH, e) ||
        prediction_fit(&as->whole, &as->series, QUANTITY_WHOLE, e))
        return -1;
    advice_compute(&as->advice, &as->series, &as->whole, options->deadline_s);
    noise_scale_compute(&as->noise, &as->series);
    if (convergence_compute(&as->convergence, &as->series, options->score_target,
                            options->loss_target, e) ||
        add_levels(as, options, e))
        return -1;
    if (as->series.npoints < 2)
        return 0;
    if (decision_compute(&as->decision, &as->series, &options->rule, &as->steady, e))
        return -1;
    caveats_compute(&as->decision, &as->series, table);
    return 0;
}

static int add_source(struct analysis *a, size_t source, const struct analysis_options *options,
                      struct buf *notes, struct err *e)
{
    struct series_list found;

    if (series_list_compute(&found, a->sources[source].title, &a->sources[source].results,
                            &options->facts, notes, e))
        return -1;
    struct analysis_series *series =
        reallocarray(a->series, a->nseries + found.count + 1, sizeof *series);
    if (!series) {
        series_list_destroy(&found);
        return mem_fail(e);
    }
    a->series = series;
    for (size_t i = 0; i < found.count; i++)
        a->series[a->nseries++] =
            (struct analysis_series){.series = found.items[i], .source = source};
    free(found.items);
    return 0;
}

static int find_series(struct analysis *a, const struct analysis_options *options, struct err *e)
{
    struct buf notes = {0};
    int rc = 0;

    for (size_t i = 0; i < a->nsources && rc == 0; i++)
        rc = add_source(a, i, options, &notes, e);
    a->notes = buf_steal(&notes);
    return rc ? rc : a->notes ? 0 : mem_fail(e);
}

/* Returns why a quantity of two counts cannot be compared, or NULL. */
static const char *refuse_difference(const struct series_point *a, const struct series_point *b,
                                     enum quantity q)
{
    if (isnan(a->q[q].median) || isnan(b->q[q].median))
        return "not known on both sides";
    if (q == QUANTITY_QUALITY && (a->work != b->work || !a->work))
        return "not compared, as the runs trained for different numbers of epochs";
    if (q == QUANTITY_QUALITY && a->val_images && b->val_images && a->val_images != b->val_images)
        return "not compared, as it is counted over different validation images";
    return NULL;
}

static int add_difference(struct analysis_pair *pair, const struct series_point *a,
                          const struct series_point *b, enum quantity q, double margin,
                          size_t nfamily, struct err *e)
{
    struct analysis_difference *d = &pair->differences[pair->ndifferences++];
    const struct summary *x = &a->q[q], *y = &b->q[q];
    double resolution = fmax(x->resolution, y->resolution);

    *d = (struct analysis_difference){.gpus = a->gpus, .quantity = q,
                                      .ratio = {NAN, interval_none(), NAN, NAN},
                                      .why_not = refuse_difference(a, b, q)};
    if (d->why_not)
        return compare_quality(&d->compare, NULL, 0, NULL, 0, NAN, margin, nfamily, e);
    if (q == QUANTITY_QUALITY)
        return compare_quality(&d->compare, a->rows, a->nruns, b->rows, b->nruns, resolution,
                               margin, nfamily, e);
    d->ratio = series_compare(a, b, q, INTERVAL_LEVEL);
    if (compare_times(&d->compare, a->rows, a->nruns, b->rows, b->nruns, q, resolution,
                      ANALYSIS_TIME_MARGIN, nfamily, e))
        return -1;
    if (d->compare.test != COMPARE_NONE || d->ratio.interval.method != INTERVAL_EPOCHS)
        d->ratio.interval = d->compare.interval;
    return 0;
}

/* Counts the comparisons of a quantity at the common counts of a pair or, with add, adds them. */
static int add_quantity(struct analysis_pair *pair, const struct series *a, const struct series *b,
                        enum quantity q, double margin, bool add, size_t *nfamily, struct err *e)
{
    for (size_t i = 0, j = 0; i < a->npoints && j < b->npoints;) {
        const struct series_point *x = &a->points[i], *y = &b->points[j];
        bool common = x->gpus == y->gpus;
        if (common && add && add_difference(pair, x, y, q, margin, *nfamily, e))
            return -1;
        *nfamily += common && !add && !refuse_difference(x, y, q);
        i += x->gpus <= y->gpus;
        j += y->gpus <= x->gpus;
    }
    return 0;
}

static bool has_both(const struct series *x, const struct series *y, enum quantity q)
{
    return q != QUANTITY_QUALITY || ((x->has_quality || y->has_quality) &&
                                 strcmp(x->quality, y->quality) == 0 && x->lower == y->lower);
}

/* Compares one quantity of all pairs at all their common counts simultaneously. */
static int compare_pairs(struct analysis *a, enum quantity q, const struct decision_rule *rule,
                         struct err *e)
{
    size_t nfamily = 0;

    for (int add = 0; add < 2; add++) /* the family is counted first */
        for (size_t i = 0; i < a->npairs; i++) {
            struct analysis_pair *p = &a->pairs[i];
            const struct series *x = &a->series[p->a].series, *y = &a->series[p->b].series;
            if (has_both(x, y, q) &&
                add_quantity(p, x, y, q, decision_margin(rule, x), add, &nfamily, e))
                return -1;
        }
    return 0;
}

static int add_pair(struct analysis *a, size_t i, size_t k, struct err *e)
{
    struct analysis_pair *pair = &a->pairs[a->npairs++];
    size_t most = 2 * a->series[i].series.npoints;

    *pair = (struct analysis_pair){
        .a = i, .b = k, .differences = mem_zero(most, sizeof *pair->differences, e)};
    return pair->differences ? 0 : -1;
}

/* Returns whether both series are comparable. Two known modes of scaling of one engine in one
 * source are not, since they differ by more than one cause; nor are epochs that grow with the GPUs
 * and epochs that do not. */
static bool are_comparable(const struct analysis_series *x, const struct analysis_series *y)
{
    enum series_mode a = x->series.mode, b = y->series.mode;

    if (a == b || a < SERIES_STRONG || b < SERIES_STRONG)
        return true;
    if (x->source == y->source && strcmp(x->series.engine, y->series.engine) == 0)
        return false;
    return a != SERIES_WEAK && b != SERIES_WEAK;
}

static int compare_series(struct analysis *a, const struct decision_rule *rule, struct err *e)
{
    size_t n = a->nseries < ANALYSIS_PAIRED ? a->nseries : ANALYSIS_PAIRED;

    a->pairs = mem_zero(n * n, sizeof *a->pairs, e);
    if (!a->pairs)
        return -1;
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++)
            if (are_comparable(&a->series[i], &a->series[k]) && add_pair(a, i, k, e))
                return -1;
    return compare_pairs(a, QUANTITY_STEADY_EPOCH, rule, e) ||
                   compare_pairs(a, QUANTITY_QUALITY, rule, e)
               ? -1
               : 0;
}

/* Returns the smallest number of GPUs above last with which some run has a result, or 0. */
static int next_count(const struct analysis_source *sources, size_t nsources, int last)
{
    int next = 0;

    for (size_t i = 0; i < nsources; i++)
        for (size_t k = 0; k < sources[i].results.count; k++) {
            const struct result *r = &sources[i].results.rows[k];
            if (r->state == RESULT_DONE && r->gpus > last && (!next || r->gpus < next))
                next = r->gpus;
        }
    return next;
}

/* Adds "1, 2 and 4 GPUs". */
static void list_counts(const struct analysis_source *sources, size_t nsources, struct buf *dst)
{
    int first = next_count(sources, nsources, 0);

    for (int n = first, next; n; n = next) {
        next = next_count(sources, nsources, n);
        buf_addf(dst, "%s%d", n == first ? "" : next ? ", " : " and ", n);
    }
    buf_addf(dst, " GPU%s", plural(next_count(sources, nsources, first) ? 2 : first));
}

/* Adds "embedded (2 and 4 GPUs); embedded, model.base 16 (1 GPU)". */
static void list_series(const struct analysis *a, struct buf *dst)
{
    for (size_t i = 0; i < a->nseries; i++) {
        const struct series *s = &a->series[i].series;
        buf_addf(dst, "%s%s (", i ? "; " : "", s->name);
        for (size_t k = 0; k < s->npoints; k++)
            buf_addf(dst, "%s%d", k == 0 ? "" : k + 1 < s->npoints ? ", " : " and ",
                     s->points[k].gpus);
        buf_addf(dst, " GPU%s)", plural(s->npoints == 1 ? s->points[0].gpus : (long)s->npoints));
    }
}

static const struct result *first_without(const struct analysis_source *sources, size_t nsources)
{
    for (size_t i = 0; i < nsources; i++)
        for (size_t k = 0; k < sources[i].results.count; k++)
            if (sources[i].results.rows[k].state != RESULT_DONE)
                return &sources[i].results.rows[k];
    return NULL;
}

static int refuse_results(const struct analysis_source *sources, size_t nsources, struct err *e)
{
    const struct result *bad = first_without(sources, nsources);

    if (!bad)
        return err_set(e, ERR_DATA, "%s: there is no run in it", nsources ? sources[0].title : "");
    return err_set(e, ERR_DATA,
                   "%s: no run has a result; the first, %.60s (%d GPU%s), is %s: %.300s",
                   sources[0].title, bad->run, bad->gpus, plural(bad->gpus),
                   result_state_names[bad->state], bad->note);
}

static int refuse_single(const struct analysis *a, int gpus, struct err *e)
{
    const struct result *bad = first_without(a->sources, a->nsources);

    err_set(e, ERR_STATS,
            "%s: a speed-up compares two numbers of GPUs, and all runs with a result ran on "
            "%d GPU%s only; submit more counts, e.g. --gpus 1,2,4",
            a->sources[0].title, gpus, plural(gpus));
    if (bad) {
        size_t n = strlen(e->text);
        snprintf(e->text + n, sizeof e->text - n,
                 ". Runs without a result are left out; the first, %.60s (%d GPU%s), is %s: %.300s",
                 bad->run, bad->gpus, plural(bad->gpus), result_state_names[bad->state], bad->note);
    }
    return -1;
}

static int refuse_base(const struct analysis_source *sources, size_t nsources, int base,
                       struct err *e)
{
    struct buf counts = {0};

    list_counts(sources, nsources, &counts);
    int rc =
        counts.failed
            ? mem_fail(e)
            : err_set(e, ERR_STATS,
                      "%s: no run on %d GPU%s has a result, so speed-ups have no base case; there "
                      "are results on %s. Run it (unetctl submit --gpus %d; unetctl collect says "
                      "what became of it), or take another base case: --base %d",
                      sources[0].title, base, plural(base), counts.data, base,
                      next_count(sources, nsources, 0));
    buf_destroy(&counts);
    return rc;
}

int analysis_check_base(const struct analysis_source *sources, size_t nsources, int base,
                        struct err *e)
{
    if (!next_count(sources, nsources, 0))
        return refuse_results(sources, nsources, e);
    return base && next_count(sources, nsources, base - 1) != base
               ? refuse_base(sources, nsources, base, e)
               : 0;
}

/* Reports that no series has results for both the base case and a larger number of GPUs. */
static int refuse_series(const struct analysis *a, int base, struct err *e)
{
    int first = next_count(a->sources, a->nsources, 0);
    struct buf series = {0};

    if (!base && !next_count(a->sources, a->nsources, first))
        return refuse_single(a, first, e);
    base = base ? base : 1;
    if (analysis_check_base(a->sources, a->nsources, base, e))
        return -1;
    list_series(a, &series);
    int rc =
        series.failed
            ? mem_fail(e)
            : err_set(e, ERR_STATS,
                      "%s: a speed-up compares two numbers of GPUs with the same settings, and no "
                      "run on more than %d GPU%s has those of a run on %d: %s. Submit more counts "
                      "with the same settings, or take another base case (--base)",
                      a->sources[0].title, base, plural(base), base, series.data);
    buf_destroy(&series);
    return rc;
}

/* Checks that some series begins with the base case and has a larger count, and that some series of
 * two counts or more has a steady epoch at its smallest. The base case is 1 GPU unless the user
 * named another (base). */
static int check_base_case(const struct analysis *a, int base, struct err *e)
{
    bool compared = false, steady = false, based = false;

    if (analysis_check_base(a->sources, a->nsources, base, e))
        return -1;
    for (size_t i = 0; i < a->nseries; i++) {
        const struct series *s = &a->series[i].series;
        if (s->npoints < 2)
            continue;
        compared = true;
        steady |= s->points[0].q[QUANTITY_STEADY_EPOCH].median > 0;
        based |= s->points[0].gpus == (base ? base : 1);
    }
    if (compared && !steady)
        return err_set(
            e, ERR_STATS,
            "%s: the runs of the base case have no steady epoch (a single epoch, which pays for "
            "start-up, no times above 0, or unknown work), so there is nothing to compare. Train "
            "for two epochs or more",
            a->sources[0].title);
    return based ? 0 : refuse_series(a, base, e);
}

int analysis_create(struct analysis *a, const struct analysis_source *sources, size_t nsources,
                    const struct analysis_options *options, struct err *e)
{
    *a = (struct analysis){.sources = sources, .nsources = nsources};
    if (find_series(a, options, e) || check_base_case(a, options->facts.base, e))
        goto fail;
    for (size_t i = 0; i < a->nseries; i++)
        if (analyse_series(&a->series[i], &sources[a->series[i].source].results, options, e))
            goto fail;
    if (compare_series(a, &options->rule, e))
        goto fail;
    rules_compute(a->rules, a);
    return 0;
fail:
    analysis_destroy(a);
    return -1;
}

void analysis_destroy(struct analysis *a)
{
    for (size_t i = 0; i < a->nseries; i++) {
        series_destroy(&a->series[i].series);
        convergence_destroy(&a->series[i].convergence);
        for (size_t k = 0; k < a->series[i].nlevels; k++)
            convergence_destroy(&a->series[i].levels[k]);
        free(a->series[i].levels);
        decision_destroy(&a->series[i].decision);
    }
    for (size_t i = 0; i < a->npairs; i++)
        free(a->pairs[i].differences);
    free(a->series);
    free(a->pairs);
    free(a->notes);
    *a = (struct analysis){0};
}
