/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/mode.h"
#include "src/plural.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Images per epoch and GPU differ by less than this: the work per GPU stays the same. */
#define SAME_WORK 0.1

static long batch_of_result(const struct result *r, enum mode_group g)
{
    return g == MODE_PER_GPU ? r->batch_per_gpu : r->global_batch;
}

struct batch {
    long size;
    int gpus;
};

static int compare_batches(const void *a, const void *b)
{
    const struct batch *x = a, *y = b;

    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return (x->gpus > y->gpus) - (x->gpus < y->gpus);
}

/* The batch that most counts have (the smaller of equals); *ncounts: how many. */
static long most_common_batch(const struct result *rows, size_t n, enum mode_group g,
                              size_t *ncounts)
{
    struct batch *all = calloc(n + 1, sizeof *all);
    long best = 0;

    *ncounts = 0;
    for (size_t i = 0; all && i < n; i++)
        all[i] = (struct batch){batch_of_result(&rows[i], g), rows[i].gpus};
    if (all)
        qsort(all, n, sizeof *all, compare_batches);
    for (size_t i = 0, end, counts; all && i < n; i = end) {
        counts = 0;
        for (end = i; end < n && all[end].size == all[i].size; end++)
            counts += end == i || all[end].gpus != all[end - 1].gpus;
        if (all[i].size > 0 && counts > *ncounts) {
            *ncounts = counts;
            best = all[i].size;
        }
    }
    free(all);
    return best;
}

static size_t mark_rows(const struct result *rows, size_t n, enum mode_group g, long size,
                        enum mode_group *groups)
{
    size_t marked = 0;

    for (size_t i = 0; i < n; i++)
        if (batch_of_result(&rows[i], g) == size) {
            groups[i] |= g;
            marked++;
        }
    return marked;
}

/* Do all runs of MODE_PER_GPU, of several counts, process as many images per GPU, and not as many
 * in all? */
static enum series_mode per_gpu_mode(const struct result *rows, size_t n,
                                     const enum mode_group *groups)
{
    double first = NAN;

    for (size_t i = 0; i < n; i++) {
        double work = rows[i].images / rows[i].gpus;
        if (!(groups[i] & MODE_PER_GPU))
            continue;
        if (isnan(first))
            first = work;
        if (!(fabs(work / first - 1) < SAME_WORK))
            return SERIES_WEAK_BATCH;
    }
    return SERIES_WEAK;
}

static struct mode_split single_mode(enum mode_group g, enum series_mode mode)
{
    return (struct mode_split){.n = 1, .groups = {g}, .modes = {mode}};
}

static struct mode_split mixed_modes(const struct result *rows, size_t n,
                                     const enum mode_group *groups, long per_gpu, size_t nper_gpu,
                                     long global, size_t nglobal)
{
    struct mode_split split = {.batch_per_gpu = per_gpu, .global_batch = global};

    if (nper_gpu > 1 || nglobal <= 1) {
        split.groups[split.n] = MODE_PER_GPU;
        split.modes[split.n++] = nper_gpu > 1 ? per_gpu_mode(rows, n, groups) : SERIES_ONE_COUNT;
    }
    if (nglobal > 1) {
        split.groups[split.n] = MODE_GLOBAL;
        split.modes[split.n++] = SERIES_STRONG;
    }
    return split;
}

struct mode_split mode_decide(const struct result *rows, size_t n, enum mode_group *groups)
{
    size_t nunknown = 0, nper_gpu, nglobal;

    for (size_t i = 0; i < n; i++) {
        groups[i] = MODE_NEITHER;
        nunknown += rows[i].batch_per_gpu == 0 && rows[i].global_batch == 0;
    }
    if (n == 0)
        return (struct mode_split){0};
    if (nunknown == n || rows[0].gpus == rows[n - 1].gpus) {
        for (size_t i = 0; i < n; i++)
            groups[i] = MODE_PER_GPU;
        return single_mode(MODE_PER_GPU, rows[0].gpus == rows[n - 1].gpus ? SERIES_ONE_COUNT
                                                                  : SERIES_BATCH_UNKNOWN);
    }
    long per_gpu = most_common_batch(rows, n, MODE_PER_GPU, &nper_gpu);
    long global = most_common_batch(rows, n, MODE_GLOBAL, &nglobal);
    if (mark_rows(rows, n, MODE_PER_GPU, per_gpu, groups) == n)
        return single_mode(MODE_PER_GPU, per_gpu_mode(rows, n, groups));
    if (mark_rows(rows, n, MODE_GLOBAL, global, groups) == n)
        return single_mode(MODE_GLOBAL, SERIES_STRONG);
    return mixed_modes(rows, n, groups, per_gpu, nper_gpu, global, nglobal);
}

void mode_explain(const struct mode_split *split, const struct result *rows,
                  const enum mode_group *groups, size_t n, const char *source, struct buf *notes)
{
    size_t nneither = 0, first = n;
    enum mode_group used = MODE_NEITHER;

    for (int i = 0; i < split->n; i++)
        used |= split->groups[i];
    for (size_t i = n; i-- > 0;)
        if (!(groups[i] & used)) {
            nneither++;
            first = i;
        }
    if (split->n == 2)
        buf_addf(notes,
                 "%s, %s: the runs mix weak and strong scaling; those with %ld images per GPU and "
                 "those with a global batch of %ld are reported apart, and not compared.\n",
                 source, rows[0].engine, split->batch_per_gpu, split->global_batch);
    if (nneither)
        buf_addf(
            notes,
            "%s, %s: left out, because the batch differs or is not known: %zu run%s, the first is "
            "%s.\n",
            source, rows[0].engine, nneither, plural(nneither), rows[first].run);
}
