/* SPDX-License-Identifier: BSD-3-Clause */
/* unet-train bench: measures the speed of a network on this machine. */
#include "src/base.h"

#include <math.h>
#include <sys/resource.h>

#include "src/clock.h"
#include "src/rng.h"
#include "src/stat.h"
#include "trainer/backends/backends.h"
#include "trainer/backends/cuda/runtime/cuda_info.h"
#include "trainer/cmd/cmd.h"
#include "trainer/core/kernel.h"
#include "trainer/data/set/loader.h"
#include "trainer/models/model.h"
#include "trainer/network/network.h"
#include "trainer/optim/optim.h"
#include "trainer/run/ranks/ranks.h"
#include "trainer/run/setup.h"

#define SEED 1244
#define RATE 0.001

static struct {
    const char *model, *size, *dtype;
    const char *mode, *backend;
    long base, depth, channels, classes, batch;
    const char *data, *preset;
    long threads, steps, warmup, workers;
    bool json, per_op;
} given = {.model = "unet", .size = "256x256", .dtype = "auto", .mode = "train",
           .backend = "auto", .channels = 1, .classes = 1, .batch = 16, .steps = 10, .warmup = 3,
           .workers = 2};

static const struct cli_option options[] = {
    {"model", 0, CLI_STRING, "NAME",
     "a name of unet-train model --list, or a FILE.yaml (unet)", &given.model, 0, 0},
    {"base", 0, CLI_INT, "N", "filters of the first level (preset of the model)", &given.base, 1,
     1024},
    {"depth", 0, CLI_INT, "N", "number of poolings of unet (preset of the model: 4)", &given.depth, 1,
     8},
    {"channels", 0, CLI_INT, "N", "channels of the images (1)", &given.channels, 1, 64},
    {"classes", 0, CLI_INT, "N", "classes, which are logits per pixel (1)", &given.classes, 1, 250},
    {"size", 's', CLI_STRING, "HxW", "size of the images (256x256)", &given.size, 0, 0},
    {"batch-size", 'b', CLI_INT, "N", "images per step (16)", &given.batch, 1, 65536},
    {"mode", 0, CLI_STRING, "WORD", "train: forward, loss, backward, Adam | infer: forward | load: "
     "only load the images of --data (train)", &given.mode, 0, 0},
    OPTIONS_DTYPE(given.dtype),
    OPTIONS_BACKEND(given.backend),
    OPTIONS_THREADS(given.threads),
    {"data", 0, CLI_STRING, "DIR", "load the images of a data folder in each step", &given.data, 0,
     0},
    {"augment", 0, CLI_STRING, "WORD", "with --data: augment.preset of a training, such as nnunet",
     &given.preset, 0, 0},
    {"workers", 0, CLI_INT, "N", "with --data: threads that load images (2)", &given.workers, 0, 256},
    {"steps", 0, CLI_INT, "N", "number of timed steps (10)", &given.steps, 1, 1000000},
    {"warmup", 0, CLI_INT, "N", "steps before the timed ones (3)", &given.warmup, 0, 1000000},
    {"per-op", 0, CLI_FLAG, NULL,
     "also print for each op: time, operations, bytes, rates and share of the peak", &given.per_op, 0,
     0},
    OPTIONS_JSON(given.json),
    {0}};

static const char details[] =
    "Images are synthetic and in memory; those of --data are decoded before the first step, and\n"
    "loaded in each as in a training. img_per_s is the batch divided by the median time of a step;\n"
    "with cuda or --mode load, by the mean, as steps are computed, or images loaded, in advance.\n"
    "With cuda, --per-op times the GPU, otherwise the processor.\n"
    "\n"
    "  unet-train bench --base 8 --size 768x1024 --batch-size 4 --threads 2 --json\n";

/* What --data names; all NULL without it. */
struct bench_images {
    struct dataset *dataset;
    struct loader *loader;
};

static bool only_loads(void)
{
    return strcmp(given.mode, "load") == 0;
}

static int check_images(const struct dataset *ds, const struct network *n,
                        const struct network_config *c, struct err *e)
{
    if (dataset_targets(ds) != network_targets(n))
        return err_set(e, ERR_CONFIG, "bench: --data %s: its images have %s, but model %s takes %s",
                       given.data, dataset_has_masks(ds) ? "masks" : "classes", given.model,
                       dataset_has_masks(ds) ? "classes" : "masks");
    if (dataset_classes(ds) != c->classes)
        return err_set(e, ERR_CONFIG, "bench: --data %s: it has %d classes; --classes %d",
                       given.data,
                       dataset_classes(ds), dataset_classes(ds));
    return 0;
}

static int open_images(struct bench_images *b, const struct network *n,
                       const struct network_config *c, struct err *e)
{
    struct dataset_config data = {.dir = given.data, .height = c->height, .width = c->width,
                                  .channels = c->channels,
                                  .masks = {.classes = network_targets(n) == 1 ? 1 : c->classes}};
    struct loader_config load = {.images = DATASET_VAL, .batch = (int)given.batch,
                                 .epochs = SIZE_MAX, .seed = SEED, .threads = (int)given.workers};
    const struct setting *preset = setting_find(settings_of_run, "augment.preset");
    struct settings all = {0};

    if (!given.data)
        return only_loads() ? err_set(e, ERR_USAGE, "bench: --mode load: give --data DIR, whose "
                                      "images it loads") : 0;
    if (given.preset && setting_set(preset, given.preset, &all, e))
        return err_prefix(e, "bench: --augment");
    load.augment = all.augment;
    load.dataset = b->dataset = dataset_open(&data, e);
    if (!b->dataset || check_images(b->dataset, n, c, e))
        return -1;
    size_t count = dataset_count(b->dataset, DATASET_VAL), batch = (size_t)given.batch;
    load.repeat = (batch + count - 1) / count;
    if (shard_plan(count, load.repeat, 1, batch, SHARD_DROP, &load.plan, e))
        return -1;
    if (network_device(n))
        load.ops = network_device_ops(n, &load.device);
    for (size_t i = 0; i < count; i++)
        if (!dataset_record(b->dataset, DATASET_VAL, i, e))
            return -1;
    b->loader = loader_create(&load, e);
    return b->loader ? 0 : -1;
}

static int load_images(struct bench_images *b, struct network *n, bool training, struct err *e)
{
    struct record_batch batch;

    if (!b->loader)
        return 0;
    return network_await(n, e) || loader_next(b->loader, &batch, e) ||
                   (!only_loads() && network_place(n, training, &batch, e))
               ? -1 : 0;
}

static int configure_bench(struct network_config *c, struct err *e)
{
    *c = (struct network_config){
        .model = given.model, .backend = given.backend, .base = (int)given.base,
        .depth = (int)given.depth,
        .channels = (int)given.channels, .classes = (int)given.classes, .seed = SEED,
        .batch_norm = BATCH_NORM_LOCAL,
        .threads = given.threads ? (int)given.threads : rank_identity_own_cores()};
    if (strcmp(given.mode, "train") != 0 && strcmp(given.mode, "infer") != 0 && !only_loads())
        return err_set(e, ERR_USAGE, "bench: --mode %s: must be train, infer or load", given.mode);
    const struct model *model = model_open(given.model, e);
    if (!model)
        return err_prefix(e, "bench: --model");
    c->base = (int)(given.base = given.base ? given.base : model->base);
    c->depth = (int)(given.depth = given.depth ? given.depth : model->depth);
    return options_network("bench", &given.dtype, given.size, c, e);
}

static int fill_input(struct network *n, const struct network_config *c, bool training,
                      struct err *e)
{
    size_t values = (size_t)given.batch * (size_t)c->height * (size_t)c->width *
                    (size_t)c->channels;
    float *input = network_input(n, training, (int)given.batch, e);
    float *target = input ? network_target(n, training, (int)given.batch, e) : NULL;

    if (!target)
        return -1;
    for (size_t i = 0; i < values; i++)
        input[i] = (float)rng_uniform(SEED, 1, i);
    for (size_t i = 0; i < (size_t)given.batch * network_targets(n); i++)
        target[i] = (float)(int)(rng_uniform(SEED, 2, i) * (c->classes < 2 ? 2 : c->classes));
    return 0;
}

static int train_step(struct network *n, struct optim *o, struct err *e)
{
    double images = (double)given.batch, loss = 0;
    struct network_step step = {.images = images,
                                .loss_divisor = images * (double)network_targets(n),
                                .scaling = o->scaling};
    struct weights *w = network_weights(n);
    struct device_update update;

    if (o->device) {
        optim_plan(o, w, RATE, 0, &update);
        step.update = &update;
    }
    if (network_train(n, (int)given.batch, step, &loss, NULL, NULL, e))
        return -1;
    if (!o->device)
        optim_step(o, w, RATE, 0);
    return 0;
}

static int run_step(struct network *n, struct optim *o, struct err *e)
{
    const float *logits;

    if (only_loads())
        return 0;
    return o ? train_step(n, o, e) : network_infer(n, (int)given.batch, &logits, e);
}

/* Runs the warm-up steps and the timed ones. Sets seconds and cpu_seconds, the processor time of
 * all threads, of each timed step. A device computes steps after they were queued, and threads load
 * images before they are asked for, so that only all steps together show their speed: each then has
 * the mean. */
static int time_steps(struct network *n, const struct network_config *c, struct optim *o,
                      struct bench_images *images, double *seconds, double *cpu_seconds,
                      struct err *e)
{
    double loss = 0, first = 0;

    for (long i = 0; i < given.warmup + given.steps; i++) {
        if (!images->loader && i < DEVICE_SLOTS && fill_input(n, c, o != NULL, e))
            return -1;
        if (i == given.warmup && network_wait(n, &loss, e))
            return -1;
        if (given.per_op && i == given.warmup)
            network_time_ops(n);
        double began = clock_now(), cpu = clock_cpu();
        first = i == given.warmup ? began : first;
        if (load_images(images, n, o != NULL, e) || run_step(n, o, e))
            return -1;
        if (i >= given.warmup) {
            seconds[i - given.warmup] = clock_now() - began;
            cpu_seconds[i - given.warmup] = clock_cpu() - cpu;
        }
    }
    if (network_wait(n, &loss, e))
        return -1;
    double mean = (clock_now() - first) / (double)given.steps;
    for (long i = 0; i < given.steps && (network_device(n) || only_loads()); i++)
        seconds[i] = mean;
    return 0;
}

static int print_speed(struct network *n, const struct network_config *c, double *seconds,
                       double *cpu_seconds, double startup_s, struct err *e)
{
    double flop, bytes;
    double mean = 0, squares = 0, least = INFINITY, batch = (double)given.batch;
    struct rusage usage;

    for (long i = 0; i < given.steps; i++) {
        mean += batch / seconds[i] / (double)given.steps;
        squares += batch / seconds[i] * (batch / seconds[i]) / (double)given.steps;
        least = fmin(least, seconds[i]);
    }
    double spread = 1.96 * sqrt(fmax(squares - mean * mean, 0));
    double median = stat_median(seconds, (size_t)given.steps);
    double cpu = stat_median(cpu_seconds, (size_t)given.steps);
    getrusage(RUSAGE_SELF, &usage);
    if (!given.json) {
        printf("%s base %ld, %dx%d, batch %ld, %s, %s, %d threads, backend %s\n", given.model,
               given.base, c->height, c->width, given.batch, given.mode, given.dtype, c->threads,
               network_backend(n));
        printf("img/s %.2f (median), %.2f +- %.2f\nstep  %.6f s (median), %.6f s (least), "
               "%.6f s of processor time\n",
               batch / median, mean, spread, median, least, cpu);
        printf("peak  %.1f MiB\n", (double)usage.ru_maxrss / 1024);
        return 0;
    }
    if (network_count(n, strcmp(given.mode, "train") == 0, (int)given.batch, &flop, &bytes, e))
        return -1;
    cJSON *o = cJSON_CreateObject();
    cjson_addf(o, "schema=%d model=%s base=%ld depth=%ld channels=%ld classes=%ld height=%d "
               "width=%d batch_size=%ld mode=%s dtype=%s threads=%d backend=%s steps=%ld warmup=%ld",
               1, given.model, given.base, given.depth, given.channels, given.classes,
               c->height, c->width, given.batch, given.mode, given.dtype, c->threads,
               network_backend(n),
               given.steps, given.warmup);
    cjson_addf(o, "img_per_s=%g img_per_s_mean=%g img_per_s_196sd=%g step_s_median=%g "
               "step_s_min=%g step_cpu_s_median=%g startup_s=%g flop=%g bytes=%g peak_rss_mib=%g",
               batch / median, mean, spread, median, least, cpu, startup_s, flop, bytes,
               (double)usage.ru_maxrss / 1024);
    if (given.data)
        cjson_addf(o, "workers=%ld", given.workers);
    return options_print(o, e);
}

/* Returns the peak rates of the first visible GPU (0 if unknown), or of one core for a network on
 * the CPU. */
static struct profile_peak find_peak(const struct network *n)
{
    struct profile_peak peak = {0, 0, "the GPU"};
    struct cuda_info *info;

    if (!network_device(n))
        return (struct profile_peak){peak_flop(), peak_bytes(), "a core"};
    info = calloc(1, sizeof *info);
    if (info)
        cuda_info_read(info);
    if (info && info->ngpus) {
        peak.flop = info->gpus[0].flop;
        peak.bytes = info->gpus[0].bytes;
    }
    free(info);
    return peak;
}

/* Prints the operations and bytes of a step and, if the GPU's peak rates are known, the lower bound
 * of the step's time that follows from them. The bytes of each op's inputs and outputs count once;
 * those of the optimizer are left out. */
static int print_roofline(struct network *n, bool training, const double *seconds, struct err *e)
{
    double flop, bytes, median = stat_median(seconds, (size_t)given.steps);
    struct profile_peak peak = find_peak(n);

    if (network_count(n, training, (int)given.batch, &flop, &bytes, e))
        return -1;
    printf("plan  %.3f GFLOP and %.3f GB a step\n", flop * 1e-9, bytes * 1e-9);
    double least = fmax(flop / peak.flop, bytes / peak.bytes);
    if (peak.flop > 0 && peak.bytes > 0)
        printf(
            "bound %.3f ms at the GPU's %.1f TFLOP/s (fp32) and %.0f GB/s: %.1f %% of the step\n",
            1e3 * least, peak.flop * 1e-12, peak.bytes * 1e-9, 100 * least / median);
    return 0;
}

static int run_bench(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    double began = clock_now();
    struct network_config c;
    struct bench_images images = {0};
    struct optim *o = NULL;
    int rc = -1;

    if (configure_bench(&c, e))
        return -1;
    struct network *n = network_create(&c, e);
    double *seconds = mem_zero(2 * (size_t)given.steps, sizeof *seconds, e);
    if (!n || !seconds || open_images(&images, n, &c, e))
        goto out;
    if (strcmp(given.mode, "train") == 0 &&
        !(o = optim_create(&(struct optim_config){.scaled = c.dtype == DTYPE_F16},
                           network_weights(n), e)))
        goto out;
    double startup_s = clock_now() - began;
    rc = time_steps(n, &c, o, &images, seconds, seconds + given.steps, e);
    if (rc == 0)
        rc = print_speed(n, &c, seconds, seconds + given.steps, startup_s, e);
    if (rc == 0 && network_device(n) && !given.json && !only_loads())
        rc = print_roofline(n, o != NULL, seconds, e);
    if (rc == 0 && given.per_op) {
        struct profile_peak peak = find_peak(n);
        network_print_times(n, &peak, stdout);
    }
out:
    network_stop(n);
    optim_destroy(o);
    loader_destroy(images.loader);
    dataset_close(images.dataset);
    network_destroy(n);
    free(seconds);
    return rc;
}

const struct cli_command cmd_bench = {
    .name = "bench",
    .args = "",
    .summary = "Measure the speed of a network on this machine",
    .details = details,
    .options = options,
    .run = run_bench,
};
