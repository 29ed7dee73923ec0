/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/analysis/model/model.h"

#include <math.h>

#include "launcher/analysis/statistics/interval.h"
#include "src/rng.h"
#include "src/stat.h"

/* Losses of a family are alternatives to each other and share its prior. */
enum family { SERIAL, TREE, LINEAR, FIRST, STRAGGLERS, BOUNDARY, NODES, LIMITS, STEPS, NFAMILIES };

#define PLACES 14     /* about the most counts that are tried as places of limits and steps */
#define WIDE_GAP 1.45 /* between counts so far apart a limit may also set in halfway */
/* How the cost of a node boundary grows with further nodes is seldom measured: it is less probable
 * than that it does not, by this logarithm. */
#define NODES_PRIOR (-1.6)
#define USL_PRIOR 3.1        /* the universal scalability law is more probable than other pairs */
#define STRAGGLERS_PRIOR 3.0 /* GPUs that wait for the slowest are never quite alike */
/* The relative standard deviation of the steps of GPUs that compute the same: a few percent. More
 * is another loss. */
#define JITTER_MOST 0.1
/* A limit a little beyond the largest count, in parts of it, costs 4 % there: it is seldom seen
 * before it counts, so it is more probable than other losses that grow with the GPUs. */
#define SATURATES 1.25
#define SATURATION_PRIOR 3.0
#define LOSS_PRIOR (-M_LN2)  /* of each loss in a set: simple laws are more probable */

static const struct {
    const char *name;   /* of the loss */
    const char *factor; /* beside its coefficient in a formula; NULL: it depends on `at` */
    enum family family;
    double prior; /* logarithm, relative to others of the family */
} kinds[MODEL_LAW_NKINDS] = {
    [MODEL_LAW_COMPUTE] = {"ideal scaling", "/ N", NFAMILIES, 0},
    [MODEL_LAW_SERIAL] = {"a serial part", "", SERIAL, 0},
    [MODEL_LAW_LOG] = {"a logarithmic loss", "log2 N", TREE, 0},
    [MODEL_LAW_LINEAR] = {"a loss with each GPU", "(N - 1)", LINEAR, 0},
    [MODEL_LAW_FIRST] = {"a first step", "[N > 1]", FIRST, 0},
    [MODEL_LAW_FIRST_SHARE] = {"slower computation from 2 GPUs on", "[N > 1] / N", FIRST, 0},
    [MODEL_LAW_RING_SHARE] = {"a ring of messages", "(N - 1) / N^2", FIRST, 0},
    [MODEL_LAW_JITTER] = {"stragglers", "sqrt(2 ln N) / N", STRAGGLERS, STRAGGLERS_PRIOR},
    [MODEL_LAW_LOG_SHARE] = {"slower computation with more GPUs", "log2 N / N", STRAGGLERS, 0},
    [MODEL_LAW_NODES] = {"a step at the node boundary", "[P > 1]", BOUNDARY, 0},
    [MODEL_LAW_NODES_SHARE] = {"slower computation on several nodes", "[P > 1] / N", BOUNDARY, 0},
    [MODEL_LAW_NODES_RING] = {"a ring of nodes", "(P - 1) / P", NODES, NODES_PRIOR},
    [MODEL_LAW_NODES_LOG] = {"a tree of nodes", "log2 P", NODES, NODES_PRIOR},
    [MODEL_LAW_NODES_LINEAR] = {"a loss with each node", "(P - 1)", NODES, NODES_PRIOR + M_LN2},
    [MODEL_LAW_LIMIT] = {"a limit of the throughput", NULL, LIMITS, 0},
    [MODEL_LAW_STEP] = {"a step", NULL, STEPS, 0},
    [MODEL_LAW_SATURATION] = {"a saturation", NULL, LINEAR, SATURATION_PRIOR},
};

static double nodes_of(const struct model_law_known *k, double gpus)
{
    return k->gpus_per_node ? ceil(gpus / k->gpus_per_node - 1e-9) : 1;
}

static double share_of(const struct model_law_known *k, double gpus)
{
    return k->batch > 0 ? ceil(k->batch / gpus - 1e-9) / k->batch : 1 / gpus;
}

static double model_law_value(const struct model_law_term *t, const struct model_law_known *known,
                              double gpus)
{
    double share = share_of(known, gpus), nodes = nodes_of(known, gpus);

    switch (t->kind) {
    case MODEL_LAW_COMPUTE:
        return share;
    case MODEL_LAW_SERIAL:
        return 1;
    case MODEL_LAW_LOG:
        return log2(gpus);
    case MODEL_LAW_LINEAR:
        return gpus - 1;
    case MODEL_LAW_FIRST:
        return gpus > 1;
    case MODEL_LAW_FIRST_SHARE:
        return gpus > 1 ? share : 0;
    case MODEL_LAW_RING_SHARE:
        return share * (gpus - 1) / gpus;
    case MODEL_LAW_JITTER:
        return share * sqrt(2 * log(gpus));
    case MODEL_LAW_LOG_SHARE:
        return share * log2(gpus);
    case MODEL_LAW_NODES:
        return nodes > 1;
    case MODEL_LAW_NODES_SHARE:
        return nodes > 1 ? share : 0;
    case MODEL_LAW_NODES_RING:
        return (nodes - 1) / nodes;
    case MODEL_LAW_NODES_LOG:
        return log2(nodes);
    case MODEL_LAW_NODES_LINEAR:
        return nodes - 1;
    case MODEL_LAW_LIMIT:
        return fmax(0, 1 / t->at - share);
    case MODEL_LAW_STEP:
        return gpus > t->at;
    case MODEL_LAW_SATURATION:
        return share * (pow(1 + pow(gpus / t->at, 6), 1 / 6.) - 1);
    case MODEL_LAW_NKINDS:
        break;
    }
    return 0;
}

/* Returns the upper bound of the term's coefficient, as a multiple of that of computation; INFINITY
 * if there is none. */
static double model_law_most(const struct model_law_term *t)
{
    return t->kind == MODEL_LAW_JITTER ? JITTER_MOST
           : t->kind == MODEL_LAW_SATURATION ? 1 : INFINITY;
}

/* Fills dst with the terms that measurements with these ascending counts may show, computation
 * first. Returns their number. */
static int model_law_list(struct model_law_term dst[MODEL_LAW_TERMS],
                          const struct model_law_known *known, const double *counts, size_t n)
{
    bool nodes = known->gpus_per_node > 1 && counts[n - 1] > known->gpus_per_node;
    size_t stride = n / PLACES + 1;
    int used = 0;

    for (int kind = MODEL_LAW_COMPUTE; kind < MODEL_LAW_LIMIT; kind++) {
        bool first = kind == MODEL_LAW_FIRST || kind == MODEL_LAW_FIRST_SHARE;
        if (first ? counts[0] == 1 : kind < MODEL_LAW_NODES || nodes)
            dst[used++] = (struct model_law_term){(enum model_law_kind)kind, 0};
    }
    dst[used++] = (struct model_law_term){MODEL_LAW_SATURATION, SATURATES * counts[n - 1]};
    for (size_t i = 1; i + 1 < n; i += stride) {
        dst[used++] = (struct model_law_term){MODEL_LAW_LIMIT, counts[i]};
        if (counts[i + 1] > WIDE_GAP * counts[i])
            dst[used++] = (struct model_law_term){MODEL_LAW_LIMIT, sqrt(counts[i] * counts[i + 1])};
        dst[used++] = (struct model_law_term){MODEL_LAW_STEP, counts[i]};
    }
    return used;
}

/* Returns the natural logarithm of the prior of the set of n of these terms; set[0] is
 * computation. */
static double model_law_prior(const struct model_law_term *terms, int nterms,
                              const unsigned char *set, int n)
{
    double sum = 0, families = 0, choices = 1;
    int members[NFAMILIES + 1] = {0};
    bool usl = n == 3;

    for (int i = 1; i < nterms; i++)
        families += members[kinds[terms[i].kind].family]++ == 0;
    for (int i = 1; i < n; i++) {
        enum model_law_kind kind = terms[set[i]].kind;
        sum += LOSS_PRIOR + kinds[kind].prior - log(members[kinds[kind].family]);
        choices *= fmax(1, families - i + 1) / i;
        usl &= kind == MODEL_LAW_SERIAL || kind == MODEL_LAW_LINEAR;
    }
    return sum - log(choices) + (usl ? USL_PRIOR : 0);
}

static bool has(const struct model_law *law, enum model_law_kind kind)
{
    for (int i = 1; i < law->nterms; i++)
        if (law->terms[i].kind == kind)
            return true;
    return false;
}

void model_law_name(const struct model_law *law, struct buf *b)
{
    if (law->nterms == 1)
        buf_add(b, "ideal scaling");
    else if (law->nterms == 2 && has(law, MODEL_LAW_SERIAL))
        buf_add(b, "Amdahl's law");
    else if (law->nterms == 2 && has(law, MODEL_LAW_LOG))
        buf_add(b, "a logarithmic loss");
    else if (law->nterms == 3 && has(law, MODEL_LAW_SERIAL) && has(law, MODEL_LAW_LINEAR))
        buf_add(b, "the universal scalability law");
    else
        for (int i = 1; i < law->nterms; i++)
            buf_addf(b, "%s%s", i > 1 ? " with " : "", kinds[law->terms[i].kind].name);
}

void model_law_describe(const struct model_law *law, struct buf *b)
{
    for (int i = 0; i < law->nterms; i++) {
        const struct model_law_term *t = &law->terms[i];
        buf_addf(b, "%s%.4g%s", i ? " + " : "", law->coefficient[i],
                 t->kind == MODEL_LAW_SERIAL ? "" : " ");
        if (t->kind == MODEL_LAW_SATURATION)
            buf_addf(b, "((1 + (N/%.3g)^6)^(1/6) - 1) / N", t->at);
        else if (t->kind == MODEL_LAW_LIMIT)
            buf_addf(b, "max(0, 1/%.3g - 1/N)", t->at);
        else if (t->kind == MODEL_LAW_STEP)
            buf_addf(b, "[N > %.3g]", t->at);
        else
            buf_add(b, kinds[t->kind].factor);
    }
}

/* ---- fitting ---- */

#define SEED 2015
/* Before the data, the relative standard deviation of a run is SPREAD, as if from PSEUDO runs. */
#define SPREAD 0.02
#define PSEUDO 2
/* what parsimony hides: the standard deviation of draws is larger than the residuals by this */
#define INFLATE 1.1
/* What no set describes varies beyond the largest count by these standard deviations: for each
 * doubling, the same in parts of the acceleration of the loss, and for a node boundary that no
 * measured count crosses. They are fitted to published tables (doc/STATISTICS.md). */
#define BEYOND 0.06
#define BEYOND_ACCELERATING 0.6
#define BEYOND_BOUNDARY 0.12
#define NEAREST 0.5    /* doublings: a miss over less is taken to be over so many */
/* A term uses this many degrees of freedom, because it is chosen among others. */
#define CHOSEN 2
#define DRAWS_MOST 256 /* draws of a set before those with impossible coefficients are rejected */
#define DRAWS_LEAST 8  /* of a set with less evidence than another */
#define NEGLIGIBLE 1e-3 /* evidence beside that of the best set so far */
#define LOO_SET 3      /* terms of a set when a count is left out */
#define EXPONENT 0.5   /* standard deviation of that of the scatter, before the data */
#define LEAST_SCATTER 1e-3 /* of runs */
#define SINGULAR 1e-7  /* of a matrix with a unit diagonal */

/* The runs at one count. Their mean is worth weight runs, which scatter as those of a typical count
 * and are not rounded. */
struct group {
    double gpus, n, mean; /* mean: geometric */
    double squares;       /* the sum of squares of their relative deviations from it */
    double step;          /* in which they were recorded, in seconds */
    double weight;
};

/* A set of terms in one case of the links. */
struct candidate {
    double score; /* the logarithm of its evidence, but for the part that is possible */
    unsigned char term[MODEL_LAW_MOST];
    int n, which;
};

/* The least squares of the relative errors of a set: R of the scaled equations, coefficients, and
 * the sum of squares. */
struct solution {
    double root[MODEL_LAW_MOST][MODEL_LAW_MOST], scale[MODEL_LAW_MOST];
    double coefficient[MODEL_LAW_MOST], squares;
};

struct weighted {
    struct model_draw draw;
    double weight; /* a logarithm until all are known */
};

struct fit {
    struct model *m;
    const struct group *groups;
    size_t ngroups;
    double nruns, within; /* within: the sum of squares within counts, relative */
    double gram[MODEL_LAW_TERMS][MODEL_LAW_TERMS], right[MODEL_LAW_TERMS][3], total[3];
    double normal[DRAWS_MOST][MODEL_LAW_MOST + 1];
    struct candidate *candidates;
    size_t ncandidates, room;
    struct weighted *draws;
    size_t ndraws, draws_room;
    bool failed; /* memory ran out */
};

static int list_terms(struct model *m, const struct group *groups, size_t n, struct err *e)
{
    double *counts = mem_zero(n, sizeof *counts, e);

    if (!counts)
        return -1;
    for (size_t i = 0; i < n; i++)
        counts[i] = groups[i].gpus;
    m->nterms = model_law_list(m->terms, &m->known, counts, n);
    free(counts);
    return 0;
}

static double links_of(const struct model_law_known *k, double gpus, int which)
{
    return k->links ? k->links(k->arg, gpus, which) : 0;
}

static int cases_of(const struct model_law_known *k)
{
    return k->links && k->ncases <= 3 ? k->ncases : 1;
}

/* Sums the normal equations of all terms. */
static void sum_groups(struct fit *f)
{
    const struct model *m = f->m;
    double x[MODEL_LAW_TERMS];

    for (size_t g = 0; g < f->ngroups; g++) {
        const struct group *s = &f->groups[g];
        for (int i = 0; i < m->nterms; i++)
            x[i] = model_law_value(&m->terms[i], &m->known, s->gpus) / s->mean;
        for (int w = 0; w < cases_of(&m->known); w++) {
            double y = fmax(0.5, 1 - links_of(&m->known, s->gpus, w) / s->mean);
            f->total[w] += s->weight * y * y;
            for (int i = 0; i < m->nterms; i++)
                f->right[i][w] += s->weight * x[i] * y;
        }
        for (int i = 0; i < m->nterms; i++)
            for (int j = 0; j < m->nterms; j++)
                f->gram[i][j] += s->weight * x[i] * x[j];
    }
}

/* Cholesky's decomposition. Returns false if the terms of the set are not independent. */
static bool decompose(const struct fit *f, const struct candidate *c, struct solution *s)
{
    for (int i = 0; i < c->n; i++) {
        s->scale[i] = sqrt(f->gram[c->term[i]][c->term[i]]);
        if (!(s->scale[i] > 0))
            return false;
        for (int j = 0; j <= i; j++) {
            double sum = f->gram[c->term[i]][c->term[j]] / (s->scale[i] * s->scale[j]);
            for (int k = 0; k < j; k++)
                sum -= s->root[i][k] * s->root[j][k];
            if (i == j && !(sum > SINGULAR))
                return false;
            s->root[i][j] = i == j ? sqrt(sum) : sum / s->root[j][j];
        }
    }
    return true;
}

/* Solves root' x = b, in place. */
static void solve_upper(const struct solution *s, int n, double *b)
{
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++)
            b[i] -= s->root[k][i] * b[k];
        b[i] /= s->root[i][i];
    }
}

static bool solve(const struct fit *f, const struct candidate *c, struct solution *s)
{
    double y[MODEL_LAW_MOST], squares = f->total[c->which];

    if (!decompose(f, c, s))
        return false;
    for (int i = 0; i < c->n; i++) {
        y[i] = f->right[c->term[i]][c->which] / s->scale[i];
        for (int k = 0; k < i; k++)
            y[i] -= s->root[i][k] * y[k];
        y[i] /= s->root[i][i];
        squares -= y[i] * y[i];
    }
    solve_upper(s, c->n, y);
    for (int i = 0; i < c->n; i++)
        s->coefficient[i] = y[i] / s->scale[i];
    s->squares = fmax(0, squares) + f->within + PSEUDO * SPREAD * SPREAD;
    return true;
}

static void add_candidate(struct fit *f, const unsigned char *set, int n)
{
    for (int w = 0; w < cases_of(&f->m->known); w++) {
        struct candidate c = {.n = n, .which = w};
        struct solution s;
        memcpy(c.term, set, sizeof c.term);
        if (!solve(f, &c, &s))
            return;
        f->failed |= mem_grow(&f->candidates, f->ncandidates, &f->room, sizeof c, NULL) != 0;
        if (f->failed)
            return;
        c.score = -(f->nruns + PSEUDO) / 2 * log(s.squares) - (n - 1) / 2. * log(f->nruns) +
                  (n - 1) * M_LN2 + model_law_prior(f->m->terms, f->m->nterms, set, n);
        f->candidates[f->ncandidates++] = c;
    }
}

/* Adds all sets of at most `most` terms that begin with set[0..n). */
static void add_sets(struct fit *f, unsigned char *set, int n, int most)
{
    add_candidate(f, set, n);
    for (int i = set[n - 1] + 1; n < most && i < f->m->nterms; i++) {
        set[n] = (unsigned char)i;
        add_sets(f, set, n + 1, most);
    }
}

static int compare_candidates(const void *a, const void *b)
{
    double x = ((const struct candidate *)a)->score, y = ((const struct candidate *)b)->score;

    return (x < y) - (x > y);
}

/* Draws the coefficients of a set of terms from Student's t. Returns false if one is negative or
 * above its bound (model_law_most). The chi-square number is drawn by the approximation of Wilson
 * and Hilferty. */
static bool draw_set(const struct fit *f, const struct candidate *c, const struct solution *s,
                     const double *normal, struct model_draw *dst)
{
    double df = fmax(2, f->nruns - CHOSEN * c->n + PSEUDO), h = 2 / (9 * df);
    double chi = df * pow(fmax(0.05, 1 - h + normal[MODEL_LAW_MOST] * sqrt(h)), 3);
    double spread = INFLATE * sqrt(s->squares / chi), v[MODEL_LAW_MOST];

    *dst = (struct model_draw){.nterms = c->n, .which = c->which};
    for (int i = 0; i < c->n; i++)
        v[i] = normal[i];
    solve_upper(s, c->n, v);
    for (int i = 0; i < c->n; i++) {
        double most = model_law_most(&f->m->terms[c->term[i]]);
        dst->term[i] = c->term[i];
        dst->coefficient[i] = s->coefficient[i] + spread * v[i] / s->scale[i];
        if (!(dst->coefficient[i] >= 0 && dst->coefficient[i] <= most * dst->coefficient[0]))
            return false;
    }
    return true;
}

/* Draws from the set c; one with less evidence than the best so far has fewer draws. Returns the
 * logarithm of the set's evidence. */
static double draw_candidate(struct fit *f, const struct candidate *c, size_t rank, double best)
{
    struct solution s = {0};
    size_t first = f->ndraws, n = DRAWS_MOST;

    if (c->score < best)
        n = (size_t)fmax(DRAWS_LEAST, DRAWS_MOST * exp(c->score - best));
    if (!solve(f, c, &s))
        return -INFINITY;
    for (size_t r = 0; r < n; r++) {
        f->failed |= mem_grow(&f->draws, f->ndraws, &f->draws_room, sizeof *f->draws, NULL) != 0;
        if (f->failed)
            return -INFINITY;
        struct weighted *w = &f->draws[f->ndraws];
        w->weight = c->score - log((double)n);
        f->ndraws += draw_set(f, c, &s, f->normal[(r + 37 * rank) % DRAWS_MOST], &w->draw);
    }
    return c->score + log((double)(f->ndraws - first) / (double)n);
}

static bool same_kinds(const struct model *m, const struct model_law *law,
                       const struct model_draw *d)
{
    bool same = law->nterms == d->nterms;

    for (int i = 0; same && i < d->nterms; i++)
        same = law->terms[i].kind == m->terms[d->term[i]].kind;
    return same;
}

static int compare_laws(const void *a, const void *b)
{
    double x = ((const struct model_law *)a)->evidence, y = ((const struct model_law *)b)->evidence;

    return (x < y) - (x > y);
}

/* Sums the evidence of sets with the same kinds of terms, and keeps those that have most. A law has
 * the mean coefficients of the first, and so the most probable, of its sets. */
static int collect_laws(struct fit *f)
{
    struct model *m = f->m;
    struct model_law *laws = calloc(f->ndraws + 1, sizeof *laws);
    double *weight = calloc(f->ndraws + 1, sizeof *weight);
    size_t n = 0, at = 0;

    for (size_t d = 0; laws && weight && d < f->ndraws; d++) {
        const struct weighted *w = &f->draws[d];
        if (d == 0 || memcmp(w->draw.term, w[-1].draw.term, sizeof w->draw.term) != 0)
            for (at = 0; at < n && !same_kinds(m, &laws[at], &w->draw); at++)
                continue;
        struct model_law *law = &laws[at];
        if (at == n) {
            n++;
            law->nterms = w->draw.nterms;
            for (int i = 0; i < law->nterms; i++)
                law->terms[i] = m->terms[w->draw.term[i]];
        }
        bool first = true;
        for (int i = 0; i < law->nterms; i++)
            first &= law->terms[i].at == m->terms[w->draw.term[i]].at;
        law->evidence += w->weight;
        for (int i = 0; first && i < law->nterms; i++)
            law->coefficient[i] += w->weight * w->draw.coefficient[i];
        weight[at] += first ? w->weight : 0;
    }
    for (size_t k = 0; laws && weight && k < n; k++)
        for (int i = 0; i < laws[k].nterms; i++)
            laws[k].coefficient[i] /= weight[k];
    if (laws && weight) {
        qsort(laws, n, sizeof *laws, compare_laws);
        m->nlaws = n < MODEL_LAWS ? n : MODEL_LAWS;
        memcpy(m->laws, laws, m->nlaws * sizeof *laws);
    }
    f->failed |= !laws || !weight;
    free(laws);
    free(weight);
    return f->failed ? -1 : 0;
}

/* Draws from all sets and turns the logarithms of weights into parts of 1. */
static void draw_all(struct fit *f)
{
    double best = -INFINITY, sum = 0;

    for (size_t i = 0; i < f->ncandidates && !f->failed; i++) {
        const struct candidate *c = &f->candidates[i];
        /* the first set, computation alone, always has draws */
        if (c->n > 1 && c->score < best + log(NEGLIGIBLE))
            continue;
        best = fmax(best, draw_candidate(f, c, i, best));
    }
    for (size_t d = 0; d < f->ndraws; d++) {
        f->draws[d].weight = exp(f->draws[d].weight - best);
        sum += f->draws[d].weight;
    }
    for (size_t d = 0; d < f->ndraws; d++)
        f->draws[d].weight /= sum;
}

/* Chooses MODEL_DRAWS of equal weight, by systematic resampling. */
static void resample(struct fit *f)
{
    double sum = 0;
    size_t n = 0;

    for (size_t d = 0; d < f->ndraws; d++) {
        sum += f->draws[d].weight;
        while (n < MODEL_DRAWS && (double)n + 0.5 < sum * MODEL_DRAWS)
            f->m->draws[n++] = f->draws[d].draw;
    }
    while (n < MODEL_DRAWS)
        f->m->draws[n++] = f->draws[f->ndraws - 1].draw;
    for (n = 0; n < MODEL_DRAWS; n++)
        f->m->draws[n].z = rng_normal(SEED, n, MODEL_LAW_MOST + 1);
}

/* Fits m, whose known and terms are set, to the groups, by sets of at most `most` terms. */
static int fit_groups(struct model *m, const struct group *groups, size_t n, double within,
                      int most, struct err *e)
{
    struct fit *f = mem_zero(1, sizeof *f, e);
    unsigned char set[MODEL_LAW_MOST] = {0};

    if (!f)
        return -1;
    f->m = m;
    f->groups = groups;
    f->ngroups = n;
    f->within = within;
    for (size_t i = 0; i < n; i++)
        f->nruns += groups[i].weight;
    for (size_t r = 0; r < DRAWS_MOST; r++)
        for (uint64_t i = 0; i <= MODEL_LAW_MOST; i++)
            f->normal[r][i] = rng_normal(SEED, r, i);
    sum_groups(f);
    add_sets(f, set, 1, most < (int)n ? most : (int)n);
    if (f->ncandidates)
        qsort(f->candidates, f->ncandidates, sizeof *f->candidates, compare_candidates);
    draw_all(f);
    m->fitted = f->ndraws > 0;
    int rc = f->failed || (m->fitted && collect_laws(f)) ? mem_fail(e) : 0;
    if (rc == 0 && m->fitted)
        resample(f);
    free(f->candidates);
    free(f->draws);
    free(f);
    return rc;
}

int model_boundary(const struct model *m, double gpus)
{
    bool crosses = nodes_of(&m->known, gpus) > 1 && nodes_of(&m->known, m->largest) <= 1;

    return crosses ? 2 * m->known.gpus_per_node : 0;
}

/* Returns the relative standard deviation of a run at a count, but at least SPREAD. */
static double scatter_of(const struct model *m, double gpus)
{
    return fmax(SPREAD, m->scatter * pow(gpus, m->exponent));
}

/* Returns the standard deviation of what no set describes at a count, and of a run there: 0 up to
 * the largest count. */
static double spread_of(const struct model *m, double gpus)
{
    double doublings = fmax(0, log2(gpus / m->largest));
    double loss = doublings * hypot(m->beyond, BEYOND_ACCELERATING * m->acceleration);
    double boundary = model_boundary(m, gpus) ? BEYOND_BOUNDARY : 0;

    if (!(doublings > 0))
        return 0;
    return hypot(hypot(loss, boundary), scatter_of(m, gpus));
}

/* Fills the times of all draws at a count, whose spread is 0 or spread_of. */
static void fill_times(const struct model *m, double gpus, double spread, double dst[MODEL_DRAWS])
{
    double x[MODEL_LAW_TERMS] = {0}, links[3] = {0};

    for (int i = 0; i < m->nterms; i++)
        x[i] = model_law_value(&m->terms[i], &m->known, gpus);
    for (int w = 0; w < cases_of(&m->known); w++)
        links[w] = links_of(&m->known, gpus, w);
    for (size_t d = 0; d < MODEL_DRAWS; d++) {
        const struct model_draw *draw = &m->draws[d];
        dst[d] = links[draw->which];
        for (int i = 0; i < draw->nterms; i++)
            dst[d] += draw->coefficient[i] * x[draw->term[i]];
        dst[d] *= spread > 0 ? exp(spread * draw->z) : 1;
    }
}

/* Returns the time at a count, or, with a base above 0, the speed-up over it. What is measured is a
 * run, which scatters, so the interval is one of runs; what is expected is not. */
static struct bounds predict(const struct model *m, double base, double gpus)
{
    double times[2][MODEL_DRAWS], own[MODEL_DRAWS] = {0};
    int last = gpus > m->largest; /* without spread and with it */

    for (int k = 0; k <= last; k++) {
        fill_times(m, gpus, k ? spread_of(m, gpus) : 0, times[k]);
        if (base > 0)
            fill_times(m, base, 0, own);
        for (size_t d = 0; base > 0 && d < MODEL_DRAWS; d++)
            times[k][d] = own[d] / times[k][d];
        stat_sort(times[k], MODEL_DRAWS);
    }
    return (struct bounds){times[last][(int)(MODEL_DRAWS * (1 - MODEL_LEVEL) / 2)],
                           median_of_sorted(times[0], MODEL_DRAWS),
                           times[last][(int)(MODEL_DRAWS * (1 + MODEL_LEVEL) / 2)]};
}

struct bounds model_predict(const struct model *m, double gpus)
{
    return predict(m, 0, gpus);
}

double model_latest(const struct model *m, double gpus)
{
    double times[MODEL_DRAWS];

    fill_times(m, gpus, spread_of(m, gpus), times);
    stat_sort(times, MODEL_DRAWS);
    return times[(int)(MODEL_DRAWS * MODEL_SURE)];
}

struct bounds model_speedup(const struct model *m, double base, double gpus)
{
    return predict(m, base, gpus);
}

/* Predicts each count from the others, except the smallest: nothing is predicted below it, and the
 * first step to more GPUs can be learnt from it alone. */
static int leave_out(struct model *m, const struct group *groups, size_t n, double within,
                     struct err *e)
{
    struct group *rest = calloc(n, sizeof *rest);
    struct model *other = malloc(sizeof *other);
    int rc = rest && other ? 0 : mem_fail(e);
    double sum = 0, error = NAN, missed = 0;

    for (size_t i = 1; rc == 0 && i < n; i++) {
        *other = (struct model){.known = m->known, .largest = m->largest};
        memcpy(rest, groups, i * sizeof *rest);
        memcpy(rest + i, groups + i + 1, (n - i - 1) * sizeof *rest);
        rc = list_terms(other, rest, n - 1, e) ||
                     fit_groups(other, rest, n - 1, within, LOO_SET, e) ? -1 : 0;
        if (rc)
            break;
        struct bounds b = model_predict(other, groups[i].gpus);
        error = b.expected / groups[i].mean - 1;
        sum += error * error;
        missed = fmax(0, fmax(log(groups[i].mean / b.high), log(b.low / groups[i].mean)));
    }
    if (rc == 0)
        m->beyond += missed / fmax(NEAREST, log2(m->largest / groups[n - 2].gpus));
    m->loo_error = sqrt(sum / (double)(n - 1));
    m->largest_error = fabs(error);
    free(rest);
    free(other);
    return rc;
}

static int compare_samples(const void *a, const void *b)
{
    const struct model_sample *x = a, *y = b;

    if (x->gpus != y->gpus)
        return x->gpus < y->gpus ? -1 : 1;
    return (x->value > y->value) - (x->value < y->value);
}

static size_t group_samples(const struct model_sample *s, size_t n, struct group *dst)
{
    size_t ngroups = 0;

    for (size_t i = 0, end; i < n; i = end) {
        double sum = 0;
        for (end = i; end < n && s[end].gpus == s[i].gpus; end++)
            sum += log(s[end].value);
        struct group *g = &dst[ngroups++];
        *g = (struct group){.gpus = s[i].gpus, .n = (double)(end - i),
                            .mean = exp(sum / (double)(end - i))};
        for (size_t k = i; k < end; k++) {
            g->squares += pow(s[k].value / g->mean - 1, 2);
            g->step = fmax(g->step, s[k].step);
        }
    }
    return ngroups;
}

/* Estimates how the scatter of runs grows with the count, by least squares of the logarithms of
 * standard deviations over counts with repeats. The exponent is shrunk to 0 as by a normal prior of
 * EXPONENT. With fewer than three such counts nothing is known of it. */
static void find_scatter(struct model *m, const struct group *g, size_t n)
{
    double w = 0, x = 0, y = 0, xx = 0, xy = 0;
    int repeated = 0;

    for (size_t i = 0; i < n; i++) {
        double df = g[i].n - 1, at = log(g[i].gpus), weight = 2 * df;
        if (!(df > 0))
            continue;
        /* the logarithm of an estimate from df degrees of freedom is too small by about 1 / 2 df */
        double value = 0.5 * log(g[i].squares / df + LEAST_SCATTER * LEAST_SCATTER) + 0.5 / df;
        repeated++;
        w += weight;
        x += weight * at;
        y += weight * value;
        xx += weight * at * at;
        xy += weight * at * value;
    }
    if (repeated < 3)
        return;
    m->exponent = (xy - x * y / w) / (xx - x * x / w + 1 / (EXPONENT * EXPONENT));
    m->scatter = exp((y - m->exponent * x) / w);
}

/* Sets the weights of the groups. A value is rounded or cut off, so it is wrong by at most a step,
 * in all runs alike. Returns the sum of squares within counts. */
static double weigh_groups(const struct model *m, struct group *g, size_t n)
{
    double least = INFINITY, within = 0;

    for (size_t i = 0; i < n; i++)
        least = fmin(least, scatter_of(m, g[i].gpus));
    for (size_t i = 0; i < n; i++) {
        double own = scatter_of(m, g[i].gpus) / least;
        double rounding = g[i].step / sqrt(3) / g[i].mean / SPREAD;
        g[i].weight = 1 / (own * own / g[i].n + rounding * rounding);
        within += g[i].weight / g[i].n * g[i].squares;
    }
    return within;
}

/* Returns the logarithm of the loss from one count to another, for each doubling. */
static double loss_of(const struct model *m, const struct group *a, const struct group *b)
{
    return log(b->mean / share_of(&m->known, b->gpus) / a->mean * share_of(&m->known, a->gpus)) /
           log2(b->gpus / a->gpus);
}

/* Returns the last group with at most half the GPUs of g, or the first of all. */
static const struct group *half_of(const struct group *first, const struct group *g)
{
    const struct group *half = g;

    while (half > first && 2 * half->gpus > g->gpus)
        half--;
    return half;
}

/* Returns by how much the loss of the last doubling exceeds that of the one before, or 0. */
static double find_acceleration(const struct model *m, const struct group *g, size_t n)
{
    const struct group *last = &g[n - 1], *half = half_of(g, last), *quarter = half_of(g, half);

    return quarter == half ? 0 : fmax(0, loss_of(m, half, last) - loss_of(m, quarter, half));
}

static int fit_counts(struct model *m, struct group *groups, size_t n, struct err *e)
{
    double sum = 0;

    m->ncounts = n;
    m->smallest = groups[0].gpus;
    m->largest = groups[n - 1].gpus;
    m->beyond = BEYOND;
    find_scatter(m, groups, n);
    double within = weigh_groups(m, groups, n);
    m->acceleration = find_acceleration(m, groups, n);
    if (list_terms(m, groups, n, e))
        return -1;
    if (fit_groups(m, groups, n, within, MODEL_LAW_MOST, e))
        return -1;
    for (size_t i = 0; m->fitted && i < n; i++)
        sum += pow(model_predict(m, groups[i].gpus).expected / groups[i].mean - 1, 2);
    m->error = sqrt(sum / (double)n);
    return m->fitted && n > 2 ? leave_out(m, groups, n, within, e) : 0;
}

int model_fit(struct model *m, const struct model_sample *samples, size_t n,
              const struct model_law_known *known, struct err *e)
{
    struct model_sample *sorted = calloc(n + 1, sizeof *sorted);
    struct group *groups = calloc(n + 1, sizeof *groups);
    size_t kept = 0;
    int rc = sorted && groups ? 0 : mem_fail(e);

    *m = (struct model){.known = *known, .error = NAN, .loo_error = NAN, .largest_error = NAN};
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (samples[i].value > 0 && isfinite(samples[i].value) && samples[i].gpus >= 1)
            sorted[kept++] = samples[i];
    if (rc == 0 && kept) {
        qsort(sorted, kept, sizeof *sorted, compare_samples);
        size_t ngroups = group_samples(sorted, kept, groups);
        if (ngroups > 1)
            rc = fit_counts(m, groups, ngroups, e);
    }
    free(sorted);
    free(groups);
    return rc;
}

bool model_is_extrapolation(const struct model *m, double gpus)
{
    return gpus > MODEL_FURTHEST * m->largest;
}

bool model_misfits(const struct model *m)
{
    return m->error > MODEL_POOR_FIT || m->loo_error > MODEL_POOR_LEFT_OUT;
}

bool model_is_usable(const struct model *m)
{
    return m->fitted && m->ncounts > 2 && !model_misfits(m);
}

void model_assume(const struct model *m, double gpus, struct buf *b)
{
    int measure = model_boundary(m, gpus);

    if (gpus > m->largest)
        buf_addf(b, ", if no limit begins beyond %.0f, which runs up to %.0f cannot show",
                 m->largest, m->largest);
    if (measure)
        buf_addf(b, "; none of them crosses a node boundary, whose cost is that of published "
                 "tables: measure %d", measure);
}
