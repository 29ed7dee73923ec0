/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/collect/suspects.h"
#include "src/mem.h"
#include "src/plural.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/collect/results/settings.h"

/* Returns whether both are equal, or both unknown. */
static bool is_equal(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Returns whether both runs have the same times and losses of epochs, training time and final
 * quality. */
static bool is_copy(const struct result *a, const struct result *b)
{
    size_t n = a->curve ? a->curve->n : 0;

    return n && b->curve && n == b->curve->n && is_equal(result_quality(a), result_quality(b)) &&
           is_equal(a->training_time, b->training_time) &&
           memcmp(a->curve->seconds, b->curve->seconds, n * sizeof(double)) == 0 &&
           memcmp(a->curve->loss, b->curve->loss, n * sizeof(double)) == 0;
}

/* Returns whether the run is done, with enough epoch times to distinguish it from another. */
static bool has_times(const struct result *r)
{
    return r->state == RESULT_DONE && isfinite(r->training_time) && r->curve->n > 1;
}

/* Returns whether equal times and losses show a copy: losses are known, or some time is not a whole
 * number of milliseconds. Coarser times are equal by chance. */
static bool is_distinct(const struct curve *c)
{
    bool distinct = isfinite(c->loss[0]);

    for (size_t i = 0; i < c->n; i++)
        distinct |= fabs(1000 * c->seconds[i] - round(1000 * c->seconds[i])) > 1e-6;
    return distinct;
}

static bool is_same_case(const struct result *a, const struct result *b)
{
    return a->gpus == b->gpus && a->limited == b->limited && strcmp(a->engine, b->engine) == 0 &&
           settings_equal(a->settings, b->settings);
}

/* Returns the next good row within i..end, or end. */
static size_t next_done(const struct results *table, size_t i, size_t end)
{
    while (i < end && table->rows[i].state != RESULT_DONE)
        i++;
    return i;
}

/* The rows from first up to, but not including, end have the same engine, settings, number of GPUs
 * and seed. Of several copies one is kept; of different contents none is. */
static void discard_repeated(struct results *table, size_t first, size_t end)
{
    size_t one = next_done(table, first, end), two = next_done(table, one + 1, end);
    const struct result *kept = &table->rows[one];
    bool copies = true;
    char note[256];

    if (two >= end)
        return;
    for (size_t i = two; i < end; i = next_done(table, i + 1, end))
        copies &= is_copy(kept, &table->rows[i]);
    for (size_t i = copies ? two : one; i < end; i = next_done(table, i + 1, end)) {
        const struct result *other = &table->rows[i == one ? two : one];
        snprintf(note, sizeof note,
                 "%.80s has the same engine, settings, %d GPU%s and seed %ld: %s", other->run,
                 other->gpus, plural(other->gpus), other->seed,
                 copies ? "this is a copy" : "which of them is right is not known; keep one");
        result_discard(&table->rows[i], RESULT_CORRUPT, note);
    }
}

/* Returns the first run of the same engine whose log has units of work, or NULL. */
static const struct result *find_worked(const struct results *table, const struct result *r)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct result *other = &table->rows[i];
        if (other->state == RESULT_DONE && strcmp(other->engine, r->engine) == 0 && other->curve &&
            other->curve->units && strcmp(other->unit, "steps"))
            return other;
    }
    return NULL;
}

/* Intervals of steps compare only by the same units, which the logs of all counts must have. */
static void find_unworked(struct results *table)
{
    char note[256];

    for (size_t i = 0; i < table->count; i++) {
        struct result *r = &table->rows[i];
        bool known = r->curve && r->curve->units && strcmp(r->unit, "steps");
        const struct result *other = r->stepped == 1 && !known ? find_worked(table, r) : NULL;
        if (r->state != RESULT_DONE || !other)
            continue;
        snprintf(note, sizeof note, "units are missing: that of %.80s counts %s; name their column "
                 "in this log, --column units=NAME (log.units in study.yaml)", other->run,
                 *other->unit ? other->unit : "images");
        result_discard(r, RESULT_UNREAD, note);
    }
}

void suspects_discard_repeated(struct results *table)
{
    find_unworked(table);
    for (size_t i = 0, end; i < table->count; i = end) {
        const struct result *r = &table->rows[i];
        for (end = i + 1; end < table->count && is_same_case(r, &table->rows[end]) &&
                          table->rows[end].seed == r->seed;)
            end++;
        discard_repeated(table, i, end);
    }
}

/* Orders logs so that copies are adjacent. */
static int compare_logs(const void *a, const void *b)
{
    const struct result *x = *(const struct result *const *)a,
        *y = *(const struct result *const *)b;
    size_t n = x->curve->n, bytes = n * sizeof(double);
    int order = n < y->curve->n ? -1 : n > y->curve->n;

    if (!order)
        order = memcmp(x->curve->seconds, y->curve->seconds, bytes);
    if (!order)
        order = memcmp(x->curve->loss, y->curve->loss, bytes);
    return order ? order : x < y ? -1 : x > y;
}

/* logs[0..n) are copies of one log. If they differ only in the seed, the first is kept; if they
 * differ in the engine, the number of GPUs or the settings, none is. */
static void discard_copies(struct result **logs, size_t n)
{
    char note[256];
    bool one_case = true;

    for (size_t i = 1; i < n; i++)
        one_case &= is_same_case(logs[0], logs[i]);
    for (size_t i = one_case; i < n; i++) {
        snprintf(note, sizeof note, "it is a copy of %.80s, %s", logs[i ? 0 : 1]->run,
                 one_case ? "no other run"
                          : "and which of them has the right name is not known; keep one");
        result_discard(logs[i], RESULT_CORRUPT, note);
    }
}

/* Finds and discards copies among runs of two intervals or more (discard_copies). */
static int find_copies(struct results *table, struct err *e)
{
    struct result **logs = mem_zero(table->count, sizeof *logs, e);
    size_t n = 0;

    if (!logs)
        return -1;
    for (size_t i = 0; i < table->count; i++)
        if (has_times(&table->rows[i]) && is_distinct(table->rows[i].curve))
            logs[n++] = &table->rows[i];
    qsort(logs, n, sizeof *logs, compare_logs);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && is_copy(logs[i], logs[end]);)
            end++;
        if (end > i + 1)
            discard_copies(logs + i, end - i);
    }
    free(logs);
    return 0;
}

/* Returns the largest power of ten, at most 1, that all times are multiples of. */
static double find_step(const struct curve *c)
{
    double step = 1;

    for (size_t i = 0; i < c->n; i++)
        while (step > 1e-9 && fabs(c->seconds[i] / step - round(c->seconds[i] / step)) > 1e-6)
            step /= 10;
    return step;
}

/* Returns whether the chance that another run has the same times is small. Times scatter by 0.1 %
 * at least. */
static bool is_no_chance(const struct curve *c)
{
    double sum = 0, squares = 0, n = (double)c->n;

    for (size_t i = 0; i < c->n; i++) {
        sum += c->seconds[i];
        squares += c->seconds[i] * c->seconds[i];
    }
    double scatter = fmax(sqrt(fmax(squares / n - sum * sum / n / n, 0)), 0.001 * sum / n);
    return n * log(find_step(c) / scatter) < log(1e-6);
}

void suspects_mark_copied(struct results *table)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct result *first = &table->rows[i];
        if (first->state != RESULT_DONE || first->copied || !first->curve || first->curve->n < 2 ||
            !is_no_chance(first->curve))
            continue;
        for (size_t k = i + 1; k < table->count && table->rows[k].gpus == first->gpus; k++) {
            struct result *r = &table->rows[k];
            if (r->state != RESULT_DONE || !is_same_case(first, r) || !is_copy(first, r))
                continue;
            r->copied = 1;
            snprintf(r->note, sizeof r->note, "it has the times and scores of %.80s: no repetition",
                     first->run);
        }
    }
}

/* Discards a run whose last rows were cut off at the end of a line, which leaves a valid table (a
 * log that has its start-up, as MLPerf's do, has its end, too): it
 * has fewer epochs than the run `most`, and training_time exceeds the sum of its epochs by the time
 * of the missing ones, and by more than its longest epoch and 3 % of training_time. */
static void discard_if_cut(struct result *r, const struct result *most)
{
    char note[256];
    double sum = 0, longest = 0, missing = (double)(most->epochs - r->epochs);

    for (size_t i = 0; i < r->curve->n; i++) {
        sum += r->curve->seconds[i];
        longest = fmax(longest, r->curve->seconds[i]);
    }
    double left = r->training_time - sum;
    if (!isnan(r->startup_s) || !(left > 0.9 * missing * r->median_epoch_s &&
          left > longest + 0.03 * r->training_time))
        return;
    snprintf(note, sizeof note,
             "its %ld epoch%s took %.6g s of the %.6g s of the training, and %.80s has %ld: rows "
             "are missing", r->epochs, plural(r->epochs), sum, r->training_time, most->run,
             most->epochs);
    result_discard(r, RESULT_CORRUPT, note);
}

static void find_cut(struct results *table)
{
    for (size_t i = 0, end; i < table->count; i = end) {
        const struct result *most = NULL;
        for (end = i; end < table->count && !strcmp(table->rows[end].engine, table->rows[i].engine);
             end++) {
            const struct result *r = &table->rows[end];
            if (r->state == RESULT_DONE && (!most || r->epochs > most->epochs))
                most = r;
        }
        for (size_t k = i; most && k < end; k++)
            if (table->rows[k].state == RESULT_DONE && table->rows[k].epochs < most->epochs)
                discard_if_cut(&table->rows[k], most);
    }
}

int suspects_discard(struct results *table, struct err *e)
{
    suspects_discard_repeated(table);
    find_cut(table);
    return find_copies(table, e);
}
