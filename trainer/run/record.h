/* SPDX-License-Identifier: BSD-3-Clause */
/* The results of a run (logs/SCHEMA.md): record.jsonl while it trains, log.csv and the marker DONE
 * or FAILED at its end. Only rank 0 has a record. */
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

/* Makes dir if needed. The results of an interrupted start in dir move to dir/restart-K; its
 * checkpoints stay, and *again becomes true. Those of a start that failed in its first epoch move,
 * too. Refused (ERR_CONFIG): a run that is done; one that failed later, unless Slurm has restarted
 * its job (SLURM_RESTART_COUNT); one that another process is writing. */
struct record *record_open(const char *dir, bool *again, struct err *e);
void record_close(struct record *r); /* NULL is fine */

const char *record_dir(const struct record *r); /* absolute */

/* ERR_RESUMABLE when a later start of the job owns the folder now (marker.h): this process must not
 * write there any more. All functions below check this themselves. */
int record_check(struct record *r, struct err *e);

/* The first line: the configuration and the facts of this start. */
struct record_run {
    const struct settings *config;
    const char *const *hosts; /* by rank */
    const struct compute *compute;
    const char *comm, *compiler, *mpi, *version; /* "": none */
    int ranks;                /* processes */
    int threads, cores;
    bool oversubscribed;
    size_t parameters, train_images, val_images;
};
int record_run(struct record *r, const struct record_run *run, struct err *e);

/* Writes the values of epochs and validations to dir/tensorboard, too. */
int record_tensorboard(struct record *r, const char *host, struct err *e);

/* GPUs and batch of a run, from this point on. */
struct record_world {
    int epoch;
    size_t images; /* of that epoch that were done */
    int gpus;
    size_t global_batch;
};

/* The point that the run continues from. */
struct record_resume {
    const char *from; /* file of the checkpoint; NULL: none, the run starts at the beginning */
    int epoch;
    size_t images;    /* of that epoch that are done */
    int gpus;         /* of the checkpoint */
    const char *changed; /* settings, "KEY OLD -> NEW, .."; NULL or "": none */
    const struct record_world *worlds; /* in order; the last one begins here */
    size_t nworlds;
};
int record_resume(struct record *r, const struct record_resume *resume, struct err *e);

/* Sizes of gradient buckets that were timed, in steps; chosen: index of the fastest. */
struct record_bucket {
    size_t nbytes;
    double step_s;
};
int record_buckets(struct record *r, const struct record_bucket *sizes, size_t n, size_t chosen,
                   struct err *e);

/* A checkpoint; seconds: the time to write it. */
int record_checkpoint(struct record *r, int epoch, size_t images, double seconds, struct err *e);

/* Written at most every 2 s. */
int record_progress(struct record *r, int epoch, size_t step, size_t steps, struct err *e);

/* A validation. */
struct record_eval {
    struct score_summary summary;
    double loss, seconds;
};

struct record_epoch {
    double seconds, loss, lr;
    double iou; /* of the training images in this epoch; 0: unknown */
    size_t images, steps;
    double data_s, compute_s, comm_s, wait_s;
    struct gradient_norms norms; /* all 0: unknown */
    double loss_scale,
        left_out; /* with fp16, at its end: the loss's factor (0: none), and the number
                   * of steps so far without an update, as gradients were not finite */
    struct record_eval eval;     /* after it; seconds 0: none */
};
/* The next epoch; kept for log.csv and checkpoints too. */
int record_epoch(struct record *r, const struct record_epoch *epoch, struct err *e);
const struct record_epoch *record_epochs(const struct record *r, size_t *n);

/* A validation after so many epochs; kept for checkpoints too. */
int record_eval(struct record *r, int epochs, const struct record_eval *eval, struct err *e);

/* The best weights so far of a run that fails. */
int record_kept(struct record *r, const struct goal *goal, const struct goal_state *state,
                const char sha256[65], struct err *e);

struct record_end {
    double test_time, startup_s;
    int64_t *score; /* over all validation images (score.h) */
    const struct dataset *dataset;
    const struct goal *goal;
    const struct goal_state *state;
    size_t val_images;
    char weights_sha256[65];
    char warning[256]; /* why the result may be useless, or "" */
};
/* Adds ",KEY:VALUE.." with all values of a score (score.h). names: of several classes. */
void record_add_score(struct buf *b, const int64_t *score, int classes,
                      const struct dataset *names);

/* log.csv, the last line, DONE. */
int record_done(struct record *r, const struct record_end *end, struct err *e);

/* The last line and FAILED, as far as they can be written. Does nothing after record_done or for
 * ERR_RESUMABLE. Thread-safe; the first call counts. */
void record_failed(struct record *r, const struct err *reason);

#endif
