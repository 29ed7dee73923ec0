/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/collect/results/results.h"

#include <math.h>

#include "src/atomicfile.h"
#include "src/stat.h"

#define MAD_SCALE 1.4826 /* makes the median absolute deviation of normal values their sd */

struct curve *curve_create(size_t n, int columns, struct err *e)
{
    const size_t most = 9; /* arrays */
    struct curve *c = n < SIZE_MAX / 128 ? malloc(sizeof *c + most * n * sizeof(double)) : NULL;

    if (!c) {
        mem_fail(e);
        return NULL;
    }
    double *values = (double *)(c + 1);
    for (size_t i = 0; i < most * n; i++)
        values[i] = NAN;
    *c = (struct curve){.n = n, .seconds = values, .loss = values + n};
    c->score = columns & CURVE_SCORE ? values + 2 * n : NULL;
    c->grad_sq = columns & CURVE_GRADIENT ? values + 3 * n : NULL;
    c->grad_var = columns & CURVE_GRADIENT ? values + 4 * n : NULL;
    c->val_loss = columns & CURVE_VAL_LOSS ? values + 5 * n : NULL;
    c->train_score = columns & CURVE_TRAIN_SCORE ? values + 6 * n : NULL;
    c->units = columns & CURVE_UNITS ? values + 7 * n : NULL;
    c->joules = values + 8 * n; /* NaN until they are set */
    return c;
}

void curve_destroy(struct curve *c)
{
    free(c);
}

static bool has_units(const struct curve *c)
{
    for (size_t i = 0; c->units && i < c->n; i++)
        if (!(c->units[i] > 0))
            return false;
    return c->units;
}

/* Returns the first interval that is not slow, given the logarithms of the times of n intervals,
 * n at least 4. room is for n / 2 + 1 numbers. */
static size_t find_change(const double *pace, size_t n, double *room)
{
    size_t half = n / 2, rest = n - half, change = 1;
    double steady = stat_median(pace + half, rest), sum = 0, most = 0;

    for (size_t i = 0; i < rest; i++)
        room[i] = fabs(pace[half + i] - steady);
    double noise = fmax(MAD_SCALE * stat_median(room, rest), CURVE_NOISE);
    double slow = CURVE_SLOW * (1 + CURVE_FEW / (double)rest) * noise;

    for (size_t i = 1; i < half; i++) {
        sum += fmax(-slow, fmin(pace[i] - steady - slow, slow));
        if (sum > most) {
            most = sum;
            change = i + 1;
        }
    }
    return change;
}

size_t curve_warmup(const struct curve *c)
{
    double *pace = c->n >= 4 ? calloc(2 * c->n, sizeof *pace) : NULL;
    bool by_units = has_units(c), known = pace;
    size_t warmup = 1;

    for (size_t i = 0; known && i < c->n; i++) {
        pace[i] = log(c->seconds[i] / (by_units ? c->units[i] : 1));
        known = isfinite(pace[i]);
    }
    if (known)
        warmup = find_change(pace, c->n, pace + c->n);
    free(pace);
    return warmup;
}

size_t curve_steady(const struct curve *c, const double *values, double *dst)
{
    size_t warmup = curve_warmup(c), n = c->n - warmup;
    double typical = has_units(c) ? stat_median(c->units + warmup, n) : NAN;

    for (size_t i = 0; i < n; i++)
        dst[i] = values[warmup + i] *
                 (isnan(typical) ? 1 : typical / c->units[warmup + i]);
    return n;
}

void curve_measure(const struct curve *c, struct result *r)
{
    double *room = calloc(c->n, sizeof *room);
    size_t n = room ? curve_steady(c, c->seconds, room) : 0, warmup = c->n - n;

    r->epochs = (long)c->n;
    r->first_epoch_s = c->seconds[0];
    r->second_epoch_s = c->n > 1 ? c->seconds[1] : NAN;
    r->median_epoch_s = stat_median(room, n);
    r->loss = c->loss[c->n - 1];
    if (has_units(c)) {
        r->units = n ? stat_median(c->units + warmup, n) : c->units[0];
        for (size_t i = 0; i < n; i++)
            room[i] = c->units[warmup + i] / c->seconds[warmup + i];
        r->units_per_s = stat_median(room, n);
    }
    free(room);
}

long curve_reach(const double *values, size_t n, double target, int rising, int window, int hits)
{
    double sign = rising ? 1 : -1;

    for (size_t i = 0; i < n; i++) {
        int known = 0, found = 0, last = sign * values[i] >= sign * target;
        for (size_t k = i; last + found && k < n && known < window; k++)
            if (!isnan(values[k])) {
                last = sign * values[k] >= sign * target;
                found += last;
                known++;
            }
        if (found && found + last * (window - known) >= hits)
            return (long)i;
    }
    return -1;
}

/* ---- scores of images ---- */

#define MAX_FILE ((size_t)64 << 20)
#define MAX_COLUMNS 32

struct score_columns {
    int ncolumns, image, class, iou;
    int intersection, pred, truth; /* -1: there is no such column */
};

static int decode_scores_header(char *line, const char *path, const char *column,
                                struct score_columns *l, struct err *e)
{
    char *cells[MAX_COLUMNS];

    *l = (struct score_columns){csv_split(line, ',', cells, MAX_COLUMNS), -1, -1, -1, -1, -1, -1};
    for (int i = 0; i < l->ncolumns; i++) {
        l->image = strcmp(cells[i], "image") == 0 ? i : l->image;
        l->class = strcmp(cells[i], "class") == 0 ? i : l->class;
        l->iou = strcmp(cells[i], column) == 0 ? i : l->iou;
        l->intersection = strcmp(cells[i], "intersection") == 0 ? i : l->intersection;
        l->pred = strcmp(cells[i], "pred") == 0 ? i : l->pred;
        l->truth = strcmp(cells[i], "truth") == 0 ? i : l->truth;
    }
    if (l->image < 0 || l->class < 0 || l->iou < 0)
        return err_set(e, ERR_DATA, "%s:1: there are no columns image, class and %s", path, column);
    return 0;
}

/* Returns the class of this name. A new one comes behind *at, the class of the image's previous
 * row, since an image lists its classes in their order; *at becomes the returned one. NULL if
 * memory ran out. */
static struct score_class *find_class(struct scores *s, const char *name, size_t *at,
                                      struct err *e)
{
    for (size_t i = 0; i < s->nclasses; i++)
        if (strncmp(s->classes[i].name, name, sizeof s->classes[i].name - 1) == 0)
            return &s->classes[*at = i];
    if (mem_grow(&s->classes, s->nclasses, &s->capacity, sizeof *s->classes, e))
        return NULL;
    *at = *at < s->nclasses ? *at + 1 : 0;
    struct score_class *c = &s->classes[*at];
    memmove(c + 1, c, (s->nclasses++ - *at) * sizeof *c);
    *c = (struct score_class){0};
    snprintf(c->name, sizeof c->name, "%s", name);
    return c;
}

static int add_class(char **cells, const struct score_columns *l, struct scores *s, size_t *at,
                     struct err *e)
{
    if (l->intersection < 0 || l->pred < 0 || l->truth < 0)
        return 0;
    double both = strtod(cells[l->intersection], NULL);
    double either = strtod(cells[l->pred], NULL) + strtod(cells[l->truth], NULL) - both;
    if (!(both >= 0) || !(either >= both) || !(either < 1e18))
        return 0;
    struct score_class *c = find_class(s, csv_text(cells[l->class]), at, e);
    if (!c)
        return -1;
    c->intersection += both;
    c->either += either;
    return 0;
}

/* Adds the image of a row for class "all", or the counts of another row to its class. at: as in
 * find_class. */
static int decode_score(char *line, const struct score_columns *l, const char *path, size_t number,
                        struct scores *s, size_t *at, struct err *e)
{
    char *cells[MAX_COLUMNS], *end;

    if (csv_split(line, ',', cells, MAX_COLUMNS) != l->ncolumns)
        return err_set(e, ERR_DATA, "%s:%zu: the row does not have %d cells", path, number,
                       l->ncolumns);
    if (strcmp(cells[l->class], "all"))
        return add_class(cells, l, s, at, e);
    *at = SIZE_MAX;
    double iou = strtod(cells[l->iou], &end);
    if (!*cells[l->iou] || *end || !(iou >= 0 && iou <= 1))
        return err_set(e, ERR_DATA, "%s:%zu: '%.40s' is not in 0..1", path, number, cells[l->iou]);
    s->rows[s->count++] = (struct score){hash_text(HASH_BEGIN, csv_text(cells[l->image])), iou};
    return 0;
}

static int compare_scores(const void *a, const void *b)
{
    const struct score *x = a, *y = b;

    return (x->image > y->image) - (x->image < y->image);
}

static int decode_scores(char *text, const char *path, const char *column, struct scores *s,
                         struct err *e)
{
    char *next = text, *line = strsep(&next, "\n");
    struct score_columns layout;
    size_t number = 1, class = SIZE_MAX;

    if (decode_scores_header(line, path, column, &layout, e))
        return -1;
    for (line = strsep(&next, "\n"); next; line = strsep(&next, "\n"))
        if (decode_score(line, &layout, path, ++number, s, &class, e))
            return -1;
    if (!line || *line || s->count == 0)
        return err_set(e, ERR_DATA, "%s:%zu: %s", path, number + 1,
                       s->count ? "the last line has no newline; the file was cut"
                                : "there is no image");
    qsort(s->rows, s->count, sizeof *s->rows, compare_scores);
    for (size_t i = 1; i < s->count; i++)
        if (s->rows[i].image == s->rows[i - 1].image)
            return err_set(e, ERR_DATA, "%s: an image appears twice", path);
    return 0;
}

struct scores *scores_read(const char *path, const char *column, struct err *e)
{
    size_t size, nlines = 1;
    char *text = atomicfile_read(path, MAX_FILE, &size, e);
    struct scores *s = NULL;

    if (!text)
        return NULL;
    for (size_t i = 0; i < size; i++)
        nlines += text[i] == '\n';
    s = mem_zero(1, sizeof *s, e);
    if (s)
        s->rows = mem_zero(nlines, sizeof *s->rows, e);
    if (s && s->rows && strlen(text) != size)
        err_set(e, ERR_DATA, "%s: holds binary data", path);
    else if (s && s->rows && decode_scores(text, path, column, s, e) == 0)
        goto out;
    scores_destroy(s);
    s = NULL;
out:
    free(text);
    return s;
}

void scores_destroy(struct scores *s)
{
    if (!s)
        return;
    free(s->rows);
    free(s->classes);
    free(s);
}

double scores_class_iou(const struct score_class *c)
{
    return (c->intersection + 1) / (c->either + 1);
}

/* ---- quantities ---- */

/* the last two members of quantity_words */
#define COMPUTED (size_t)-1, 0
#define IN(member) offsetof(struct result, member), 0
#define IN_KWH(member) offsetof(struct result, energy.member), 3.6e6

const struct quantity_words quantities[QUANTITY_COUNT] = {
    [QUANTITY_STARTUP] = {"startup_s", "start-up",
                          "from the start of the process to its first training step",
                          IN(startup_s)},
    [QUANTITY_STAGE] = {"stage_s", "stage-in",
                        "copying the data to the nodes before the start (data.stage), on rank 0's",
                        IN(stage_s)},
    [QUANTITY_FIRST_EPOCH] = {"first_epoch_s", "first epoch",
                              "the epoch of index 0, which pays for warming up",
                              IN(first_epoch_s)},
    [QUANTITY_ONE_EPOCH] = {"one_epoch_s", "one epoch",
                            "one single epoch, by which the reference notebook compares: that of "
                            "index 1, unless --epoch names another",
                            IN(second_epoch_s)},
    [QUANTITY_STEADY_EPOCH] = {"steady_epoch_s", "steady epoch",
                               "the median, or as a caveat says the mean, of the epochs after "
                               "warming up: without the first, and without those after it that "
                               "are slow (change-point rule of doc/SCALING.md)",
                               IN(median_epoch_s)},
    [QUANTITY_COMM] =
        {"comm_s", "exposed communication",
         "in a steady epoch, the time of sums over GPUs that is not hidden behind computing, "
         "measured on rank 0",
         IN(comm_s)},
    [QUANTITY_DATA] =
        {"data_s", "wait for data",
         "in a steady epoch, the time until images are in the network's input, measured on rank 0",
         IN(data_s)},
    [QUANTITY_EVALUATION] = {"evaluation_s", "evaluation",
                             "scoring the validation images after the last epoch",
                             IN(test_time)},
    [QUANTITY_TRAINING] = {"training_s", "training", "all epochs together",
                           IN(training_time)},
    [QUANTITY_WHOLE] = {"whole_s", "whole run",
                        "from the start of a run's job to its end, summed over its starts; where "
                        "that is not known of all runs, as logged: stage-in, start-up, training "
                        "and evaluation, as far as the logs have them",
                        COMPUTED},
    [QUANTITY_UNITS] = {"images", "images per epoch",
                         "the training images that an epoch really processed, on all GPUs",
                         IN(units)},
    [QUANTITY_RATE] = {"images_per_s", "images per second", "in a steady epoch",
                       IN(units_per_s)},
    [QUANTITY_LOSS] = {"loss", "final loss", "the training loss of the last epoch", IN(loss)},
    [QUANTITY_QUALITY] = {"iou", "IoU",
                      "intersection over union, (I + 1) / (U + 1), over the pixels of all validation "
                      "images after the last epoch; of several classes the mean over those that "
                      "occur or are predicted, the background included. Runs of unet-train are "
                      "scored at the network's size, with data.patch at the images' own. Where "
                      "images have one class each, in its place the accuracy: the share of them "
                      "that are right",
                      COMPUTED},
    [QUANTITY_IOU_OWN_SIZE] = {"iou_own_size", "IoU at own size",
                               "the same of the masks that `unet-train predict` writes, at each "
                               "image's own size",
                               IN(quality.iou_own_size)},
    [QUANTITY_DICE] = {"dice", "Dice", "the Dice coefficient on the validation images",
                       IN(quality.dice)},
    [QUANTITY_ENERGY] = {"energy_kwh", "energy",
                         "of the GPUs over the whole run, measured, or watts per GPU times GPU-hours",
                         IN_KWH(gpus_j)},
    [QUANTITY_UNIT_ENERGY] = {"joules_per_unit", "energy of a unit of work",
                              "of the GPUs in a steady epoch, measured, over the work of it",
                              COMPUTED},
    [QUANTITY_CPU_ENERGY] = {"cpu_energy_kwh", "energy of CPUs",
                             "of the CPU packages of the run's nodes (RAPL), with all that ran on "
                             "them; it is not part of the energy", IN_KWH(cpus_j)},
    [QUANTITY_NODE_ENERGY] = {"node_energy_kwh", "energy of whole nodes, by Slurm",
                              "ConsumedEnergy of Slurm's accounting over the whole job, for runs that had "
                              "their nodes for themselves, where no GPU was measured; which parts of a "
                              "node are counted depends on the cluster (AcctGatherEnergyType)",
                              IN_KWH(nodes_j)},
    [QUANTITY_GPU_POWER] = {"gpu_watts", "power of a GPU", "mean over GPUs and time, measured",
                            IN(gpu.watts)},
    [QUANTITY_GPU_BUSY] = {"gpu_busy", "GPUs in use",
                           "share of the time in which a kernel ran, mean over the GPUs",
                           IN(gpu.busy)},
    [QUANTITY_GPU_THROTTLED] = {"gpu_throttled", "GPUs throttled",
                                "share of the time in which a limit of power or heat reduced the "
                                "clocks, mean over the GPUs", IN(gpu.throttled)},
    [QUANTITY_GPU_MEMORY] = {"gpu_memory_mib", "GPU memory",
                             "the most that was in use on one GPU, by all processes",
                             IN(gpu.memory_mib)},
};

double quantity_of(const struct result *r, enum quantity q)
{
    if (q == QUANTITY_WHOLE && !isnan(r->job_s))
        return r->job_s;
    if (q == QUANTITY_WHOLE)
        return (isnan(r->stage_s) ? 0 : r->stage_s) + (isnan(r->startup_s) ? 0 : r->startup_s) +
               r->training_time +
               (isnan(r->test_time) ? 0 : r->test_time);
    if (q == QUANTITY_QUALITY)
        return result_quality(r);
    if (q == QUANTITY_UNIT_ENERGY)
        return r->energy.epoch_j / r->units;
    const void *field = (const char *)r + quantities[q].offset;
    return *(const double *)field / (quantities[q].parts > 0 ? quantities[q].parts : 1);
}

size_t quantity_collect(const struct result *rows, size_t n, enum quantity q, double *dst)
{
    size_t known = 0;

    for (size_t i = 0; i < n; i++)
        if (isfinite(quantity_of(&rows[i], q)))
            dst[known++] = quantity_of(&rows[i], q);
    return known;
}
