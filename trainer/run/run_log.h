/* SPDX-License-Identifier: BSD-3-Clause */
/* The record of a run, and the decisions of its validations. */
#pragma once

#include "src/run/epoch_csv.h"
#include "src/run/schedule.h"
#include "trainer/json/cjson.h"
#include "trainer/metric/metric.h"
#include "trainer/run/setup.h"
#include "trainer/step/step.h"

/* Decisions by the validation after an epoch: to stop because a quality is reached (time to
 * accuracy) or no longer improves (early stopping), to lower the learning rate, and which weights
 * to keep. */

/* State between validations. Epochs are numbers of completed epochs. */
struct goal_state {
    double best;     /* IoU or accuracy */
    int best_epoch;  /* at which it was measured; 0: no validation yet */
    int reached;     /* epochs at which the quality was reached; 0: not yet */
    int stopped;     /* 1: the training ends after this validation */
    int cuts;        /* number of times that the rate was lowered */
    int cut_epoch;   /* at the last of these */
};

/* Returns whether the goal needs validations after epochs, not only at the end: after each epoch
 * unless train.eval_epochs is set. */
bool goal_is_watched(const struct goal *g);

/* Returns factor^cuts, the factor of the rate. */
double goal_rate(const struct goal *g, const struct goal_state *state);

/* Updates the state with the result of the validation after so many epochs. Returns whether its
 * quality (IoU or accuracy) is above that of all earlier validations, or it is the first. */
bool goal_note(const struct goal *g, struct goal_state *state, int epochs,
               const struct score_summary *s);

/* The results of a run (logs/SCHEMA.md): record.jsonl while it trains, and at its end log.csv and
 * the marker DONE, or only the marker FAILED. Only rank 0 has a record. */

struct run_log;

/* Opens a new record in dir, which is created if needed (not its parents). Results of an
 * interrupted start in dir are moved to dir/restart-K, its checkpoints stay, and *again becomes
 * true. Results of a start that failed before its first epoch or checkpoint are moved, too, but
 * *again becomes false, as for an empty dir. NULL with ERR_CONFIG if the run in dir is done, has
 * failed later (unless SLURM_RESTART_COUNT says that Slurm has restarted the job), has results
 * but neither a record nor a checkpoint, or is being written by another process; with
 * ERR_RESUMABLE as run_log_check. */
struct run_log *run_log_open(const char *dir, bool *again, struct err *e);
void run_log_close(struct run_log *r); /* NULL is fine */

const char *run_log_dir(const struct run_log *r); /* absolute; lives as long as the record */

/* Returns -1 with ERR_RESUMABLE if a later start of the job owns the folder now (marker.h): this
 * process must not write to it any more. The functions below that write a line of the record check
 * this themselves. */
int run_log_check(struct run_log *r, struct err *e);

/* The content of the first line: the settings and the facts of this start. */
struct run_log_run {
    const struct settings *config;
    const char *const *hosts; /* by process */
    const struct compute *compute;
    const char *device; /* names of the processors of all ranks (roster_processors) */
    const char *comm, *version;
    int ranks;                /* number of processes */
    int threads, cores;       /* of each replica; of the machine of rank 0 */
    bool oversubscribed;      /* some machine has more threads than cores */
    bool by_accuracy;         /* the quality is accuracy, not IoU */
    size_t parameters, train_images, val_images;
};

/* Writes the first line. */
int run_log_run(struct run_log *r, const struct run_log_run *run, struct err *e);

/* From now on, also writes the values of epochs and validations to dir/tensorboard. */
int run_log_tensorboard(struct run_log *r, const char *host, struct err *e);

/* The number of replicas and the batch of a run from this point on. */
struct run_log_world {
    int epoch;     /* completed epochs */
    size_t images; /* images of the next epoch that were used before */
    int gpus;      /* number of replicas, also without GPUs */
    size_t global_batch; /* images of a step over all replicas */
};

/* The point at which the run continues. */
struct run_log_resume {
    const char *from; /* file of the checkpoint; NULL: the run starts at the beginning */
    int epoch;        /* completed epochs */
    size_t images;    /* images of the next epoch that were used before */
    int gpus;         /* of the checkpoint */
    const char *changed; /* changed settings, "KEY OLD -> NEW, .."; NULL or "": none */
    const struct run_log_world *worlds; /* all of the run, in order; the last is the current one */
    size_t nworlds;
};
int run_log_resume(struct run_log *r, const struct run_log_resume *resume, struct err *e);

/* Writes with which weights of a file the training began (checkpoint_fit). */
int run_log_init(struct run_log *r, const cJSON *fit, struct err *e);

/* Writes that a checkpoint was written, which took so many seconds. epoch, images: as in struct
 * run_log_resume. */
int run_log_checkpoint(struct run_log *r, int epoch, size_t images, double seconds, struct err *e);

/* Writes `step`, the completed steps of the epoch, and `steps`, all its steps, at most every 2 s.
 * Epochs are counted from 0. */
int run_log_progress(struct run_log *r, int epoch, size_t step, size_t steps, struct err *e);

/* Writes an interval of steps of a run with a limit (run_internal.h) that ends after `step` of the
 * run. */
int run_log_steps(struct run_log *r, int64_t step, double seconds, size_t images, struct err *e);

/* The results of a validation. */
struct run_log_eval {
    struct score_summary summary;
    double loss, seconds;
};

struct run_log_epoch {
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
    struct run_log_eval eval; /* the validation after the epoch; seconds 0: none */
};

/* Writes the next epoch, and keeps it for log.csv and checkpoints. run_log_epochs returns the *n
 * epochs so far, valid until the next call of run_log_epoch. */
int run_log_epoch(struct run_log *r, const struct run_log_epoch *epoch, struct err *e);
const struct run_log_epoch *run_log_epochs(const struct run_log *r, size_t *n);

/* Writes a validation after so many epochs, and keeps it with the last of these for checkpoints. */
int run_log_eval(struct run_log *r, int epochs, const struct run_log_eval *eval, struct err *e);

/* Writes that the best weights so far of a run that fails were saved in the folder best/. */
int run_log_kept(struct run_log *r, const struct goal *goal, const struct goal_state *state,
                const char sha256[65], struct err *e);

/* The content of the last line. */
struct run_log_end {
    /* Seconds of training until the limit that ended it, which leaves the values unknown that a
     * whole training has; 0: it is whole. */
    double limited_s;
    size_t epoch_images; /* images of a whole epoch */
    double test_time; /* seconds of the last validation on the slowest replica */
    double startup_s; /* seconds from the start of the process to the first step; 0: no step */
    const int64_t *score; /* over all validation images (metric/metric.h), at the network's size */
    /* the same of masks at each image's own size, as predict writes them; NULL: images have no
     * masks */
    const int64_t *own_score;
    const struct dataset *dataset;
    const struct goal *goal;
    const struct goal_state *state;
    size_t val_images;
    char weights_sha256[65];
    char warning[256]; /* why the result may be useless, or "" */
};

/* Writes log.csv (unless a limit ended the training), the last line, and at the end the marker
 * DONE. */
int run_log_done(struct run_log *r, const struct run_log_end *end, struct err *e);

/* Adds to dir/bad-nodes that a rank on this host was lost. Errors are ignored. */
void run_log_bad_node(struct run_log *r, const char *host);

/* Writes the last line and the marker FAILED; errors of writing are only logged. Does nothing for
 * ERR_RESUMABLE, after run_log_done or an earlier call, or if run_log_check fails. Thread-safe. */
void run_log_failed(struct run_log *r, const struct err *reason);
