/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process sets up before it computes: the settings of its run, its backend, and how signals
 * end it. */
#pragma once

#include "src/cli.h"
#include "src/settings/settings.h"
#include "trainer/core/kernel.h"

/* The settings of one run (settings_of_run), read from run.json (doc/FORMATS.md) or set by key. */

/* Sets all settings to their presets. data.dir, data.height and data.width have none and must be
 * set. */
int run_config_init(struct settings *c, struct err *e);
void run_config_destroy(struct settings *c); /* NULL is fine */

/* Sets "section.key" from text. -1 with ERR_USAGE for an unknown key or an invalid value. */
int run_config_set(struct settings *c, const char *key, const char *text, struct err *e);

/* The same for the words KEY=VALUE of --set; keys of layout.* are refused. */
int run_config_set_words(struct settings *c, const struct cli_list *words, struct err *e);

/* Reads run.json into *c, which is initialised, and calls run_config_check. -1 with ERR_CONFIG and
 * the path of the key, if one is wrong: the file is not JSON or of another schema, a key is
 * unknown, missing or repeated, or a value has the wrong type, is out of range or contradicts
 * another. */
int run_config_read(struct settings *c, const char *path, struct err *e);

/* Checks that the settings are complete and consistent with each other. -1 with ERR_CONFIG. */
int run_config_check(const struct settings *c, struct err *e);

/* Returns the images of a full step over all replicas. */
size_t run_config_step_images(const struct settings *c);
/* Returns the most images of a full step on one replica. */
int run_config_step_batch(const struct settings *c);

/* Returns a hash of all keys and values, which is equal on all ranks of a run. */
uint64_t run_config_hash(const struct settings *c);

/* The choice of this process between GPUs and the CPU, by the setting train.backend:
 *
 *   auto   cuda if this process has a GPU that this build can use. It is an error if the process
 *          was given GPUs (CUDA_VISIBLE_DEVICES, Slurm's variables) that it cannot use. Without
 *          GPUs, or with fake ones (UNET_GPUS=fake, as in jobs of `unetctl sandbox`), the best
 *          backend on the CPU.
 *   cpu    the best backend on the CPU.
 *   other  the backend of that name. */

struct compute {
    const struct backend *backend;
    char device[256]; /* name of the GPU, or of the processor */
    char why[1024];   /* why auto chose no GPU, or "" */
    bool tf32;        /* the GPU's tensor cores multiply in TF32 */
    bool fake;        /* auto chose the CPU because UNET_GPUS=fake is set */
};

/* Sets *c by the value of train.backend. -1 with ERR_PEER if a GPU is required and none works, or
 * with ERR_CONFIG for an unknown backend. */
int compute_choose(struct compute *c, const char *word, struct err *e);

/* For verbs that run as one process: chooses by *word, sets *word to the name of the backend and
 * *dtype by compute_dtype (constant strings), and logs the choice, except in tasks of a launcher
 * other than task 0. */
int compute_take(const char **word, const char **dtype, struct err *e);

/* Writes device, backend and reason to dst, as one line. comm: the name of the communicator, or
 * NULL. */
#define COMPUTE_LINE 1600
void compute_describe(const struct compute *c, const char *comm, char dst[COMPUTE_LINE]);

/* Returns the value of train.dtype, or for "auto" "tf32" if *c has it, otherwise "f32". */
const char *compute_dtype(const struct compute *c, const char *dtype);

/* Logs that line and, for a GPU, dtype; with "bf16" on the CPU, that it is slower there. */
void compute_log(const struct compute *c, const char *comm, const char *dtype);

/* Signals that end a run.
 *
 * SIGTERM, SIGUSR1 and a first SIGINT request a training to finish its step, write a checkpoint and
 * end without a marker, so that it can be resumed; after SIGINT the exit code is 130. A SIGINT
 * after any of these signals ends it at once with the marker FAILED. A SIGTERM that comes
 * LOCAL_RANKS_TWICE_S or more after a SIGTERM or SIGINT ends it without a marker, so that it
 * resumes from an earlier checkpoint; one that comes sooner is the first request, which a launcher
 * has sent as well.
 * If its current step then takes longer than 0.3 s, a thread writes the marker, as mpirun kills its
 * ranks after a second, and ends the process another second later, even while it waits for a
 * device. In the verbs eval and predict SIGINT and SIGTERM end the process with an error; other
 * verbs do not catch these.
 *
 * The thread also ends a process whose folder belongs to a later start of the job (run_log_check),
 * even while it waits for lost ranks. */

struct run_log;

/* Numbers of signals, or 0; written by signal handlers, read by all threads. */
extern atomic_int shutdown_signal;  /* the signal that ends this process */
extern atomic_int shutdown_request; /* the signal that requests to end with a checkpoint */
extern atomic_int shutdown_any;     /* the later of both */

/* Installs the handlers. resumable: the process writes checkpoints. */
void shutdown_catch(bool resumable);

/* Starts the thread, which runs until shutdown_unwatch. r: NULL except on rank 0. If the thread
 * cannot be started, the marker is written only when the step ends. */
void shutdown_watch(struct run_log *r);
void shutdown_unwatch(void);
