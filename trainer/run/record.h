/* SPDX-License-Identifier: BSD-3-Clause */
/* The results of a run (logs/SCHEMA.md): record.jsonl while it trains, and at its end log.csv and
 * the marker DONE, or only the marker FAILED. Only rank 0 has a record. */
#ifndef UNETCTL_TRAINER_RUN_RECORD_H
#define UNETCTL_TRAINER_RUN_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/buf.h"
#include "src/err.h"
#include "src/run/epoch_csv.h"
#include "trainer/data/set/dataset.h"
#include "trainer/metric/score.h"
#include "trainer/run/compute.h"
#include "trainer/run/goal.h"
#include "trainer/run/run_config.h"
#include "trainer/step/gradient_noise.h"

struct record;

/* Opens a new record in dir, which is created if needed (not its parents). Results of an
 * interrupted start in dir are moved to dir/restart-K, its checkpoints stay, and *again becomes
 * true. Results of a start that failed before its first epoch or checkpoint are moved, too, but
 * *again becomes false, as for an empty dir. NULL with ERR_CONFIG if the run in dir is done, has
 * failed later (unless SLURM_RESTART_COUNT says that Slurm has restarted the job), has results
 * but neither a record nor a checkpoint, or is being written by another process; with
 * ERR_RESUMABLE as record_check. */
struct record *record_open(const char *dir, bool *again, struct err *e);
void record_close(struct record *r); /* NULL is fine */

const char *record_dir(const struct record *r); /* absolute; lives as long as the record */

/* Returns -1 with ERR_RESUMABLE if a later start of the job owns the folder now (marker.h): this
 * process must not write to it any more. The functions below that write a line of the record check
 * this themselves. */
int record_check(struct record *r, struct err *e);

/* The content of the first line: the settings and the facts of this start. */
struct record_run {
    const struct settings *config;
    const char *const *hosts; /* by process */
    const struct compute *compute;
    const char *device; /* names of the processors of all ranks (roster_processors) */
    const char *comm, *version;
    int ranks;                /* number of processes */
    int threads, cores;       /* of each replica; of the machine of rank 0 */
    bool oversubscribed;      /* some machine has more threads than cores */
    size_t parameters, train_images, val_images;
};

/* Writes the first line. */
int record_run(struct record *r, const struct record_run *run, struct err *e);

/* From now on, also writes the values of epochs and validations to dir/tensorboard. */
int record_tensorboard(struct record *r, const char *host, struct err *e);

/* The number of replicas and the batch of a run from this point on. */
struct record_world {
    int epoch;     /* completed epochs */
    size_t images; /* images of the next epoch that were used before */
    int gpus;      /* number of replicas, also without GPUs */
    size_t global_batch; /* images of a step over all replicas */
};

/* The point at which the run continues. */
struct record_resume {
    const char *from; /* file of the checkpoint; NULL: the run starts at the beginning */
    int epoch;        /* completed epochs */
    size_t images;    /* images of the next epoch that were used before */
    int gpus;         /* of the checkpoint */
    const char *changed; /* changed settings, "KEY OLD -> NEW, .."; NULL or "": none */
    const struct record_world *worlds; /* all of the run, in order; the last is the current one */
    size_t nworlds;
};
int record_resume(struct record *r, const struct record_resume *resume, struct err *e);

/* Writes that a checkpoint was written, which took so many seconds. epoch, images: as in struct
 * record_resume. */
int record_checkpoint(struct record *r, int epoch, size_t images, double seconds, struct err *e);

/* Writes `step`, the completed steps of the epoch, and `steps`, all its steps, at most every 2 s.
 * Epochs are counted from 0. */
int record_progress(struct record *r, int epoch, size_t step, size_t steps, struct err *e);

/* The results of a validation. */
struct record_eval {
    struct score_summary summary;
    double loss, seconds;
};

struct record_epoch {
    double seconds; /* of the slowest replica */
    double loss;    /* mean over the targets of all images */
    double lr;      /* the rate of the last step */
    double iou; /* of the training images in this epoch; 0: unknown */
    size_t images, steps;
    /* Seconds of rank 0: waiting for images, computing, summing gradients, and waiting for the
     * other ranks at the end of the epoch. */
    double data_s, compute_s, comm_s, wait_s;
    struct gradient_norms norms; /* all 0: unknown */
    double loss_scale; /* with fp16, the factor of the loss at the end of the epoch; else 0 */
    double left_out;   /* with fp16, steps so far without an update: gradients were not finite */
    struct record_eval eval; /* the validation after the epoch; seconds 0: none */
};

/* Writes the next epoch, and keeps it for log.csv and checkpoints. record_epochs returns the *n
 * epochs so far, valid until the next call of record_epoch. */
int record_epoch(struct record *r, const struct record_epoch *epoch, struct err *e);
const struct record_epoch *record_epochs(const struct record *r, size_t *n);

/* Writes a validation after so many epochs, and keeps it with the last of these for checkpoints. */
int record_eval(struct record *r, int epochs, const struct record_eval *eval, struct err *e);

/* Writes that the best weights so far of a run that fails were saved in the folder best/. */
int record_kept(struct record *r, const struct goal *goal, const struct goal_state *state,
                const char sha256[65], struct err *e);

/* The content of the last line. */
struct record_end {
    double test_time; /* seconds of the last validation on the slowest replica */
    double startup_s; /* seconds from the start of the process to the first step; 0: no step */
    int64_t *score; /* over all validation images (score.h), at the network's size */
    /* the same of masks at each image's own size, as predict writes them; NULL: images have no
     * masks */
    int64_t *own_score;
    const struct dataset *dataset;
    const struct goal *goal;
    const struct goal_state *state;
    size_t val_images;
    char weights_sha256[65];
    char warning[256]; /* why the result may be useless, or "" */
    /* Comparisons of kernels with the reference (verdicts.h; a kernel may have several, for ops of
     * different forms), over all processes, and the faults of kernels that are not used for that
     * reason, or "". */
    unsigned kernels_checked;
    char kernels_refused[1024];
};

/* Adds ",KEY:VALUE.." with all values of a score (score.h). names: the data set that has the names
 * of the classes. */
void record_add_score(struct buf *b, const int64_t *score, int classes,
                      const struct dataset *names);

/* Adds own_size, an object with the values of a score at the images' own sizes. */
void record_add_own_score(struct buf *b, const int64_t *score, int classes,
                          const struct dataset *names);

/* Writes log.csv, the last line, and at the end the marker DONE. */
int record_done(struct record *r, const struct record_end *end, struct err *e);

/* Writes the last line and the marker FAILED; errors of writing are only logged. Does nothing for
 * ERR_RESUMABLE, after record_done or an earlier call, or if record_check fails. Thread-safe. */
void record_failed(struct record *r, const struct err *reason);

#endif
