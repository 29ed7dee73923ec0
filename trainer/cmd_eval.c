/* SPDX-License-Identifier: BSD-3-Clause */
/* unet-train eval: a checkpoint on images. */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "src/clock.h"
#include "src/log.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/evaluate.h"
#include "trainer/shutdown.h"
#include "trainer/size_option.h"
#include "trainer/strategy.h"
#include "trainer/trainer.h"

static const char *opt_checkpoint, *opt_data, *opt_split, *opt_size, *opt_backend = "auto";
static long opt_threads;
static bool opt_soft_masks, opt_json;

static const struct cli_option options[] = {
    {"checkpoint", 'c', CLI_STRING, "FILE", "weights.safetensors, or its folder",
     &opt_checkpoint, 0, 0},
    {"data", 'd', CLI_STRING, "DIR", "images/ and masks/; all pairs are evaluated",
     &opt_data, 0, 0},
    {"split", 0, CLI_STRING, "FILE", "split.json: only its validation part", &opt_split, 0, 0},
    {"size", 's', CLI_STRING, "HxW", "resize to this (default: the size of training)",
     &opt_size, 0, 0},
    {"soft-masks", 0, CLI_FLAG, NULL, "grey mask values are kept as value/255",
     &opt_soft_masks, 0, 0},
    {"backend", 0, CLI_STRING, "WORD", "auto | ref | dnnl (auto)", &opt_backend, 0, 0},
    {"threads", 't', CLI_INT, "N", "0: the cores of this process (0)", &opt_threads, 0, 4096},
    {"json", 0, CLI_FLAG, NULL, "one JSON object on stdout", &opt_json, 0, 0},
    {0}};

static const char details[] =
    "Pixel counts are summed over all images; iou = (I + 1) / (U + 1). With the split of a run\n"
    "and the run's size, the result equals the run's.\n"
    "\n"
    "  unet-train eval --checkpoint RUN/checkpoint --data DATA --split RUN/split.json --json\n";

static int find_weights(char dst[PATH_MAX], struct err *e)
{
    struct stat st;

    if (!opt_checkpoint)
        return err_set(e, ERR_USAGE, "eval: --checkpoint FILE is missing");
    if (stat(opt_checkpoint, &st))
        return err_errno(e, ERR_CHECKPOINT, errno, "%s", opt_checkpoint);
    snprintf(dst, PATH_MAX, "%s%s", opt_checkpoint,
             S_ISDIR(st.st_mode) ? "/weights.safetensors" : "");
    return 0;
}

static int configure(const char *file, struct network_config *config, struct err *e)
{
    if (!opt_data && !opt_split)
        return err_set(e, ERR_USAGE, "eval: give --data DIR or --split FILE, or both");
    *config = (struct network_config){.backend = opt_backend, .seed = 1};
    config->threads = opt_threads ? (int)opt_threads : strategy_own_cores();
    if (checkpoint_read_model(file, config, e))
        return -1;
    if (opt_size && size_option_parse(opt_size, &config->height, &config->width, e))
        return err_prefix(e, "eval: --size");
    return 0;
}

static void print_result(const struct iou_counts *c, size_t images, double seconds)
{
    if (!opt_json) {
        printf("iou     %.9g\ndice    %.9g\nimages  %zu\nseconds %.3f\n", iou_value(c), iou_dice(c),
               images, seconds);
        return;
    }
    printf("{\"schema\":1,\"iou\":%.9g,\"dice\":%.9g,\"images\":%zu,\"intersection\":%lld,"
           "\"union\":%lld,\"pred\":%lld,\"truth\":%lld,\"seconds\":%.6f}\n", iou_value(c),
           iou_dice(c), images, (long long)c->intersection, (long long)iou_union(c),
           (long long)c->pred, (long long)c->truth, seconds);
}

static int evaluate(const char *file, const struct network_config *config, struct err *e)
{
    struct dataset_config data = {
        .split_file = opt_split, .dir = opt_data, .height = config->height,
        .width = config->width, .channels = config->channels, .soft_masks = opt_soft_masks};
    struct iou_counts counts = {0};
    struct dataset *dataset = NULL;
    int rc = -1;

    struct network *network = network_create(config, e);
    if (!network || checkpoint_read_weights(file, network_weights(network), e))
        goto out;
    dataset = dataset_open(&data, e);
    if (!dataset)
        goto out;
    size_t images = dataset_count(dataset, DATASET_VAL);
    size_t pixels = (size_t)config->height * (size_t)config->width;
    double began = clock_now();
    rc = evaluate_images(network, dataset, DATASET_VAL, 0, images, pixels, &shutdown_signal,
                         &counts, e);
    if (rc == 0)
        print_result(&counts, images, clock_now() - began);
out:
    dataset_close(dataset);
    network_destroy(network);
    return rc;
}

static int run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    char file[PATH_MAX];
    struct network_config config;

    (void)noperands, (void)operands, (void)nrest, (void)rest;
    shutdown_catch(false);
    if (opt_json)
        log_open("unet-train", LOG_WARN);
    if (find_weights(file, e) || configure(file, &config, e))
        return -1;
    return evaluate(file, &config, e);
}

const struct cli_command cmd_eval = {
    .name = "eval",
    .args = "",
    .summary = "Evaluate a checkpoint on images",
    .details = details,
    .options = options,
    .run = run,
};
