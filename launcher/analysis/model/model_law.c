/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/model/model_law.h"

#include <math.h>
#include <stdbool.h>

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
};

static double nodes_of(const struct model_law_known *k, double gpus)
{
    return k->gpus_per_node ? ceil(gpus / k->gpus_per_node - 1e-9) : 1;
}

static double share_of(const struct model_law_known *k, double gpus)
{
    return k->batch > 0 ? ceil(k->batch / gpus - 1e-9) / k->batch : 1 / gpus;
}

double model_law_value(const struct model_law_term *t, const struct model_law_known *known,
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
    case MODEL_LAW_NKINDS:
        break;
    }
    return 0;
}

double model_law_most(const struct model_law_term *t)
{
    return t->kind == MODEL_LAW_JITTER ? JITTER_MOST : INFINITY;
}

int model_law_list(struct model_law_term dst[MODEL_LAW_TERMS], const struct model_law_known *known,
                   const double *counts, size_t n)
{
    bool nodes = known->gpus_per_node > 1 && counts[n - 1] > known->gpus_per_node;
    size_t stride = n / PLACES + 1;
    int used = 0;

    for (int kind = MODEL_LAW_COMPUTE; kind < MODEL_LAW_LIMIT; kind++) {
        bool first = kind == MODEL_LAW_FIRST || kind == MODEL_LAW_FIRST_SHARE;
        if (first ? counts[0] == 1 : kind < MODEL_LAW_NODES || nodes)
            dst[used++] = (struct model_law_term){(enum model_law_kind)kind, 0};
    }
    for (size_t i = 1; i + 1 < n; i += stride) {
        dst[used++] = (struct model_law_term){MODEL_LAW_LIMIT, counts[i]};
        if (counts[i + 1] > WIDE_GAP * counts[i])
            dst[used++] = (struct model_law_term){MODEL_LAW_LIMIT, sqrt(counts[i] * counts[i + 1])};
        dst[used++] = (struct model_law_term){MODEL_LAW_STEP, counts[i]};
    }
    return used;
}

double model_law_prior(const struct model_law_term *terms, int nterms, const unsigned char *set,
                       int n)
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
        if (t->kind == MODEL_LAW_LIMIT)
            buf_addf(b, "max(0, 1/%.3g - 1/N)", t->at);
        else if (t->kind == MODEL_LAW_STEP)
            buf_addf(b, "[N > %.3g]", t->at);
        else
            buf_add(b, kinds[t->kind].factor);
    }
}
