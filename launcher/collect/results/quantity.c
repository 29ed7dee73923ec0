/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/collect/results/quantity.h"

#include <math.h>
#include <stddef.h>

struct definition {
    const char *key, *name, *text;
    size_t offset; /* of the member in struct result, or COMPUTED */
};

#define COMPUTED ((size_t)-1)
#define IN(member) offsetof(struct result, member)

static const struct definition definitions[QUANTITY_COUNT] = {
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
                               "the median of the epochs after warming up: without the first, and "
                               "without those after it that are slow (change-point rule of "
                               "doc/SCALING.md)", IN(median_epoch_s)},
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
                        "stage-in, start-up, training and evaluation, as far as the logs have them",
                        COMPUTED},
    [QUANTITY_UNITS] = {"images", "images per epoch",
                         "the training images that an epoch really processed, on all GPUs",
                         IN(images)},
    [QUANTITY_RATE] = {"images_per_s", "images per second", "in a steady epoch",
                       IN(images_per_s)},
    [QUANTITY_LOSS] = {"loss", "final loss", "the training loss of the last epoch", IN(loss)},
    [QUANTITY_QUALITY] = {"iou", "IoU",
                      "intersection over union, (I + 1) / (U + 1), over the pixels of all validation "
                      "images after the last epoch; of several classes the mean over those that "
                      "occur or are predicted, the background included. Runs of unet-train are "
                      "scored at the network's size. Where images have one class each, in its "
                      "place the accuracy: the share of them that are right",
                      COMPUTED},
    [QUANTITY_IOU_OWN_SIZE] = {"iou_own_size", "IoU at own size",
                               "the same of the masks that `unet-train predict` writes, at each "
                               "image's own size",
                               IN(iou_own_size)},
    [QUANTITY_DICE] = {"dice", "Dice", "the Dice coefficient on the validation images",
                       IN(dice)},
    [QUANTITY_ENERGY] = {"energy_kwh", "energy",
                         "of the GPUs over the whole run, measured, or watts per GPU times GPU-hours",
                         COMPUTED},
    [QUANTITY_UNIT_ENERGY] = {"joules_per_unit", "energy of a unit of work",
                              "of the GPUs in a steady epoch, measured, over the work of it",
                              COMPUTED},
    [QUANTITY_CPU_ENERGY] = {"cpu_energy_kwh", "energy of CPUs",
                             "of the CPU packages of the run's nodes (RAPL), with all that ran on "
                             "them; it is not part of the energy", COMPUTED},
    [QUANTITY_NODE_ENERGY] = {"node_energy_kwh", "energy of whole nodes, by Slurm",
                              "ConsumedEnergy of Slurm's accounting over the whole job, for runs that had "
                              "their nodes for themselves, where no GPU was measured; which parts of a "
                              "node are counted depends on the cluster (AcctGatherEnergyType)",
                              COMPUTED},
    [QUANTITY_GPU_POWER] = {"gpu_watts", "power of a GPU", "mean over GPUs and time, measured",
                            IN(gpu_watts)},
    [QUANTITY_GPU_BUSY] = {"gpu_busy", "GPUs in use",
                           "share of the time in which a kernel ran, mean over the GPUs",
                           IN(gpu_busy)},
    [QUANTITY_GPU_THROTTLED] = {"gpu_throttled", "GPUs throttled",
                                "share of the time in which a limit of power or heat reduced the "
                                "clocks, mean over the GPUs", IN(gpu_throttled)},
    [QUANTITY_GPU_MEMORY] = {"gpu_memory_mib", "GPU memory",
                             "the most that was in use on one GPU, by all processes",
                             IN(gpu_memory_mib)},
};

const char *quantity_key(enum quantity q)
{
    return definitions[q].key;
}

const char *quantity_name(enum quantity q)
{
    return definitions[q].name;
}

const char *quantity_definition(enum quantity q)
{
    return definitions[q].text;
}

double quantity_of(const struct result *r, enum quantity q)
{
    if (q == QUANTITY_WHOLE)
        return (isnan(r->stage_s) ? 0 : r->stage_s) + (isnan(r->startup_s) ? 0 : r->startup_s) +
               r->training_time +
               (isnan(r->test_time) ? 0 : r->test_time);
    if (q == QUANTITY_QUALITY)
        return result_quality(r);
    if (q == QUANTITY_ENERGY)
        return r->energy_j / 3.6e6;
    if (q == QUANTITY_CPU_ENERGY)
        return r->cpu_energy_j / 3.6e6;
    if (q == QUANTITY_NODE_ENERGY)
        return r->node_energy_j / 3.6e6;
    if (q == QUANTITY_UNIT_ENERGY)
        return r->epoch_energy_j / r->images;
    const void *field = (const char *)r + definitions[q].offset;
    return *(const double *)field;
}

size_t quantity_collect(const struct result *rows, size_t n, enum quantity q, double *dst)
{
    size_t known = 0;

    for (size_t i = 0; i < n; i++)
        if (isfinite(quantity_of(&rows[i], q)))
            dst[known++] = quantity_of(&rows[i], q);
    return known;
}
