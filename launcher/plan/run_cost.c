/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/plan/run_cost.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/plan/model_look.h"
#include "src/cluster/range.h"

#define BLOCK 4096
#define PROGRESS_S 2       /* between two progress lines of record.jsonl */
#define PROGRESS_BYTES 80
#define EPOCH_BYTES 400    /* an epoch's lines in record.jsonl and log.csv */
#define UNLIMITED_MIN 1440 /* taken where no time limit is known */
#define SMALL_FILES 12     /* run.json, two scripts, job, output, markers, folders: a few blocks */
#define SNAPSHOTS 3        /* trainer/checkpoint/snapshot.h */
#define AUTO_MEMORY (256LL << 20)
#define TENSOR_BYTES 128   /* a tensor's entry in the header of weights.safetensors */

double run_cost_gpu_hours(const struct run *run, int time_min)
{
    return run->layout.gpus * (time_min / 60.0);
}

/* What a network consists of. */
struct size {
    int64_t parameters, state, tensors; /* state: running means and variances */
};

/* Two convolutions of 3x3, each with its batch norm. */
static void add_block(struct size *s, bool batch_norm, int64_t in, int64_t out)
{
    for (int i = 0; i < 2; i++) {
        s->parameters += 9 * (i ? out : in) * out + out;
        s->tensors += 2;
        if (batch_norm) {
            s->parameters += 2 * out;
            s->state += 2 * out;
            s->tensors += 4;
        }
    }
}

/* A convolution of K x K, with its batch norm unless that is 0. */
static void add_conv(struct size *s, int64_t kernel, int64_t in, int64_t out, bool bias, bool norm)
{
    s->parameters += kernel * kernel * in * out + (bias ? out : 0) + (norm ? 2 * out : 0);
    s->tensors += 1 + bias + (norm ? 4 : 0);
    s->state += norm ? 2 * out : 0;
}

/* resnetN: 6 n + 2 layers, three stages (templates/models/resnet.yaml). */
static struct size measure_resnet(const struct study *study)
{
    bool norm = strcmp(study->model.batch_norm, "none") != 0;
    bool projection = strchr(study->model.name, '-') != NULL, bias = projection || !norm;
    int64_t blocks = (atol(study->model.name + strlen("resnet")) - 2) / 6;
    int64_t base = study_base(study), in = base;
    int64_t classes = study->data.classes > 1 ? study->data.classes : 10; /* the data tell later */
    struct size s = {0};

    add_conv(&s, 3, study->data.channels, base, bias, norm);
    for (int64_t i = 0; i < 3 * blocks; i++) {
        int64_t out = base << i / blocks;
        add_conv(&s, 3, in, out, bias, norm);
        add_conv(&s, 3, out, out, bias, norm);
        if (in != out && projection)
            add_conv(&s, 1, in, out, true, false);
        in = out;
    }
    add_conv(&s, 1, in, classes, true, false);
    return s;
}

static struct size measure_study(const struct study *study)
{
    bool batch_norm = strcmp(study->model.batch_norm, "none") != 0;
    int64_t base = study_base(study), in = study->data.channels;
    long depth = study_depth(study);
    struct size s = {0};

    if (strncmp(study->model.name, "resnet", strlen("resnet")) == 0)
        return measure_resnet(study);
    if (strcmp(study->model.name, "unet") != 0) {
        struct model_look look;
        struct err ignored;
        (void)model_look_open(study, false, &look, &ignored);
        return (struct size){look.parameters, look.state, look.tensors};
    }

    for (long i = 0; i <= depth; i++) {
        add_block(&s, batch_norm, in, base << i);
        in = base << i;
    }
    for (long i = depth - 1; i >= 0; i--) {
        int64_t out = base << i;
        s.parameters += 4 * in * out + out;
        add_block(&s, batch_norm, 2 * out, out);
        in = out;
    }
    s.parameters += (in + 1) * study->data.classes;
    s.tensors += 2 * depth + 2;
    return s;
}

int64_t run_cost_parameters(const struct study *study)
{
    return measure_study(study).parameters;
}

static int64_t blocks(int64_t bytes)
{
    return (bytes + BLOCK - 1) / BLOCK * BLOCK;
}

int64_t run_cost_disk(const struct study *study, int time_min)
{
    struct size s = measure_study(study);
    int64_t minutes = time_min ? time_min : UNLIMITED_MIN;
    int64_t weights = 4 * (s.parameters + s.state) + TENSOR_BYTES * s.tensors;
    int64_t record = minutes * 60 / PROGRESS_S * PROGRESS_BYTES + study->train.epochs * EPOCH_BYTES;

    /* Adam keeps two more numbers for each parameter. */
    int64_t snapshot = weights + 2 * (4 * s.parameters + TENSOR_BYTES * s.tensors) + BLOCK;

    return blocks(weights) + SNAPSHOTS * blocks(snapshot) + blocks(record) + SMALL_FILES *
           (int64_t)BLOCK;
}

int64_t run_cost_cache(const struct study *study, const struct run_plan *plan, long images)
{
    /* Of floats, as images become that are resized. */
    int64_t bytes = (int64_t)images * study->data.height * study->data.width *
        (study->data.channels + 1) * 4;
    int most = 1;

    for (size_t i = 0; i < plan->count; i++)
        if (plan->runs[i].layout.tasks_per_node > most)
            most = plan->runs[i].layout.tasks_per_node;
    if (strcmp(study->data.cache, "off") == 0 ||
        (strcmp(study->data.cache, "auto") == 0 && bytes * most <= AUTO_MEMORY))
        return 0;
    return blocks(bytes);
}

static double total_hours(const struct run_plan *plan, int time_min, int most_gpus)
{
    double hours = 0;

    for (size_t i = 0; i < plan->count; i++)
        if (plan->runs[i].layout.gpus <= most_gpus)
            hours += run_cost_gpu_hours(&plan->runs[i], time_min);
    return hours;
}

/* The counts of the plan up to most_gpus, as --gpus takes them. */
static void encode_counts(const struct run_plan *plan, int most_gpus, char *dst, size_t size)
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

int run_cost_check(const struct run_plan *plan, int time_min, double max_gpu_hours, struct err *e)
{
    double hours = total_hours(plan, time_min, INT32_MAX);
    char counts[160], fit[256] = "no count of the list fits";
    int most = 0;

    if (!time_min)
        return err_set(e, ERR_CONFIG, "--max-gpu-hours %g: the runs have no time limit, so they "
                       "may cost anything; give one (slurm.time in study.yaml, or -- "
                       "--time=H:MM:SS)", max_gpu_hours);
    if (hours <= max_gpu_hours)
        return 0;
    for (size_t i = 0; i < plan->count; i++)
        if (plan->runs[i].layout.gpus > most &&
            total_hours(plan, time_min, plan->runs[i].layout.gpus) <= max_gpu_hours)
            most = plan->runs[i].layout.gpus;
    encode_counts(plan, most, counts, sizeof counts);
    if (most)
        snprintf(fit, sizeof fit, "--gpus %s (%.*f) would fit", counts,
                 run_cost_decimals(total_hours(plan, time_min, most)),
                 total_hours(plan, time_min, most));
    return err_set(e, ERR_CONFIG, "the runs may cost %.*f GPU-hours (time limit %d:%02d h x GPUs, "
                   "summed), %.*f more than --max-gpu-hours %g; %s, %s a time limit of %d minutes "
                   "would", run_cost_decimals(hours), hours, time_min / 60, time_min % 60,
                   run_cost_decimals(hours - max_gpu_hours), hours - max_gpu_hours, max_gpu_hours,
                   fit, most ? "as" : "but",
                   (int)(time_min * max_gpu_hours / hours));
}
