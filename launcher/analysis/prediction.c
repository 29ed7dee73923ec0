/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/analysis/analysis.h"

#include <math.h>

#include "launcher/analysis/analysis_internal.h"

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

/* Returns whether the energy or time of the chosen count, or with cost that times its GPUs, is
 * below that of all others, by the intervals of their ratios; with single, of single runs by three
 * times their assumed scatter. */
static bool is_separated(const struct series *s, const struct series_point *chosen, enum quantity q,
                         bool cost, bool single)
{
    for (size_t i = 0; i < s->npoints; i++) {
        const struct series_point *p = &s->points[i];
        if (p == chosen || isnan(p->q[q].median))
            continue;
        struct ratio r = series_compare(chosen, p, q, INTERVAL_LEVEL);
        double scale = cost ? (double)chosen->gpus / p->gpus : 1;
        if (interval_is_known(&r.interval)
                ? r.interval.high * scale >= 1
                : !single || !isnan(r.least) || r.value * scale > 1 - 3 * DECISION_TIME_SCATTER)
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
    a->energy_separated = p && is_separated(s, p, a->energy_by, false, false);
    for (size_t i = 0; p && i < p->nruns; i++)
        a->energy_estimated |= p->rows[i].series.energy_estimated;
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
        if (series_find(s, n) || !model_is_usable(whole) || !series_is_practical(s, n))
            continue;
        double latest = model_latest(whole, n);
        if (latest > deadline_s)
            continue;
        *c = (struct advice_choice){.gpus = n, .value = model_predict(whole, n).expected,
                                    .extrapolated = model_is_extrapolation(whole, n)};
        snprintf(c->why, sizeof c->why, "predicted by the model, which expects at most %.4g s "
                 "(%g %%)%s; it was not measured", latest, 100 * MODEL_SURE, n > whole->largest
                 ? ", if no limit begins beyond the largest count measured" : "");
        return;
    }
    if (!c->gpus)
        snprintf(c->why, sizeof c->why,
                 "no count measured meets it, and no model is sure (%g %%) of any up to %d, twice "
                 "the largest", 100 * MODEL_SURE, last);
}

void advice_compute(struct advice *a, const struct series *s, const struct model *whole,
                    double deadline_s)
{
    choose_least(&a->time, s, QUANTITY_WHOLE, "time");
    choose_least(&a->gpu_hours, s, QUANTITY_COUNT, "GPU-hours");
    const struct series_point *fastest = series_find(s, a->time.gpus),
                              *cheapest = series_find(s, a->gpu_hours.gpus);
    a->time_overlaps = fastest && !is_separated(s, fastest, QUANTITY_WHOLE, false, true);
    a->hours_overlap = cheapest && !is_separated(s, cheapest, QUANTITY_WHOLE, true, true);
    a->energy_estimated = false;
    choose_energy(a, s);
    meet_deadline(&a->deadline, s, whole, deadline_s);
}

/* ---- predictions ---- */

#define FLOAT_BYTES 4
#define SLICE_BYTES (1 << 20)
#define HIDEABLE (2 / 3.) /* the part of a step's computation that is its backward pass */

enum { LOW, EXPECTED, HIGH, NCASES };

static const struct {
    double bandwidth;
    bool ring, sliced, hides;
} cases[NCASES] = {
    [LOW] = {1, false, false, true},
    [EXPECTED] = {0.8, false, false, false},
    [HIGH] = {0.5, true, true, false},
};

/* of the scenarios: relative to a step, and to the epoch of the base case */
static const double assumed_jitter[NCASES] = {0, 0.01, 0.03};
static const double assumed_serial[NCASES] = {0, 0.02, 0.05};

/* Bandwidths are data rates published by manufacturers and standards, per direction: for NVLink
 * of all links of a GPU, for PCIe of 16 lanes with 128b/130b encoding. Latencies are generous
 * assumptions, in seconds, for a small message from memory to memory, including the collective
 * library's part. */
static const struct prediction_link links[] = {
    {"nvlink1", 80e9, 5e-6, "P100: 4 NVLinks of 20 GB/s"},
    {"nvlink2", 150e9, 5e-6, "V100: 6 NVLinks of 25 GB/s"},
    {"nvlink3", 300e9, 5e-6, "A100: 12 NVLinks of 25 GB/s"},
    {"nvlink4", 450e9, 5e-6, "H100: 18 NVLinks of 25 GB/s"},
    {"pcie3", 15.75e9, 10e-6, "PCI Express 3.0, 16 lanes of 8 GT/s"},
    {"pcie4", 31.5e9, 10e-6, "PCI Express 4.0, 16 lanes of 16 GT/s"},
    {"pcie5", 63e9, 10e-6, "PCI Express 5.0, 16 lanes of 32 GT/s"},
    {"opa100", 12.5e9, 10e-6, "Omni-Path, 100 Gbit/s"},
    {"ib-fdr", 6.8e9, 10e-6, "InfiniBand FDR 4x, 54.5 Gbit/s of data"},
    {"ib-edr", 12.1e9, 10e-6, "InfiniBand EDR 4x, 97 Gbit/s of data"},
    {"ib-hdr", 25e9, 10e-6, "InfiniBand HDR 4x, 200 Gbit/s"},
    {"ib-ndr", 50e9, 10e-6, "InfiniBand NDR 4x, 400 Gbit/s"},
    {"eth10", 1.25e9, 30e-6, "10 Gbit Ethernet, TCP"},
    {"eth25", 3.125e9, 30e-6, "25 Gbit Ethernet, TCP"},
    {"eth100", 12.5e9, 30e-6, "100 Gbit Ethernet, TCP"},
};
#define NLINKS (sizeof links / sizeof *links)

static int refuse_link(const char *text, struct err *e)
{
    char names[256] = "";
    size_t used = 0;

    for (size_t i = 0; i < NLINKS; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                                 links[i].name);
    return err_set(e, ERR_USAGE, "'%s' is neither a link (%s) nor GB/s:microseconds, such as "
                   "12.5:10", text, names);
}

int prediction_link_decode(const char *text, struct prediction_link *dst, struct err *e)
{
    char *colon, *end;

    for (size_t i = 0; i < NLINKS; i++)
        if (strcmp(links[i].name, text) == 0) {
            *dst = links[i];
            return 0;
        }
    double gb = strtod(text, &colon);
    if (colon == text || *colon != ':' || !(gb > 0 && gb < 1e6))
        return refuse_link(text, e);
    double us = strtod(colon + 1, &end);
    if (end == colon + 1 || *end || !(us >= 0 && us < 1e6))
        return refuse_link(text, e);
    *dst = (struct prediction_link){
        .bytes_per_s = gb * 1e9, .latency_s = us * 1e-6, .what = "as given"};
    snprintf(dst->name, sizeof dst->name, "%s", text);
    return 0;
}

/* Returns the time of an all-reduce among n participants over a link. */
static double link_time(const struct prediction_link *l, int n, double bytes, int which)
{
    double messages = cases[which].ring ? 2. * (n - 1) : 2 * ceil(log2(n));
    double slices = cases[which].sliced ? ceil(bytes / SLICE_BYTES) : 1;

    if (n < 2)
        return 0;
    return 2. * (n - 1) / n * bytes / (cases[which].bandwidth * l->bytes_per_s) +
           slices * messages * l->latency_s;
}

static int count_nodes(const struct prediction *p, int gpus)
{
    return (gpus + p->gpus_per_node - 1) / p->gpus_per_node;
}

static double gradients_time(const struct prediction *p, int gpus, int which)
{
    int on_node = gpus < p->gpus_per_node ? gpus : p->gpus_per_node;

    return link_time(&p->network->within, on_node, p->bytes, which) +
           link_time(&p->network->between, count_nodes(p, gpus), p->bytes, which);
}

/* Returns the time of the sums of batch norm. They have few bytes and are summed in a tree, so
 * only latencies count. */
static double norms_time(const struct prediction *p, int gpus)
{
    int on_node = gpus < p->gpus_per_node ? gpus : p->gpus_per_node;

    return p->network->sums * (2 * ceil(log2(on_node)) * p->network->within.latency_s +
                               2 * ceil(log2(count_nodes(p, gpus))) *
                               p->network->between.latency_s);
}

static double comm_time(const struct prediction *p, int gpus, int which)
{
    return gradients_time(p, gpus, which) + norms_time(p, gpus);
}

static double exposed_time(const struct prediction *p, int gpus, double compute, int which)
{
    double gradients = gradients_time(p, gpus, which);
    double last = gradients / ceil(p->bytes / SLICE_BYTES + 1e-9);
    double beyond = gradients - HIDEABLE * compute;

    if (cases[which].hides)
        gradients = beyond > last ? beyond : last;
    return gradients + norms_time(p, gpus);
}

/* Returns the time that a GPU computes in a step, without waiting for others. The measured step
 * of the base case includes its own communication, which is subtracted, but at most half of the
 * step. */
static double compute_time(const struct prediction *p, int gpus, int which)
{
    double own = p->step_s, exposed = exposed_time(p, p->base, own, which);
    double compute = exposed < own / 2 ? own - exposed : own / 2;

    return p->mode == SERIES_STRONG ? compute * p->base / gpus : compute;
}

static double spread_of(int gpus, int base)
{
    return sqrt(2 * log(gpus)) - sqrt(2 * log(base));
}

static double batch_of_step(const struct prediction *p, int gpus)
{
    return p->mode == SERIES_STRONG ? p->batch : p->batch * gpus / p->base;
}

static double units_of_epoch(const struct prediction *p, int gpus)
{
    double batch = batch_of_step(p, gpus);

    if (p->drops && batch > 0 && p->units >= batch)
        return floor(p->units / batch + 1e-9) * batch;
    return p->mode == SERIES_WEAK ? p->units * gpus / p->base : p->units;
}

static double steps_of_epoch(const struct prediction *p, int gpus)
{
    return units_of_epoch(p, gpus) / batch_of_step(p, gpus);
}

/* Returns the seconds that the links cost an epoch with the work of the base case. */
static double links_time(const void *arg, double gpus, int which)
{
    const struct prediction *p = arg;
    int n = (int)lround(gpus);

    return p->units / batch_of_step(p, n) *
           exposed_time(p, n, compute_time(p, n, which), which);
}

/* Returns the seconds of an epoch in a scenario. */
static double scenario_time(const struct prediction *p, int gpus, int which)
{
    double compute = compute_time(p, gpus, which) *
                     (1 + assumed_jitter[which] * spread_of(gpus, p->base));
    double epoch = p->step_s * p->units / p->batch;

    return steps_of_epoch(p, gpus) * (compute + exposed_time(p, gpus, compute, which)) +
           assumed_serial[which] * epoch * (1 - (double)p->base / gpus);
}

static struct bounds scale(struct bounds b, double factor)
{
    return (struct bounds){factor * b.low, factor * b.expected, factor * b.high};
}

static void predict_point(struct prediction *p, const struct series *s, int gpus)
{
    const struct series_point *known = series_find(s, gpus);
    struct prediction_point *d = &p->points[p->npoints++];
    double ideal = (double)gpus / p->base,
           units = p->units > 0 ? units_of_epoch(p, gpus) / p->units : 1;

    *d = (struct prediction_point){
        .gpus = gpus, .extrapolated = gpus > MODEL_FURTHEST * p->largest,
        .comm_s = {NAN, NAN, NAN}, .step_s = {NAN, NAN, NAN},
        .measured_epoch_s = known ? known->q[QUANTITY_STEADY_EPOCH].median : NAN};
    if (p->scenarios) {
        double base = units * p->step_s * p->units / p->batch;
        d->epoch_s = (struct bounds){scenario_time(p, gpus, LOW), scenario_time(p, gpus, EXPECTED),
                                     scenario_time(p, gpus, HIGH)};
        d->speedup = (struct bounds){base / d->epoch_s.high, base / d->epoch_s.expected,
                                     base / d->epoch_s.low};
    } else {
        d->epoch_s = scale(model_predict(&p->model, gpus), units);
        d->speedup = model_speedup(&p->model, p->base, gpus);
    }
    if (p->linked) {
        d->nodes = count_nodes(p, gpus);
        d->step_s = scale(d->epoch_s, 1 / steps_of_epoch(p, gpus));
        d->comm_s = (struct bounds){comm_time(p, gpus, LOW), comm_time(p, gpus, EXPECTED),
                                    comm_time(p, gpus, HIGH)};
    }
    d->efficiency = scale(d->speedup, 1 / ideal);
}

/* Returns the largest number of GPUs that were on a node, or 0 if no run states its nodes. */
static int nodes_of_series(const struct series *s)
{
    int most = 0;

    for (size_t i = 0; i < s->npoints; i++) {
        const struct series_point *p = &s->points[i];
        int per_node = p->nodes ? (p->gpus + p->nodes - 1) / p->nodes : 0;
        most = per_node > most ? per_node : most;
    }
    return most;
}

static int refuse_series(const struct series *s, const char *what, const char *option,
                         struct err *e)
{
    return err_set(e, ERR_STATS, "%s: the results do not state %s, which a prediction needs: %s",
                   s->engine, what, option);
}

/* Returns what is unknown that the costs of links follow from, with the option that supplies it, or
 * NULL. most: the largest number of GPUs that is measured or asked for. */
static const char *find_unknown(const struct prediction *p, int most, const char **option)
{
    const struct prediction_network *n = p->network;
    bool several = p->gpus_per_node && most > p->gpus_per_node;
    const struct { const char *what, *option; bool known; } rows[] = {
        {"the batch", "--batch-per-gpu N", p->batch > 0},
        {"the images of an epoch", "--train-images N", p->units > 0},
        {"how many parameters the network has",
         "--parameters N (488617 for the reference U-Net)", p->bytes > 0},
        {"the nodes", "--gpus-per-node N", p->gpus_per_node > 0},
        {"the links", "--links nvlink2,ib-edr, or 'unetctl doctor --bandwidth'",
         n->within.bytes_per_s > 0 && (!several || n->between.bytes_per_s > 0)}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!rows[i].known) {
            *option = rows[i].option;
            return rows[i].what;
        }
    return NULL;
}

/* Begins a prediction up to `most` GPUs with what is known of the base case. */
static int set_base(struct prediction *p, const struct series *s,
                    const struct prediction_network *network, int most, struct err *e)
{
    const struct series_point *base = &s->points[0];
    double epoch = base->q[QUANTITY_STEADY_EPOCH].median;
    double parameters = network->parameters > 0 ? network->parameters
                                                : (double)base->rows[0].parameters;

    *p = (struct prediction){
        .network = network, .mode = s->mode, .base = base->gpus,
        .largest = s->points[s->npoints - 1].gpus,
        .gpus_per_node = network->gpus_per_node ? network->gpus_per_node : nodes_of_series(s),
        .bytes = FLOAT_BYTES * parameters, .units = base->q[QUANTITY_UNITS].median,
        .batch = (double)base->batch_per_gpu * base->gpus, .unit = s->unit,
        .interval = series_interval(s), .scenarios = s->npoints < 2, .fake_gpus = s->fake_gpus};
    if (!(epoch > 0))
        return refuse_series(s, "the time of a steady epoch", "train for two epochs or more", e);
    const char *option, *unknown = find_unknown(p, most, &option);
    if (unknown && s->npoints < 2)
        return refuse_series(s, unknown, option, e);
    if (s->mode == SERIES_WEAK && !s->by_units)
        return refuse_series(s, "the images of an epoch", "--train-images N", e);
    p->linked = !unknown;
    p->step_s = epoch / (p->units / p->batch);
    for (size_t i = 1; s->mode == SERIES_WEAK_BATCH && i < s->npoints; i++)
        p->drops |= s->points[i].q[QUANTITY_UNITS].median < p->units;
    return 0;
}

/* Returns what the model is fitted to of a run; a value is NaN if it cannot be compared. */
static struct model_sample sample_of(const struct series *s, const struct result *r,
                                     enum quantity q)
{
    bool scaled = q != QUANTITY_WHOLE && s->by_units;
    double factor = scaled ? s->points[0].q[QUANTITY_UNITS].median / r->units : 1;

    if (q == QUANTITY_WHOLE && (!s->equal_epochs || s->mode == SERIES_WEAK))
        factor = NAN;
    return (struct model_sample){r->gpus, factor * quantity_of(r, q),
                                 factor * s->points[0].q[q].resolution};
}

static int fit_series(struct model *m, const struct series *s, enum quantity q,
                      const struct model_law_known *known, struct err *e)
{
    struct model_sample *samples = mem_zero(s->nrows, sizeof *samples, e);

    if (!samples)
        return -1;
    for (size_t i = 0; i < s->nrows; i++)
        samples[i] = sample_of(s, &s->rows[i], q);
    int rc = model_fit(m, samples, s->nrows, known, e);
    free(samples);
    return rc;
}

static double batch_shared(const struct series *s)
{
    return s->mode == SERIES_STRONG ? (double)s->points[0].batch_per_gpu * s->points[0].gpus : 0;
}

int prediction_fit(struct model *m, const struct series *s, enum quantity q, struct err *e)
{
    struct model_law_known known = {.gpus_per_node = nodes_of_series(s), .batch = batch_shared(s)};

    return fit_series(m, s, q, &known, e);
}

static int fit_links(struct prediction *p, const struct series *s, struct err *e)
{
    struct model_law_known known = {.gpus_per_node = p->gpus_per_node,
                                    .batch = batch_shared(s),
                                    .links = p->linked ? links_time : NULL,
                                    .arg = p, .ncases = p->linked ? NCASES : 0};
    const struct model *m = &p->model;

    if (p->scenarios) {
        p->model.loo_error = NAN;
        return 0;
    }
    if (fit_series(&p->model, s, QUANTITY_STEADY_EPOCH, &known, e))
        return -1;
    if (!m->fitted)
        return refuse_series(s, "the times of two numbers of GPUs", "train for two epochs or more",
                             e);
    if (model_misfits(m))
        return err_set(e, ERR_STATS,
                       "%s: the times cannot be predicted: the model misses measured numbers of "
                       "GPUs by %.0f %% (limit %.0f %%), and those that are left out by %.0f %% "
                       "(limit %.0f %%). Repeat them, or measure more",
                       s->engine, 100 * m->error, 100 * MODEL_POOR_FIT, 100 * m->loo_error,
                       100 * MODEL_POOR_LEFT_OUT);
    return 0;
}

int prediction_compute(struct prediction *p, const struct series *s,
                       const struct prediction_network *network, const int *gpus, size_t n,
                       struct err *e)
{
    int most = s->points[s->npoints - 1].gpus;

    for (size_t i = 0; i < n; i++)
        most = gpus[i] > most ? gpus[i] : most;
    if (set_base(p, s, network, most, e))
        return -1;
    p->points = mem_zero(n, sizeof *p->points, e);
    if (!p->points)
        return -1;
    if (fit_links(p, s, e)) {
        prediction_destroy(p);
        return -1;
    }
    for (size_t i = 0; i < n; i++)
        predict_point(p, s, gpus[i]);
    p->model.known.links = NULL;
    return 0;
}

void prediction_destroy(struct prediction *p)
{
    free(p->points);
    *p = (struct prediction){0};
}
