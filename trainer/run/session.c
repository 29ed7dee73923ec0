/* SPDX-License-Identifier: BSD-3-Clause */
/* The training of one replica, and its progress on the terminal. */
#include "src/base.h"
#include "trainer/run/session.h"

#include <sys/param.h>

#include "src/clock.h"
#include "src/run/schedule.h"
#include "src/settings/settings.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/passes/passes.h"
#include "trainer/run/run_internal.h"

/* A bar for terminals, log lines elsewhere. */

#define REDRAW_S 0.2
#define BAR 24

static void progress_open(struct progress *p, FILE *out, int epochs)
{
    *p = (struct progress){.out = out, .epochs = epochs,
                           .terminal = log_shows(LOG_INFO) && isatty(fileno(out)),
                           .began = clock_now(), .loss = NAN};
}

/* Excludes the share of the run, 0..1, that an earlier start has completed from the estimate of the
 * time left. */
static void progress_skip(struct progress *p, double done)
{
    p->skipped = done;
}

static double seconds_left(const struct progress *p, double done)
{
    double share = done - p->skipped;

    return share > 0 ? (clock_now() - p->began) / share * (1 - done) : 0;
}

static void draw_bar(struct progress *p, int epoch, double done)
{
    int filled = (int)(done * BAR), left = (int)(seconds_left(p, done) + 0.5);
    char bar[BAR + 1];

    for (int i = 0; i < BAR; i++)
        bar[i] = i < filled ? '#' : '.';
    bar[BAR] = 0;
    fprintf(p->out, "\r\033[K[%s] epoch %d/%d", bar, epoch + 1, p->epochs);
    if (isfinite(p->loss))
        fprintf(p->out, "  loss %.4f", p->loss);
    fprintf(p->out, "  %d:%02d:%02d left", left / 3600, left / 60 % 60, left % 60);
    fflush(p->out);
    p->last_drawn = clock_now();
}

/* Called after each step and after each epoch. epoch: counted from 0; step: completed steps of the
 * epoch. */
static void progress_step(struct progress *p, int epoch, size_t step, size_t steps)
{
    if (p->terminal && clock_now() - p->last_drawn >= REDRAW_S)
        draw_bar(p, epoch, (epoch + (double)step / (double)steps) / p->epochs);
}

static void progress_epoch(struct progress *p, int epoch, double loss, double seconds,
                           double images_per_s)
{
    p->loss = loss;
    if (p->terminal)
        draw_bar(p, epoch, (epoch + 1.0) / p->epochs);
    else
        log_info("epoch %d/%d: loss %.6f, %.2f s, %.1f images/s", epoch + 1, p->epochs, loss,
                 seconds, images_per_s);
}

static void progress_close(struct progress *p)
{
    if (p->terminal && p->last_drawn > 0)
        fputs("\r\033[K", p->out);
}

/* The order of a training: handshake, data, resume, epochs and validations, results. Errors are
 * returned to the caller, which ends the other ranks. */

/* Rank 0's vote beside those of ranks that leave, which are 1 each: limit.minutes are over. */
#define LIMIT_VOTE 0.5f

struct session {
    struct session_config given;
    struct training t;
    struct network_config network_config;
    float class_weights[SETTINGS_CLASSES_MAX];
    struct step *step;
    struct step_epoch *epoch;
    struct loader *loader;
    struct validation validation;
    struct schedule schedule;
    struct goal goal;
    struct run_log_end end;
    struct limit limit;
    struct trace *trace; /* with train.trace */
    double last_checkpoint, first_step_at;
};

struct session *session_create(const struct session_config *config, struct err *e)
{
    struct session *s = mem_zero(1, sizeof *s, e);

    if (!s)
        return NULL;
    s->given = *config;
    s->t = (struct training){.config = config->config, .dataset = config->dataset,
                             .comm = config->comm, .log = config->log};
    return s;
}

/* Returns the index of a setting's value among its words, which are in the order of the enums of
 * network, optimizer and schedule. */
static int word_index(const struct session *s, const char *path)
{
    return setting_word_index(settings_of_run, path, s->t.config);
}

static int describe_network(struct session *s, struct err *e)
{
    const struct settings *c = s->t.config;
    int nweights = settings_check_weights(c, s->class_weights, e);
    static const enum batch_norm_mode modes[] = {BATCH_NORM_LOCAL, BATCH_NORM_SYNC,
                                                 BATCH_NORM_NONE};
    double tversky[2];
    enum dtype dtype;
    bool tf32;

    if (nweights < 0 || settings_check_tversky(c, tversky, e) ||
        precision_parse(c->train.dtype, &dtype, &tf32, e) ||
        goal_text_parse(&s->goal, c->train.until, c->train.patience, e) ||
        goal_text_parse_plateau(&s->goal, c->train.lr_plateau, e))
        return -1;
    s->goal.keep_best = strcmp(c->train.keep, "best") == 0;
    s->goal.by_accuracy = model_find(c->model.name)->classifies;
    s->network_config =
        (struct network_config){.model = c->model.name,
                                .backend = c->train.backend,
                                .dtype = dtype,
                                .tf32 = tf32,
                                .deterministic = c->train.deterministic,
                                .base = c->model.base,
                                .depth = c->model.depth,
                                .channels = c->data.channels,
                                .classes = c->data.classes,
                                .height = c->data.height,
                                .width = c->data.width,
                                .threads = s->given.threads,
                                .device = s->given.device,
                                .seed = (uint64_t)c->seed,
                                .freeze = c->model.freeze,
                                .class_weights = nweights ? s->class_weights : NULL,
                                .weighs_dice = strcmp(c->train.dice_weights, "classes") == 0,
                                .loss = (enum loss)word_index(s, "train.loss"),
                                .focal_gamma = c->train.focal_gamma,
                                .tversky = {tversky[0], tversky[1]},
                                .batch_norm = modes[word_index(s, "model.batch_norm")]};
    return 0;
}

static int open_best(struct session *s, struct err *e)
{
    const struct weights *w = network_weights(s->t.network);

    if (!s->goal.keep_best || !s->t.log)
        return 0;
    s->t.best_value = mem_zero(w->nparams, sizeof *s->t.best_value, e);
    s->t.best_state = mem_zero(w->nstate, sizeof *s->t.best_state, e);
    return s->t.best_value && s->t.best_state ? 0 : err_prefix(e, "train.keep: best");
}

static bool records_evals(const struct session *s)
{
    return s->t.config->train.eval_epochs > 0 || goal_is_watched(&s->goal) ||
           s->t.config->train.tensorboard;
}

static int open_session(struct session *s, struct err *e)
{
    const struct settings *c = s->t.config;

    s->t.network = describe_network(s, e) ? NULL : network_create(&s->network_config, e);
    if (!s->t.network)
        return -1;
    struct optim_config optim = {
        .kind = (enum optim_kind)word_index(s, "train.optimizer"),
        .momentum = c->train.momentum, .nesterov = c->train.nesterov,
        .uncorrected = !c->train.momentum_correction, .weight_decay = c->train.weight_decay,
        .scaled = s->network_config.dtype == DTYPE_F16};
    s->t.optim = optim_create(&optim, network_weights(s->t.network), e);
    if (!s->t.optim || open_best(s, e))
        return -1;
    s->validation = (struct validation){
        .t = &s->t, .network = &s->network_config, .goal = &s->goal, .end = &s->end,
        .interrupt = s->given.interrupt, .request = s->given.request};
    return validation_open(&s->validation, records_evals(s), e);
}

static int open_loader(struct session *s, const struct shard_plan *plan, struct err *e)
{
    const struct settings *c = s->t.config;
    struct loader_config config = {
        .dataset = s->t.dataset, .plan = *plan, .part = s->t.comm->rank,
        .repeat = (size_t)c->data.repeat, .patches = (size_t)c->data.patches,
        .foreground = c->data.patch_foreground, .batch = run_config_step_batch(c),
        .epochs = (size_t)c->train.epochs, .seed = (uint64_t)c->seed, .augment = c->augment,
        .threads = c->data.workers};

    if (network_device(s->t.network))
        config.ops = network_device_ops(s->t.network, &config.device);
    s->loader = loader_create(&config, e);
    return s->loader ? 0 : -1;
}

/* Returns the bytes of a bucket: an eighth of the gradients unless train.bucket_mib is set, and a
 * fixed number where the same bits are wanted. */
static size_t bucket_size(const struct session *s)
{
    const struct settings *c = s->t.config;
    size_t share = network_weights(s->t.network)->nparams * sizeof(float) / 8;

    if (c->train.bucket_mib || c->train.deterministic)
        return (size_t)MAX(c->train.bucket_mib, 1) << 20;
    return MAX(share, (size_t)256 << 10);
}

static int open_step(struct session *s, struct err *e)
{
    const struct settings *c = s->t.config;
    struct step_config config = {
        .network = s->t.network, .network_config = &s->network_config, .optim = s->t.optim,
        .comm = s->t.comm, .trace = s->trace, .seed = (uint64_t)c->seed,
        .accumulate = c->train.accumulate,
        .ignores = *c->data.ignore, .clip_norm = c->train.clip_norm,
        .bucket = bucket_size(s) / 64 * 64 / sizeof(float)};

    s->step = step_create(&config, e);
    return s->step ? 0 : -1;
}

void session_abandon(struct session *s)
{
    if (!s)
        return;
    trace_close(s->trace);
    network_abandon(s->t.network);
}

void session_destroy(struct session *s)
{
    if (!s)
        return;
    trace_close(s->trace);
    network_stop(s->t.network);
    optim_destroy(s->t.optim);
    validation_close(&s->validation);
    step_destroy(s->step);
    loader_destroy(s->loader);
    network_destroy(s->t.network);
    free(s->t.best_value);
    free(s->t.best_state);
    free(s->t.worlds);
    cJSON_Delete(s->t.init);
    free(s);
}

/* Returns whether the user lets waiting threads keep their cores. */
static bool waits_actively(void)
{
    const char *policy = getenv("OMP_WAIT_POLICY");

    return !policy || strcasecmp(policy, "passive") != 0;
}

static int gather_roster(struct session *s, struct roster *roster, struct err *e)
{
    struct roster_entry own = {.threads = s->given.threads};

    snprintf(own.host, sizeof own.host, "%s", s->given.host);
    snprintf(own.processor, sizeof own.processor, "%.127s", s->given.compute->device);
    roster_describe(&own);
    own.config_hash = run_config_hash(s->t.config);
    own.plan_hash = network_plan_hash(s->t.network);
    own.data_hash = dataset_hash(s->t.dataset);
    if (roster_gather(s->t.comm, &own, roster, e))
        return -1;
    s->t.comm->spins = waits_actively() && !roster_is_oversubscribed(roster);
    return 0;
}

/* Writes the record's first line, with one host per task, which may have several ranks, and
 * opens the file for TensorBoard if train.tensorboard is set. Warns if ranks compute on different
 * processors. */
static int write_head(struct session *s, const struct roster *roster, struct err *e)
{
    int ranks = s->t.config->layout.tasks, per_task = s->t.config->layout.gpus_per_task;
    const char **hosts = mem_zero((size_t)ranks, sizeof *hosts, e);
    char device[sizeof s->given.compute->device];
    int other = roster_processors(roster, device, sizeof device);

    if (!hosts)
        return -1;
    if (other)
        log_warn("rank %d on %s computes on %s, rank 0 on %s: each step waits for the slowest, so "
                 "the times hold for no single kind; choose one by slurm.constraint, or by "
                 "gpu_type of the site", other, roster->entries[other].host,
                 roster->entries[other].processor, roster->entries[0].processor);
    for (int i = 0; i < ranks; i++)
        hosts[i] = roster->entries[i * per_task].host;
    struct run_log_run run = {
        .config = s->t.config, .hosts = hosts, .ranks = ranks,
        .device = device,
        .compute = s->given.compute, .comm = s->t.comm->ops->name,
        .version = PACKAGE_VERSION, .threads = s->given.threads,
        .cores = roster->entries[0].cores, .oversubscribed = roster_is_oversubscribed(roster),
        .parameters = weights_trainable(network_weights(s->t.network)),
        .train_images = dataset_count(s->t.dataset, DATASET_TRAIN),
        .val_images = dataset_count(s->t.dataset, DATASET_VAL),
        .by_accuracy = s->goal.by_accuracy};
    int rc = run_log_run(s->t.log, &run, e);
    free(hosts);
    if (rc == 0 && s->t.config->train.tensorboard)
        rc = run_log_tensorboard(s->t.log, s->given.host, e);
    return rc;
}

static int check_loss(double loss, int epoch, size_t step, double rate, struct err *e)
{
    if (isfinite(loss))
        return 0;
    return err_set(e, ERR_INTERNAL, "the loss is %s in epoch %d, step %zu: training diverged at "
                   "learning rate %g; try a lower one (train.lr, --lr)",
                   isnan(loss) ? "not a number" : "infinite", epoch, step, rate);
}

static int write_checkpoint(struct session *s, size_t items, bool must, struct err *e)
{
    double began = clock_now();

    if (step_wait(s->step, &s->t.at.totals, e) || optim_settle(s->t.optim, e))
        return -1;
    int rc = resume_write(&s->t, items, must, e);
    s->last_checkpoint = clock_now();
    trace_span(s->trace, TRACE_STEPS, "checkpoint", began, s->last_checkpoint);
    return rc;
}

/* Writes a checkpoint if some replica has voted for one or for leaving. Returns 1 if all replicas
 * leave. since: the time at which s->t.at.seconds was valid. */
static int apply_votes(struct session *s, const struct shard_plan *plan, double since,
                       struct err *e)
{
    const float *votes = step_votes(s->step);
    double seconds = s->t.at.seconds;
    bool leave = votes[STEP_LEAVE] >= 1;

    s->limit.reached |= fmodf(votes[STEP_LEAVE], 1) > 0;
    if (!leave && !(votes[STEP_CHECKPOINT] > 0))
        return 0;
    s->t.at.seconds += clock_now() - since;
    int rc = write_checkpoint(s, shard_train(plan, s->t.at.step, 0).begin, leave, e);
    s->t.at.seconds = seconds;
    step_drop_votes(s->step); /* replicas vote again in the next step */
    return rc ? -1 : leave;
}

static int train_step(struct session *s, const struct shard_plan *plan, double rate, struct err *e)
{
    double every = s->t.config->train.checkpoint_s;
    size_t step = s->t.at.step;
    struct step_work work = {
        .loader = s->loader, .epoch = s->t.at.epoch, .rate = rate,
        .range = shard_train(plan, step, s->t.comm->rank),
        .items = shard_train(plan, step, plan->parts - 1).end - shard_train(plan, step, 0).begin};

    work.votes[STEP_LEAVE] = s->given.request && *s->given.request;
    work.votes[STEP_LEAVE] += s->t.log && limit_is_over(&s->limit) ? LIMIT_VOTE : 0;
    work.votes[STEP_CHECKPOINT] =
        s->t.log && every > 0 && clock_now() - s->last_checkpoint >= every;
    if (step_train(s->step, &work, &s->t.at.totals, e))
        return -1;
    s->t.at.step++;
    return limit_count(&s->limit, work.items, s->t.log, e);
}

static int train_steps(struct session *s, const struct shard_plan *plan, struct progress *progress,
                       double began, struct err *e)
{
    int epoch = s->t.at.epoch;

    while (s->t.at.step < plan->steps && !s->limit.reached) {
        size_t step = s->t.at.step;
        double rate = schedule_rate(&s->schedule, epoch, step, plan->steps) *
                      goal_rate(&s->goal, &s->t.at.goal);
        if (s->first_step_at == 0)
            s->first_step_at = clock_now();
        if (train_step(s, plan, rate, e) || err_interrupt(e, s->given.interrupt) ||
            check_loss(s->t.at.totals.loss, epoch, step, rate, e))
            return -1;
        if (s->t.log) {
            progress_step(progress, epoch, step + 1, plan->steps);
            if (run_log_progress(s->t.log, epoch, step + 1, plan->steps, e))
                return -1;
        }
        int rc = apply_votes(s, plan, began, e);
        if (rc)
            return rc;
    }
    return 0;
}

/* Sums the results of the epoch over the replicas and records them. counted: s->epoch->score has
 * all images of the epoch. */
static int finish_epoch(struct session *s, const struct shard_plan *plan, bool counted,
                        struct progress *progress, double seconds, struct err *e)
{
    const struct step_totals *totals = &s->t.at.totals;
    struct gradient_noise *noise = &s->epoch->noise;
    int classes = s->t.config->data.classes;
    struct comm *c = s->t.comm;
    double ended = clock_now();
    double sums[] = {totals->loss, noise->shares.square, noise->shares.inverse_batch};
    double pixels = (double)plan->used * (double)network_targets(s->t.network);

    if (comm_sum_double(c, sums, 3, e) || comm_max_double(c, &seconds, 1, e) ||
        (counted && comm_sum_int64(c, s->epoch->score, score_size(classes), e)))
        return -1;
    if (!s->t.log)
        return 0;
    noise->shares.square = sums[1];
    noise->shares.inverse_batch = sums[2];
    const struct device_scaling *scaling = s->t.optim->scaled;

    if (mirror_pull(&s->t.optim->scaling_memory, e))
        return -1;
    struct run_log_epoch row = {
        .seconds = seconds, .loss = sums[0] / pixels, .lr = s->t.optim->rate, .images = plan->used,
        .steps = s->t.at.steps_before + plan->steps, .data_s = totals->data_s,
        .compute_s = totals->compute_s, .comm_s = totals->comm_s, .wait_s = clock_now() - ended,
        .norms = gradient_noise_norms(noise),
        .loss_scale = scaling ? (double)scaling->factor : 0,
        .left_out = scaling ? scaling->left_out : 0,
        .iou = counted ? score_summarize(s->epoch->score, classes).iou : 0};
    progress_epoch(progress, s->t.at.epoch, row.loss, seconds, (double)row.images / seconds);
    return run_log_epoch(s->t.log, &row, e);
}

static bool validates_after(const struct session *s, int epochs)
{
    int every = limit_is_set(&s->limit) ? 0 : s->t.config->train.eval_epochs;

    if (every == 0 && !limit_is_set(&s->limit) && goal_is_watched(&s->goal))
        every = 1;
    return epochs == s->t.config->train.epochs || (every > 0 && epochs % every == 0);
}

/* Trains an epoch, or its rest, or until the limit. Returns 0, 1 if all replicas leave, or -1. */
static int train_epoch(struct session *s, const struct shard_plan *epoch_plan,
                       struct progress *progress, struct err *e)
{
    struct shard_plan plan = *epoch_plan;
    double began = clock_now();

    if (s->t.at.begin > 0)
        shard_continue(&plan, s->t.at.begin, run_config_step_images(s->t.config));
    s->epoch = step_begin_epoch(s->step, e);
    if (!s->epoch)
        return -1;
    bool counted = s->epoch->score && s->t.at.begin == 0 && s->t.at.step == 0;
    loader_seek(s->loader, (size_t)s->t.at.epoch, &plan, s->t.at.step);
    limit_continue(&s->limit);
    int rc = train_steps(s, &plan, progress, began, e);
    if (rc)
        return rc;
    if (step_wait(s->step, &s->t.at.totals, e) || limit_pause(&s->limit, s->t.log, e))
        return -1;
    if (s->t.at.step < plan.steps)
        return 0;
    if (finish_epoch(s, &plan, counted, progress, s->t.at.seconds + clock_now() - began, e))
        return -1;
    int epochs = s->t.at.epoch + 1;
    s->t.at = (struct resume_point){.epoch = epochs, .due = validates_after(s, epochs),
                                    .goal = s->t.at.goal};
    int every = s->t.config->train.checkpoint_epochs;
    return every > 0 && s->t.at.epoch % every == 0 ? write_checkpoint(s, 0, false, e) : 0;
}

/* Writes the checkpoint from which a run with more epochs continues, and removes all others. */
static int write_last_state(struct session *s, struct err *e)
{
    char dir[PATH_MAX];

    if (write_checkpoint(s, 0, false, e))
        return -1;
    if (s->t.log) {
        snprintf(dir, sizeof dir, "%s/checkpoint", run_log_dir(s->t.log));
        snapshot_clean(dir, true);
    }
    return 0;
}

static int make_plan(const struct session *s, struct shard_plan *plan, struct err *e)
{
    const struct settings *c = s->t.config;
    enum shard_remainder remainder = (enum shard_remainder)word_index(s, "data.remainder");

    return shard_plan(sampler_size(s->t.dataset, DATASET_TRAIN, (size_t)c->data.patches),
                      (size_t)c->data.repeat,
                      s->t.comm->size, run_config_step_images(c), remainder, plan, e);
}

static int make_schedule(struct session *s, struct err *e)
{
    const struct settings *c = s->t.config;

    s->schedule = (struct schedule){
        .base = c->train.lr, .epochs = c->train.epochs,
        .gpus = c->train.rate_gpus      ? c->train.rate_gpus
                : c->train.global_batch ? 1
                                        : c->layout.gpus,
        .scaling = c->train.global_batch && !c->train.rate_gpus
                       ? SCHEDULE_SCALE_NONE
                       : (enum schedule_scaling)word_index(s, "train.lr_scaling"),
        .shape = (enum schedule_shape)word_index(s, "train.lr_schedule"),
        .warmup_epochs = c->train.warmup_epochs,
        .warmup_by_epoch = strcmp(c->train.warmup, "epoch") == 0};
    if (s->goal.plateau)
        s->schedule.shape = SCHEDULE_CONSTANT;
    return *c->train.lr_steps ? schedule_parse(&s->schedule, c->train.lr_steps, e) : 0;
}

/* Returns 1 if all replicas leave; a checkpoint has then been written. */
static int validate(struct session *s, bool repeated, struct err *e)
{
    double began = clock_now();
    int rc = validation_run(&s->validation, repeated, e);

    trace_span(s->trace, TRACE_STEPS, "validate", began, clock_now());
    return rc > 0 && write_checkpoint(s, 0, true, e) ? -1 : rc;
}

/* Returns whether the limit has ended the training before its last epoch was complete. */
static bool is_limited(const struct session *s)
{
    return s->limit.reached && s->t.at.epoch < s->t.config->train.epochs;
}

/* Scores the result of a whole training, and writes it except the record's end. */
static int conclude_training(struct session *s, struct err *e)
{
    int rc = write_last_state(s, e);

    if (rc == 0)
        rc = validation_restore_best(&s->validation, e);
    if (rc == 0)
        rc = validation_score_own(&s->validation, e);
    if (rc == 0 && s->t.log)
        rc = results_write(&s->t, &s->validation.images, &s->end, e);
    return rc;
}

static int train_and_evaluate(struct session *s, const struct shard_plan *plan,
                              struct progress *progress, struct err *e)
{
    int rc = 0, epochs = s->t.config->train.epochs;

    s->end = (struct run_log_end){
        .dataset = s->t.dataset, .goal = &s->goal, .state = &s->t.at.goal,
        .epoch_images = plan->used};
    /* An earlier process did not write the results. */
    bool repeated = !s->t.at.due && (s->t.at.goal.stopped || s->t.at.epoch == epochs);
    s->t.at.due |= repeated;
    while (rc == 0 && !is_limited(s) &&
           (s->t.at.due || (s->t.at.epoch < epochs && !s->t.at.goal.stopped)))
        rc = s->t.at.due ? validate(s, repeated, e) : train_epoch(s, plan, progress, e);
    if (rc == 0 && is_limited(s))
        s->end.limited_s = s->limit.seconds_before;
    else if (rc == 0)
        rc = conclude_training(s, e);
    if (rc)
        return rc;
    s->end.startup_s = s->first_step_at ? s->first_step_at - s->given.process_start : 0;
    if (s->t.log && (err_interrupt(e, s->given.interrupt) || run_log_done(s->t.log, &s->end, e)))
        return -1;
    return s->t.comm->ops->barrier(s->t.comm, e); /* the results are written before any rank ends */
}

/* Returns the seconds of the epochs so far, on rank 0. */
static double trained_seconds(const struct session *s)
{
    size_t n = 0;
    const struct run_log_epoch *rows = s->t.log ? run_log_epochs(s->t.log, &n) : NULL;
    double seconds = s->t.at.seconds;

    for (size_t i = 0; i < n; i++)
        seconds += rows[i].seconds;
    return seconds;
}

static void open_progress(const struct session *s, const struct shard_plan *plan,
                          struct progress *progress)
{
    double done = s->t.at.epoch;

    if (plan->steps > 0)
        done += (double)shard_train(plan, s->t.at.step, 0).begin / (double)plan->used;
    progress_open(progress, stderr, s->t.config->train.epochs);
    progress_skip(progress, done / s->t.config->train.epochs);
}

/* Checks, before images are decoded, that memory suffices for a step and for the images that are
 * loaded in advance. */
static int check_room(const struct session *s, int sharers, struct err *e)
{
    const struct settings *c = s->t.config;
    const struct network_config *n = &s->network_config;
    size_t all = sampler_size(s->t.dataset, DATASET_TRAIN, (size_t)c->data.patches) *
                 (size_t)c->data.repeat;
    size_t step = MIN((size_t)run_config_step_batch(c), MAX(all / (size_t)c->layout.gpus, 1));
    size_t parts = (size_t)c->train.accumulate;
    size_t numbers = (size_t)n->height * (size_t)n->width * (size_t)n->channels +
                     network_targets(s->t.network);

    return network_check_room(s->t.network, (int)((step + parts - 1) / parts),
                              numbers * sizeof(float) * LOADER_BATCHES * parts, sharers, e);
}

static int prepare_session(struct session *s, struct err *e)
{
    struct roster roster = {0};
    struct comm *c = s->t.comm;

    if (open_session(s, e) || gather_roster(s, &roster, e))
        return -1;
    int sharers = roster_sharers(&roster, c->rank);
    int rc = check_room(s, sharers, e) || c->ops->barrier(c, e) ? -1 : 0;
    if (rc == 0)
        rc = dataset_load(s->t.dataset, sharers, e);
    if (rc && e->code == ERR_INTERRUPT && !(s->given.interrupt && *s->given.interrupt))
        err_set(e, ERR_RESUMABLE, "stopped by a signal before the first step");
    if (rc == 0 && s->t.log)
        rc = write_head(s, &roster, e);
    roster_destroy(&roster);
    return rc;
}

int session_run(struct session *s, struct err *e)
{
    struct shard_plan plan;
    struct progress progress;

    int rc = prepare_session(s, e);
    if (rc == 0 && s->t.config->train.trace) {
        s->trace = trace_open(s->given.out, s->t.comm->rank, s->given.host, e);
        rc = s->trace ? 0 : -1;
    }
    if (rc || make_plan(s, &plan, e) || make_schedule(s, e) ||
        resume_read(&s->t, &s->given.resume, e) || resume_share_weights(&s->t, e) ||
        open_step(s, e) ||
        kernel_choice_share(s->t.network, s->t.comm, &plan, s->t.config->train.accumulate, e) ||
        open_loader(s, &plan, e) ||
        limit_open(&s->limit, s->t.config, s->t.optim->steps, trained_seconds(s), e))
        return -1;
    s->last_checkpoint = clock_now();
    open_progress(s, &plan, &progress);
    rc = train_and_evaluate(s, &plan, &progress, e);
    if (rc < 0 && e->code != ERR_RESUMABLE)
        results_rescue(&s->t, &s->network_config, &s->goal, e);
    if (s->t.log)
        progress_close(&progress);
    return rc;
}
