/* SPDX-License-Identifier: BSD-3-Clause */
/* What one run does: read from run.json (doc/FORMATS.md), or filled by hand key by key. One table
 * of keys is behind both, so that both know the same keys, ranges and words. */
#ifndef UNETCTL_TRAINER_RUN_RUN_CONFIG_H
#define UNETCTL_TRAINER_RUN_RUN_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/err.h"
#include "trainer/data/set/augment.h"

struct run_config {
    char *study, *study_id, *run;
    const char *engine; /* words of a fixed set are constants, not to be freed */
    int seed;
    struct {
        char *dir;
        char *split; /* "" until known */
        int height, width, channels, repeat;
        bool soft_masks;
        int classes;      /* 1: foreground and background */
        char *ignore;     /* mask value that does not count; "": none */
        char *class_file; /* "": none */
        char *cache;      /* auto | off | a folder */
        int workers;      /* threads that load pictures ahead; 0: the step itself does */
        const char *remainder; /* keep | drop */
        const char *files; /* all | workers: of TFRecord a multiple of the GPUs */
    } data;
    struct augment_config augment;
    struct {
        char *name; /* what model_open takes */
        int base, depth; /* 0: the model's own */
        const char *batch_norm; /* local | sync | none */
    } model;
    struct {
        int epochs, batch_per_gpu, global_batch;
        int rate_gpus; /* that lr_scaling counts; 0: those of the run, or 1 with global_batch */
        const char *loss;    /* ce | dice | ce+dice */
        char *class_weights; /* "": none; numbers with commas: run_config_class_weights */
        const char *optimizer;
        double lr;
        double momentum;     /* of sgd and lars */
        bool nesterov;
        double weight_decay;
        const char *lr_scaling;  /* none | linear | sqrt | two-thirds */
        const char *lr_schedule; /* step | step-tf | constant */
        char *lr_steps;          /* "": none; EPOCH:FACTOR,.. in place of lr_schedule */
        char *lr_plateau;        /* "": none; EPOCHS:FACTOR in place of lr_schedule */
        int warmup_epochs;
        const char *warmup;      /* batch | epoch */
        bool momentum_correction;
        int accumulate;          /* batches whose gradients make one step */
        double clip_norm;        /* 0: none */
        int eval_epochs;         /* validation every so many epochs; 0: after the last one */
        char *until;             /* "": none; "iou>=0.9" */
        int patience;            /* epochs without a better IoU; 0: no matter */
        const char *keep;        /* last | best: which weights are the result */
        bool deterministic;
        bool tensorboard; /* numbers over time for TensorBoard */
        const char *backend;     /* auto | cpu | ref | simd | dnnl | cuda */
        const char *dtype;       /* f32 | tf32 | bf16 | fp16: of activations and their gradients */
        const char *comm;        /* auto | self | thread | mpi | nccl */
        int threads;             /* 0: what the allocation gives */
        const char *allreduce;   /* bucketed | native | horovod */
        int bucket_mib;          /* of bucketed; 0: chosen by the time of the first steps */
        int fusion_mib;          /* of horovod */
        double cycle_ms;
        const char *compress;    /* none | bf16 | fp16: gradients on their way between nodes */
        int timeout_s;
        int checkpoint_epochs; /* a checkpoint every so many epochs; 0: not by epochs */
        double checkpoint_s;   /* every so many seconds; 0: not by time */
        bool trace;            /* what each replica does when */
    } train;
    struct {
        int gpus, nodes, tasks, tasks_per_node, gpus_per_task;
        const char *strategy; /* mirrored | multi-worker */
    } layout;
};

/* Every key has a default except data.dir, data.height and data.width, which must be set. */
int run_config_init(struct run_config *c, struct err *e);
void run_config_destroy(struct run_config *c);

/* Set "section.key" from text. ERR_USAGE for a value that the key cannot have. */
int run_config_set(struct run_config *c, const char *key, const char *text, struct err *e);

/* The keys of "augment" from a list as --augment has it: "hflip,brightness=0.2", a word without a
 * value is switched on. ERR_USAGE. */
int run_config_augment(const char *list, struct augment_config *dst, struct err *e);

/* Read run.json into c (initialised). ERR_CONFIG: not JSON, another schema, an unknown, missing or
 * doubled key, a value of the wrong type or out of range, always with the key's path. */
int run_config_read(struct run_config *c, const char *path, struct err *e);

/* Do the parts agree with each other (layout, sizes against depth)? ERR_CONFIG. */
int run_config_check(const struct run_config *c, struct err *e);

/* The images of a full step: of all replicas (train.global_batch, or what their batches make), and the
 * most of one replica. */
size_t run_config_step_images(const struct run_config *c);
int run_config_step_batch(const struct run_config *c);

#define RUN_CONFIG_CLASSES 250 /* at most */

/* Weights of the classes (of background and foreground for one class) into dst: how many, 0 when
 * there are none, -1 with ERR_CONFIG. */
int run_config_class_weights(const struct run_config *c, float dst[RUN_CONFIG_CLASSES],
                             struct err *e);

/* Over every key and value: equal on all ranks of one run. */
uint64_t run_config_hash(const struct run_config *c);

/* The i-th key that a checkpoint remembers, and its value as text, which may stand in number: it
 * must not change when a run is continued, or (*adjustable) only when that is done in another folder.
 * False when there are no more. */
bool run_config_fixed(const struct run_config *c, size_t i, char path[64], char number[64],
                      const char **text, bool *adjustable);

#endif
