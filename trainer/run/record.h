/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run leaves behind (logs/SCHEMA.md): record.jsonl while it goes on, log.csv and the marker
 * DONE or FAILED at its end. Only rank 0 has one. */
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

/* Makes dir if need be. Of a run that was cut off in dir, the record moves to dir/restart-K and its
 * checkpoints stay (*again is then true). The record of a start that failed in its first epoch
 * moves, too. Refused (ERR_CONFIG): a run that is done; one that has failed later, unless Slurm has
 * restarted its job (SLURM_RESTART_COUNT); one that is being written. */
struct record *record_open(const char *dir, bool *again, struct err *e);
void record_close(struct record *r); /* NULL is fine */

const char *record_dir(const struct record *r); /* absolute */

/* ERR_RESUMABLE when a later start of the job has taken the folder over (marker.h): nothing more
 * may be written there. All functions below ask this themselves. */
int record_check(struct record *r, struct err *e);

/* The first line: what the run is, besides its configuration. */
struct record_run {
    const struct settings *config;
    const char *const *hosts; /* by rank */
    const struct compute *compute;
    const char *comm, *compiler, *mpi, *version; /* "": not there */
    int ranks;                /* processes */
    int threads, cores;
    bool oversubscribed;
    size_t parameters, train_images, val_images;
};
int record_run(struct record *r, const struct record_run *run, struct err *e);

/* From now on the numbers of epochs and validations also go to dir/tensorboard. */
int record_tensorboard(struct record *r, const char *host, struct err *e);

/* From where on a run had so many GPUs and so large a batch. */
struct record_world {
    int epoch;
    size_t images; /* of that epoch that were done */
    int gpus;
    size_t global_batch;
};

/* What the run goes on from. */
struct record_resume {
    const char *from; /* file of the checkpoint; NULL: none was found, it starts at the beginning */
    int epoch;
    size_t images;    /* of that epoch that are done */
    int gpus;         /* that it was made with */
    const char *changed; /* settings since, "KEY OLD -> NEW, .."; NULL or "": none */
    const struct record_world *worlds; /* in order, the last one begins now */
    size_t nworlds;
};
int record_resume(struct record *r, const struct record_resume *resume, struct err *e);

/* The size of the buckets of gradients was chosen among these, by the time of a step. */
struct record_bucket {
    size_t nbytes;
    double step_s;
};
int record_buckets(struct record *r, const struct record_bucket *sizes, size_t n, size_t chosen,
                   struct err *e);

/* A checkpoint was written, in so many seconds. */
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
    double iou; /* of the training images as they were trained; 0: not counted */
    size_t images, steps;
    double data_s, compute_s, comm_s, wait_s;
    struct gradient_norms norms; /* all 0: not known */
    double loss_scale, left_out; /* at its end, in fp16: the loss's factor (0: none), steps so far
                                  * that were left out as their gradients were not finite */
    struct record_eval eval;     /* after it; seconds 0: there was none */
};
/* The next epoch; kept for log.csv and checkpoints too. */
int record_epoch(struct record *r, const struct record_epoch *epoch, struct err *e);
const struct record_epoch *record_epochs(const struct record *r, size_t *n);

/* A validation after so many epochs; kept for checkpoints too. */
int record_eval(struct record *r, int epochs, const struct record_eval *eval, struct err *e);

/* The run fails, and its best weights so far are kept. */
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
    char warning[256]; /* why the result may be worth nothing; "": there is no reason to think so */
};
/* Adds ",KEY:VALUE.." with all that is known from a score (score.h). names: of the classes, where
 * there are several. */
void record_add_score(struct buf *b, const int64_t *score, int classes,
                      const struct dataset *names);

/* log.csv, the last line, DONE. */
int record_done(struct record *r, const struct record_end *end, struct err *e);

/* The last line and FAILED, as far as they can still be written. Nothing after record_done, nothing
 * for ERR_RESUMABLE. Any thread may call it; the first call counts. */
void record_failed(struct record *r, const struct err *reason);

#endif
