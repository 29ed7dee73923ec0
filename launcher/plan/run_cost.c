/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/plan/run_cost.h"

#include <ftw.h>
#include <stdio.h>
#include <string.h>

#include "launcher/host/path.h"
#include "launcher/stage/stage.h"

#define BLOCK 4096
#define PROGRESS_S 2       /* interval of progress lines in record.jsonl, in seconds */
#define PROGRESS_BYTES 80
#define EPOCH_BYTES 400    /* lines of one epoch in record.jsonl and log.csv */
#define UNLIMITED_MIN 1440 /* assumed if no time limit is known */
/* blocks of run.json, two scripts, the job's files and output, the markers DONE and FAILED, and
 * folders */
#define SMALL_FILES 12
#define SNAPSHOTS 3        /* two are kept while a third is written */
#define AUTO_MEMORY (256LL << 20)
#define TENSOR_BYTES 128   /* entry of a tensor in the header of weights and snapshots */

double run_cost_gpu_hours(const struct run *run, int time_min)
{
    return run->layout.gpus * (time_min / 60.0);
}

static int64_t round_to_blocks(int64_t bytes)
{
    return (bytes + BLOCK - 1) / BLOCK * BLOCK;
}

int64_t run_cost_disk(const struct study *study, const struct model_look *m, int time_min)
{
    int64_t minutes = time_min ? time_min : UNLIMITED_MIN;
    int64_t weights = 4 * (m->parameters + m->state) + TENSOR_BYTES * m->tensors;
    int64_t record = minutes * 60 / PROGRESS_S * PROGRESS_BYTES + study->train.epochs * EPOCH_BYTES;

    /* The optimizer's state has up to two more numbers per parameter (Adam). */
    int64_t snapshot = weights + 2 * (4 * m->parameters + TENSOR_BYTES * m->tensors) + BLOCK;

    return round_to_blocks(weights) + SNAPSHOTS * round_to_blocks(snapshot) +
           round_to_blocks(record) + SMALL_FILES * (int64_t)BLOCK;
}

int64_t run_cost_cache(const struct study *study, const struct plan *plan, long images)
{
    /* Resized images and their masks are stored as floats. */
    int64_t bytes = (int64_t)images * study->data.height * study->data.width *
        (study->data.channels + 1) * 4;
    int most = 1;

    for (size_t i = 0; i < plan->count; i++)
        if (plan->runs[i].layout.tasks_per_node > most)
            most = plan->runs[i].layout.tasks_per_node;
    if (strcmp(study->data.cache, "off") == 0 ||
        (strcmp(study->data.cache, "auto") == 0 && bytes * most <= AUTO_MEMORY))
        return 0;
    return round_to_blocks(bytes);
}

static int64_t walked;

static int add_file(const char *path, const struct stat *st, int type, struct FTW *at)
{
    walked += type == FTW_F ? round_to_blocks(st->st_size) : 0;
    return 0;
}

int64_t run_cost_stage(const struct study *study)
{
    char split[PATH_MAX];
    struct stage_list list;
    struct err ignored;

    walked = 0;
    if (!*study->data.stage)
        return 0;
    path_format(split, "%s/split.json", study->dir);
    if (stage_list_read(&list, split, &ignored)) {
        nftw(study->data.dir, add_file, 16, 0);
        return walked;
    }
    (void)!stage_list_measure(&list, study->data.dir, &walked, &ignored);
    stage_list_destroy(&list);
    return walked;
}

static double total_hours(const struct plan *plan, int time_min, int most_gpus)
{
    double hours = 0;

    for (size_t i = 0; i < plan->count; i++)
        if (plan->runs[i].layout.gpus <= most_gpus)
            hours += run_cost_gpu_hours(&plan->runs[i], time_min);
    return hours;
}

/* Formats the counts of the plan up to most_gpus as a list for --gpus. */
static void encode_counts(const struct plan *plan, int most_gpus, char *dst, size_t size)
{
    size_t n = 0;
    int first = 0, last = 0;

    *dst = 0;
    for (size_t i = 0; i <= plan->count; i++) {
        int gpus = i < plan->count ? plan->runs[i].layout.gpus : 0;
        if (gpus == last && gpus)
            continue;
        if (first && gpus == last + 1 && gpus <= most_gpus) {
            last = gpus;
            continue;
        }
        if (first && n < size)
            n += (size_t)snprintf(dst + n, size - n, first == last ? "%s%d" : "%s%d..%d",
                                  n ? "," : "", first, last);
        first = last = gpus <= most_gpus ? gpus : 0;
    }
}

int run_cost_decimals(double hours)
{
    return hours < 0.1 ? 3 : 1;
}

/* Says which part of the plan would fit. Returns false if none does. */
static bool describe_fit(const struct plan *plan, bool by_count, int time_min,
                         double max_gpu_hours, char dst[256])
{
    char counts[160];
    bool fits = false;
    int most = 0;

    for (size_t i = 0; i < plan->count; i++) {
        fits |= run_cost_gpu_hours(&plan->runs[i], time_min) <= max_gpu_hours;
        if (plan->runs[i].layout.gpus > most &&
            total_hours(plan, time_min, plan->runs[i].layout.gpus) <= max_gpu_hours)
            most = plan->runs[i].layout.gpus;
    }
    if (by_count && most) {
        double hours = total_hours(plan, time_min, most);
        encode_counts(plan, most, counts, sizeof counts);
        snprintf(dst, 256, "--gpus %s (%.*f) would fit", counts, run_cost_decimals(hours), hours);
        return true;
    }
    snprintf(dst, 256, "%s", by_count ? "no count of the list fits"
                             : fits   ? "fewer RUNs would fit" : "no run of them fits");
    return fits && !by_count;
}

int run_cost_check(const struct plan *plan, bool by_count, int time_min, double max_gpu_hours,
                   struct err *e)
{
    double hours = total_hours(plan, time_min, INT32_MAX);
    char fit[256];

    if (!time_min)
        return err_set(e, ERR_CONFIG, "--max-gpu-hours %g: the runs have no time limit, so they "
                       "may cost anything; give one (slurm.time in study.yaml, or -- "
                       "--time=H:MM:SS)", max_gpu_hours);
    if (hours <= max_gpu_hours)
        return 0;
    bool fits = describe_fit(plan, by_count, time_min, max_gpu_hours, fit);
    return err_set(e, ERR_CONFIG, "the runs may cost %.*f GPU-hours (time limit %d:%02d h x GPUs, "
                   "summed), %.*f more than --max-gpu-hours %g; %s, %s a time limit of %d minutes "
                   "would", run_cost_decimals(hours), hours, time_min / 60, time_min % 60,
                   run_cost_decimals(hours - max_gpu_hours), hours - max_gpu_hours, max_gpu_hours,
                   fit, fits ? "as" : "but",
                   (int)(time_min * max_gpu_hours / hours));
}
