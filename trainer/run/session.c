/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/run/session.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "src/clock.h"
#include "src/log.h"
#include "src/run/schedule.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/snapshot.h"
#include "trainer/comm/comm_mpi.h"
#include "trainer/core/model.h"
#include "trainer/core/precision.h"
#include "trainer/data/set/shard.h"
#include "trainer/run/progress.h"
#include "trainer/run/roster.h"
#include "trainer/step/evaluate.h"
#include "trainer/step/step.h"

static int describe_network(struct session *s, struct err *e)
{
    const struct settings *c = s->config;
    int nweights = run_config_class_weights(c, s->class_weights, e);
    enum dtype dtype;
    bool tf32;

    if (nweights < 0 || precision_parse(c->train.dtype, &dtype, &tf32, e) ||
        goal_parse(&s->goal, c->train.until, c->train.patience, e) ||
        goal_parse_plateau(&s->goal, c->train.lr_plateau, e))
        return -1;
    s->goal.keep_best = strcmp(c->train.keep, "best") == 0;
    s->goal.by_accuracy = model_find(c->model.name)->whole;
    s->network_config = (struct network_config){
        .model = c->model.name, .backend = c->train.backend, .dtype = dtype, .tf32 = tf32,
        .deterministic = c->train.deterministic,
        .base = c->model.base,
        .depth = c->model.depth, .channels = c->data.channels, .classes = c->data.classes,
        .height = c->data.height, .width = c->data.width, .threads = s->threads,
        .device = s->device,
        .seed = (uint64_t)c->seed, .class_weights = nweights ? s->class_weights : NULL,
        .loss = strcmp(c->train.loss, "dice") == 0      ? LOSS_DICE
                : strcmp(c->train.loss, "ce+dice") == 0 ? LOSS_CE_DICE
                                                        : LOSS_CE,
        .batch_norm = strcmp(c->model.batch_norm, "sync") == 0   ? BATCH_NORM_SYNC
                      : strcmp(c->model.batch_norm, "none") == 0 ? BATCH_NORM_NONE
                                                                 : BATCH_NORM_LOCAL};
    return 0;
}

static int open_best(struct session *s, struct err *e)
{
    const struct weights *w = network_weights(s->network);

    if (!s->goal.keep_best || !s->record)
        return 0;
    s->best_value = calloc(w->nparams, sizeof *s->best_value);
    s->best_state = calloc(w->nstate + 1, sizeof *s->best_state);
    return s->best_value && s->best_state
               ? 0 : err_set(e, ERR_INTERNAL, "out of memory for the best weights (train.keep)");
}

/* Will the record have a line for each validation? Else the end's numbers are all. */
static bool tells_evals(const struct session *s)
{
    return s->config->train.eval_epochs > 0 || goal_is_watched(&s->goal) ||
           s->config->train.tensorboard;
}

static int open_session(struct session *s, struct err *e)
{
    const struct settings *c = s->config;

    s->network = describe_network(s, e) ? NULL : network_create(&s->network_config, e);
    if (!s->network || step_open(s, e))
        return -1;
    struct optim_config optim = {
        .kind = strcmp(c->train.optimizer, "adamw") == 0  ? OPTIM_ADAMW
                : strcmp(c->train.optimizer, "sgd") == 0  ? OPTIM_SGD
                : strcmp(c->train.optimizer, "lars") == 0 ? OPTIM_LARS
                : strcmp(c->train.optimizer, "lamb") == 0 ? OPTIM_LAMB
                                                          : OPTIM_ADAM,
        .momentum = c->train.momentum, .nesterov = c->train.nesterov,
        .uncorrected = !c->train.momentum_correction, .weight_decay = c->train.weight_decay,
        .scaled = s->network_config.dtype == DTYPE_F16};
    s->optim = optim_create(&optim, network_weights(s->network), e);
    if (!s->optim || open_best(s, e))
        return -1;
    if (network_device(s->network)) {
        s->score = evaluate_alloc(s->network, score_size(c->data.classes) * sizeof *s->score, e);
        if (!s->score)
            return -1;
    }
    return evaluate_open(&s->evaluation, s->network, &s->network_config, s->dataset, DATASET_VAL,
                         tells_evals(s), e);
}

static int open_loader(struct session *s, const struct shard_plan *plan, struct err *e)
{
    const struct settings *c = s->config;
    struct loader_config config = {
        .dataset = s->dataset, .plan = *plan, .part = s->comm->rank,
        .repeat = (size_t)c->data.repeat, .batch = run_config_step_batch(c),
        .epochs = (size_t)c->train.epochs, .seed = (uint64_t)c->seed, .augment = c->augment,
        .threads = c->data.workers};

    s->loader = loader_create(&config, e);
    return s->loader ? 0 : -1;
}

void session_destroy(struct session *s)
{
    trace_close(s->trace);
    exchange_end(&s->exchange);
    network_stop(s->network);
    optim_destroy(s->optim);
    evaluate_close(&s->evaluation);
    evaluate_free(s->network, s->score);
    step_close(s);
    network_destroy(s->network);
    loader_destroy(s->loader);
    free(s->best_value);
    free(s->best_state);
    free(s->worlds);
    s->worlds = NULL;
    s->best_value = s->best_state = NULL;
    s->trace = NULL;
    s->network = NULL;
    s->optim = NULL;
    s->loader = NULL;
    s->score = NULL;
}

static int call_roll(struct session *s, struct roster *roster, struct err *e)
{
    struct roster_entry own = {.threads = s->threads};

    snprintf(own.host, sizeof own.host, "%s", s->host);
    roster_describe(&own);
    own.config_hash = run_config_hash(s->config);
    own.device = network_device(s->network);
    own.plan_hash = network_plan_hash(s->network);
    own.data_hash = dataset_hash(s->dataset);
    if (roster_gather(s->comm, &own, roster, e))
        return -1;
    s->comm->spins = !roster_is_oversubscribed(roster);
    return 0;
}

/* One host name per process: the replicas of a mirrored one count once. */
static int write_head(struct session *s, const struct roster *roster, struct err *e)
{
    int ranks = s->config->layout.tasks, per_task = s->config->layout.gpus_per_task;
    const char **hosts = calloc((size_t)ranks, sizeof *hosts);

    if (!hosts)
        return err_set(e, ERR_INTERNAL, "out of memory");
    for (int i = 0; i < ranks; i++)
        hosts[i] = roster->entries[i * per_task].host;
    struct record_run run = {
        .config = s->config, .hosts = hosts, .ranks = ranks,
        .compute = s->compute, .comm = s->comm->ops->name,
        .compiler = "cc " __VERSION__, .dnnl = network_backend_version(s->network),
        .mpi = comm_mpi_version(), .version = PACKAGE_VERSION, .threads = s->threads,
        .cores = roster->entries[0].cores, .oversubscribed = roster_is_oversubscribed(roster),
        .parameters = weights_trainable(network_weights(s->network)),
        .train_images = dataset_count(s->dataset, DATASET_TRAIN),
        .val_images = dataset_count(s->dataset, DATASET_VAL)};
    int rc = record_run(s->record, &run, e);
    free(hosts);
    if (rc == 0 && s->config->train.tensorboard)
        rc = record_tensorboard(s->record, s->host, e);
    return rc;
}

/* Everybody starts with rank 0's weights, whatever each computed from the seed. */
static int share_weights(struct session *s, struct err *e)
{
    struct weights *w = network_weights(s->network);
    struct comm *c = s->comm;

    return c->ops->broadcast(c, w->value, w->nparams * sizeof *w->value, 0, e) ||
           c->ops->broadcast(c, w->state, w->nstate * sizeof *w->state, 0, e) ? -1 : 0;
}

#define MOST_BATCHES 16

/* Every number of images that a replica has in a step. */
static int list_batches(const struct session *s, const struct shard_plan *plan, int *list)
{
    int parts = s->config->train.accumulate, n = 0;

    for (size_t step = 0; step < plan->steps; step += plan->steps > 1 ? plan->steps - 1 : 1)
        for (int i = 0; i < plan->parts * parts; i++) {
            struct shard_range all = shard_train(plan, step, i / parts);
            struct shard_range r = shard_eval(all.end - all.begin, parts, i % parts);
            int batch = (int)(r.end - r.begin), k = 0;
            while (k < n && list[k] != batch)
                k++;
            if (batch > 0 && k == n && n < MOST_BATCHES)
                list[n++] = batch;
        }
    return n;
}

/* To all ranks what rank 0 knows. */
static int share_choices(struct session *s, struct err *e)
{
    struct comm *c = s->comm;
    struct device *d;
    const struct device_ops *ops = network_device_ops(s->network, &d);
    char *text = c->rank == 0 ? ops->choices() : NULL;
    uint64_t n = text ? strlen(text) + 1 : 0;
    int rc = c->ops->broadcast(c, &n, sizeof n, 0, e);

    if (rc == 0 && c->rank > 0 && n > 0)
        text = malloc(n);
    if (rc == 0 && n > 0 && !text)
        rc = err_set(e, ERR_INTERNAL, "out of memory");
    if (rc == 0 && n > 0)
        rc = c->ops->broadcast(c, text, n, 0, e);
    if (rc == 0 && c->rank > 0 && n > 0 && ops->learn(text))
        log_warn("rank 0's choice of kernels can't be read; this rank chooses itself");
    free(text);
    return rc;
}

/* Kernels that were chosen by their time would differ between replicas, and with them what an image's
 * gradient is rounded to. Rank 0 takes the time, of a training's steps and of validation. */
static int choose_kernels(struct session *s, const struct shard_plan *plan, struct err *e)
{
    int batches[MOST_BATCHES + 1], n;

    if (!network_device(s->network) || s->comm->size == 1)
        return 0;
    n = list_batches(s, plan, batches);
    batches[n] = 1;
    for (int i = 0; i <= n; i++)
        if ((s->comm->rank == 0 && network_choose(s->network, i < n, batches[i], e)) ||
            share_choices(s, e))
            return -1;
    return 0;
}

static int check_interrupt(const struct session *s, struct err *e)
{
    return s->interrupt && *s->interrupt ? comm_set_interrupted(e, *s->interrupt) : 0;
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

    if (network_wait(s->network, &s->at.loss, e))
        return -1;
    optim_settle(s->optim);
    int rc = resume_write(s, items, must, e);
    s->last_checkpoint = clock_now();
    trace_span(s->trace, TRACE_STEPS, "checkpoint", began, s->last_checkpoint);
    return rc;
}

/* 1: all replicas leave here. since: when s->at.seconds was right. */
static int heed_votes(struct session *s, const struct shard_plan *plan, double since, struct err *e)
{
    double seconds = s->at.seconds;
    struct linked *l = &s->linked;

    if (l->steps) /* s->at.step has been counted on: of the step that all know by now */
        memcpy(s->votes, l->votes[(s->at.step - 1 - DEVICE_SLOTS) % LINKED_STEPS], sizeof s->votes);
    bool leave = s->votes[0] > 0;
    if (!leave && !(s->votes[1] > 0))
        return 0;
    s->at.seconds += clock_now() - since;
    int rc = write_checkpoint(s, shard_train(plan, s->at.step, 0).begin, leave, e);
    s->at.seconds = seconds;
    memset(l->votes, 0, sizeof l->votes); /* those under way are cast again */
    return rc ? -1 : leave;
}

static int train_steps(struct session *s, const struct shard_plan *plan, struct progress *progress,
                       double began, struct err *e)
{
    int epoch = s->at.epoch;

    while (s->at.step < plan->steps) {
        size_t step = s->at.step;
        struct shard_range range = shard_train(plan, step, s->comm->rank);
        size_t items = shard_train(plan, step, plan->parts - 1).end -
                       shard_train(plan, step, 0).begin;
        double rate = schedule_rate(&s->schedule, epoch, step, plan->steps) *
                      goal_rate(&s->goal, &s->at.goal);
        if (s->first_step_at == 0)
            s->first_step_at = clock_now();
        if (step_train(s, range, items, rate, e) || check_interrupt(s, e) ||
            check_loss(s->at.loss, epoch, step, rate, e))
            return -1;
        if (s->record) {
            progress_step(progress, epoch, step + 1, plan->steps);
            if (record_progress(s->record, epoch, step + 1, plan->steps, e))
                return -1;
        }
        int rc = heed_votes(s, plan, began, e);
        if (rc)
            return rc;
    }
    return 0;
}

static int finish_epoch(struct session *s, const struct shard_plan *plan,
                        struct progress *progress, double seconds, struct err *e)
{
    struct comm *c = s->comm;
    double ended = clock_now();
    double sums[] = {s->at.loss, s->noise.shares.square, s->noise.shares.inverse_batch};
    double pixels = (double)plan->used * (double)network_targets(s->network);

    if (comm_sum_double(c, sums, 3, e) || comm_max_double(c, &seconds, 1, e) ||
        (s->counted && comm_sum_int64(c, s->score, score_size(s->config->data.classes), e)))
        return -1;
    if (!s->record)
        return 0;
    s->noise.shares.square = sums[1];
    s->noise.shares.inverse_batch = sums[2];
    const struct device_scaling *scaling = s->optim->scaling;
    struct record_epoch row = {
        .seconds = seconds, .loss = sums[0] / pixels, .lr = s->optim->rate, .images = plan->used,
        .steps = s->at.steps_before + plan->steps, .data_s = s->at.data_s,
        .compute_s = s->at.compute_s, .comm_s = s->at.comm_s, .wait_s = clock_now() - ended,
        .norms = gradient_noise_norms(&s->noise),
        .loss_scale = scaling ? (double)scaling->factor : 0, .left_out = scaling ? scaling->left_out : 0,
        .iou = s->counted ? score_summarize(s->score, s->config->data.classes).iou : 0};
    progress_epoch(progress, s->at.epoch, row.loss, seconds, (double)row.images / seconds);
    return record_epoch(s->record, &row, e);
}

/* The rest of an epoch that was divided otherwise when it began. */
static void continue_plan(const struct session *s, struct shard_plan *plan)
{
    bool drop = strcmp(s->config->data.remainder, "drop") == 0;

    shard_continue(plan, s->at.begin, run_config_step_images(s->config),
                   drop ? SHARD_DROP : SHARD_KEEP);
}

/* Is the network to be validated after so many epochs? */
static bool is_due(const struct session *s, int epochs)
{
    int every = s->config->train.eval_epochs;

    if (every == 0 && goal_is_watched(&s->goal))
        every = 1;
    return epochs == s->config->train.epochs || (every > 0 && epochs % every == 0);
}

/* whole: the plan of an epoch. 0, 1: all replicas leave, -1. */
static int train_epoch(struct session *s, const struct shard_plan *whole, struct progress *progress,
                       struct err *e)
{
    struct shard_plan plan = *whole;
    double began = clock_now();

    if (s->at.begin > 0)
        continue_plan(s, &plan);
    s->noise = (struct gradient_noise){0};
    s->counted = s->score && s->at.begin == 0 && s->at.step == 0;
    if (s->score)
        memset(s->score, 0, score_size(s->config->data.classes) * sizeof *s->score);
    memset(s->linked.votes, 0, sizeof s->linked.votes);
    loader_seek(s->loader, (size_t)s->at.epoch, &plan, s->at.step);
    int rc = train_steps(s, &plan, progress, began, e);
    if (rc)
        return rc;
    if (network_wait(s->network, &s->at.loss, e))
        return -1;
    if (finish_epoch(s, &plan, progress, s->at.seconds + clock_now() - began, e))
        return -1;
    s->at = (struct resume_point){.epoch = s->at.epoch + 1, .due = is_due(s, s->at.epoch + 1),
                                  .goal = s->at.goal, .bucket = s->at.bucket};
    int every = s->config->train.checkpoint_epochs;
    return every > 0 && s->at.epoch % every == 0 ? write_checkpoint(s, 0, false, e) : 0;
}

static int check_weights(const struct session *s, struct err *e)
{
    const struct weights *w = network_weights(s->network);

    for (size_t i = 0; i < w->nentries; i++) {
        const struct weights_entry *entry = &w->entries[i];
        const float *v = (entry->role == WEIGHTS_PARAM ? w->value : w->state) + entry->offset;
        for (size_t j = 0; j < entry->count; j++)
            if (!isfinite(v[j]))
                return err_set(e, ERR_INTERNAL, "%s is not finite after the last step: training "
                               "diverged; try a lower learning rate (train.lr, --lr)", entry->name);
    }
    return 0;
}

/* All validation images, each on one rank, counted together: s->evaluation. 1: a
 * replica was asked to leave. */
static int evaluate(struct session *s, struct record_end *end, struct err *e)
{
    struct weights *w = network_weights(s->network);
    struct comm *c = s->comm;
    struct evaluation *v = &s->evaluation;
    size_t size = score_size(s->config->data.classes);
    double leave = 0;

    if (c->ops->broadcast(c, w->state, w->nstate * sizeof *w->state, 0, e) || check_weights(s, e))
        return -1;
    end->val_images = v->images;
    struct shard_range mine = shard_eval(end->val_images, c->size, c->rank);
    evaluate_clear(v);
    double began = clock_now();
    for (size_t i = mine.begin; i < mine.end && leave == 0; i++) {
        if (check_interrupt(s, e) || evaluate_image(v, i, e))
            return -1;
        leave = s->request && *s->request;
    }
    if (evaluate_wait(v, e))
        return -1;
    end->test_time = clock_now() - began;
    if (comm_sum_int64(c, v->scores, end->val_images * size, e) ||
        comm_max_double(c, &end->test_time, 1, e) || comm_max_double(c, &leave, 1, e))
        return -1;
    end->score = v->scores + end->val_images * size;
    evaluate_sum(v->scores, end->val_images, s->config->data.classes, end->score);
    return leave > 0;
}

static int write_weights(struct session *s, const char *dir, char sha256[65], struct err *e)
{
    const struct settings *c = s->config;
    char *names[SETTINGS_CLASSES_MAX];
    struct checkpoint_classes classes = {
        .names = names, .count = dataset_classes(s->dataset), .ignore = c->data.ignore,
        .file = (char *)(uintptr_t)dataset_class_file(s->dataset),
        .soft_masks = c->data.soft_masks};

    for (int i = 0; i < classes.count; i++)
        names[i] = (char *)(uintptr_t)dataset_class_name(s->dataset, i);
    return checkpoint_write(dir, &s->network_config, &classes, network_weights(s->network), sha256,
                            e);
}

/* Of a prediction that gives every class the same chance everywhere. */
static double constant_loss(const struct network_config *c)
{
    double ce = log(c->classes > 1 ? c->classes : 2);

    return (c->loss == LOSS_DICE ? 0 : ce) + (c->loss == LOSS_CE ? 0 : 1);
}

/* A loss that is finite says nothing yet. */
static void judge_loss(const struct session *s, struct record_end *end)
{
    size_t n;
    const struct record_epoch *epochs = record_epochs(s->record, &n);
    size_t last = s->goal.keep_best ? (size_t)s->at.goal.best_epoch : n;
    double constant = constant_loss(&s->network_config);

    if (last == 0 || last > n || epochs[last - 1].loss <= constant)
        return;
    snprintf(end->warning, sizeof end->warning,
             "the training loss of epoch %zu is %.4g, above the %.4g of a constant prediction: the "
             "network has learnt nothing, or training diverged; try a lower learning rate "
             "(train.lr, --lr), or more epochs", last, epochs[last - 1].loss, constant);
    log_warn("%s", end->warning);
}

static int write_results(struct session *s, struct record_end *end, struct err *e)
{
    struct score_summary summary = score_summarize(end->score, s->config->data.classes);
    char dir[PATH_MAX], path[PATH_MAX];

    log_info("validation: IoU %.4f, Dice %.4f, precision %.4f, recall %.4f, accuracy %.4f over %zu "
             "images", summary.iou, summary.dice, summary.precision, summary.recall,
             summary.accuracy, end->val_images);
    evaluate_warn(end->score, s->config->data.classes, s->dataset);
    judge_loss(s, end);
    snprintf(path, sizeof path, "%s/images.csv", record_dir(s->record));
    if (record_check(s->record, e) ||
        evaluate_write(path, s->dataset, DATASET_VAL, s->config->data.classes,
                       s->evaluation.scores, e))
        return -1;

    snprintf(dir, sizeof dir, "%s/checkpoint", record_dir(s->record));
    if (record_check(s->record, e) ||
        write_weights(s, dir, end->weights_sha256, e))
        return -1;
    return check_interrupt(s, e) || record_done(s->record, end, e) ? -1 : 0;
}

/* What a run with more epochs continues from. One state is enough of a run that is done. */
static int write_last_state(struct session *s, struct err *e)
{
    char dir[PATH_MAX];

    if (write_checkpoint(s, 0, false, e))
        return -1;
    if (s->record) {
        snprintf(dir, sizeof dir, "%s/checkpoint", record_dir(s->record));
        snapshot_clean(dir, true);
    }
    return 0;
}

/* The best weights so far outlive a training that fails, be it by a rate that was too high. */
static void rescue_best(struct session *s, struct err *e)
{
    struct weights *w = network_weights(s->network);
    char dir[PATH_MAX], sha256[65];
    struct err cause = *e, why;
    double loss = 0;

    if (!s->best_value || s->at.goal.best_epoch == 0 || network_wait(s->network, &loss, &why))
        return;
    memcpy(w->value, s->best_value, w->nparams * sizeof *w->value);
    memcpy(w->state, s->best_state, w->nstate * sizeof *w->state);
    /* Not among the checkpoints: no training continues from there. */
    snprintf(dir, sizeof dir, "%s/best", record_dir(s->record));
    if (record_check(s->record, &why) ||
        write_weights(s, dir, sha256, &why) ||
        record_kept(s->record, &s->goal, &s->at.goal, sha256, &why)) {
        log_warn("the best weights are lost: %s", why.text);
        return;
    }
    err_set(e, cause.code, "%s; the best weights, those after epoch %d, are in %s", cause.text,
            s->at.goal.best_epoch, dir);
}

static int make_plan(const struct session *s, struct shard_plan *plan, struct err *e)
{
    const struct settings *c = s->config;
    bool drop = strcmp(c->data.remainder, "drop") == 0;
    size_t images = dataset_count(s->dataset, DATASET_TRAIN);

    return shard_plan(images, (size_t)c->data.repeat, s->comm->size, run_config_step_images(c),
                      drop ? SHARD_DROP : SHARD_KEEP, plan, e);
}

static int make_schedule(struct session *s, struct err *e)
{
    const struct settings *c = s->config;

    s->schedule = (struct schedule){
        .base = c->train.lr, .epochs = c->train.epochs,
        .gpus = c->train.rate_gpus      ? c->train.rate_gpus
                : c->train.global_batch ? 1
                                        : c->layout.gpus,
        .scaling = strcmp(c->train.lr_scaling, "linear") == 0       ? SCHEDULE_SCALE_LINEAR
                   : strcmp(c->train.lr_scaling, "sqrt") == 0       ? SCHEDULE_SCALE_SQRT
                   : strcmp(c->train.lr_scaling, "two-thirds") == 0 ? SCHEDULE_SCALE_TWO_THIRDS
                                                                    : SCHEDULE_SCALE_NONE,
        .shape = strcmp(c->train.lr_schedule, "step") == 0      ? SCHEDULE_STEP
                 : strcmp(c->train.lr_schedule, "step-tf") == 0 ? SCHEDULE_STEP_TF
                                                                : SCHEDULE_CONSTANT,
        .warmup_epochs = c->train.warmup_epochs,
        .warmup_by_epoch = strcmp(c->train.warmup, "epoch") == 0};
    if (s->goal.plateau)
        s->schedule.shape = SCHEDULE_CONSTANT;
    return *c->train.lr_steps ? schedule_parse(&s->schedule, c->train.lr_steps, e) : 0;
}

/* Every rank adds up the same losses in the same order, so they do not depend on their number. */
static int tell_eval(struct session *s, const struct score_summary *summary, struct err *e)
{
    struct image_loss *losses = s->evaluation.losses;
    size_t n = s->end.val_images, each = sizeof *losses / sizeof(double);
    struct image_loss all = {0};

    if (comm_sum_double(s->comm, (double *)losses, n * each, e))
        return -1;
    for (size_t i = 0; i < n; i++)
        image_loss_sum(&all, &losses[i]);
    enum loss kind = s->network_config.loss;
    struct record_eval line = {
        .summary = *summary, .seconds = s->end.test_time,
        .loss = image_loss_mean(&all, kind != LOSS_DICE, kind != LOSS_CE)};
    return s->record ? record_eval(s->record, s->at.epoch, &line, e) : 0;
}

static void copy_weights(const struct session *s, float *value, float *state)
{
    const struct weights *w = network_weights(s->network);

    memcpy(value, w->value, w->nparams * sizeof *value);
    memcpy(state, w->state, w->nstate * sizeof *state);
}

/* The quality after an epoch; maybe the training ends with it. 1: all replicas leave. */
static int validate(struct session *s, struct err *e)
{
    double began = clock_now();
    int rc = evaluate(s, &s->end, e);

    trace_span(s->trace, TRACE_STEPS, "validate", began, clock_now());
    if (rc > 0)
        return write_checkpoint(s, 0, true, e) ? -1 : 1;
    if (rc)
        return -1;
    struct score_summary summary = score_summarize(s->end.score, s->config->data.classes);
    if (goal_note(&s->goal, &s->at.goal, s->at.epoch, &summary) && s->best_value)
        copy_weights(s, s->best_value, s->best_state);
    s->at.due = false;
    return tells_evals(s) ? tell_eval(s, &summary, e) : 0;
}

/* The best weights become the result, with the scores they have. 1: all replicas leave; the last
 * state is written. */
static int restore_best(struct session *s, struct err *e)
{
    struct weights *w = network_weights(s->network);

    if (!s->goal.keep_best || s->at.goal.best_epoch == s->at.epoch)
        return 0;
    if (s->record) {
        memcpy(w->value, s->best_value, w->nparams * sizeof *w->value);
        memcpy(w->state, s->best_state, w->nstate * sizeof *w->state);
        log_info("the best weights are those after epoch %d", s->at.goal.best_epoch);
    }
    return share_weights(s, e) ? -1 : evaluate(s, &s->end, e);
}

static int train_and_evaluate(struct session *s, const struct shard_plan *plan,
                              struct progress *progress, struct err *e)
{
    int rc = 0, epochs = s->config->train.epochs;

    s->end = (struct record_end){.dataset = s->dataset, .goal = &s->goal, .state = &s->at.goal};
    if (s->at.goal.stopped || s->at.epoch == epochs)
        s->at.due = true; /* by a process that did not write the results */
    while (rc == 0 && (s->at.due || (s->at.epoch < epochs && !s->at.goal.stopped)))
        rc = s->at.due ? validate(s, e) : train_epoch(s, plan, progress, e);
    if (rc == 0)
        rc = write_last_state(s, e);
    if (rc == 0)
        rc = restore_best(s, e);
    if (rc)
        return rc;
    s->end.startup_s = s->first_step_at ? s->first_step_at - s->process_start : 0;
    if (s->record && write_results(s, &s->end, e))
        return -1;
    return s->comm->ops->barrier(s->comm, e); /* nobody is content before the results are written */
}

static void open_progress(const struct session *s, const struct shard_plan *plan,
                          struct progress *progress)
{
    double done = s->at.epoch;

    if (plan->steps > 0)
        done += (double)shard_train(plan, s->at.step, 0).begin / (double)plan->used;
    progress_open(progress, stderr, s->config->train.epochs);
    progress_skip(progress, done / s->config->train.epochs);
}

/* Before anything is decoded: is there memory for a step, with the images that are loaded ahead? */
static int check_room(const struct session *s, int sharers, struct err *e)
{
    const struct settings *c = s->config;
    const struct network_config *n = &s->network_config;
    size_t all = dataset_count(s->dataset, DATASET_TRAIN) * (size_t)c->data.repeat;
    size_t step = MIN((size_t)run_config_step_batch(c), MAX(all / (size_t)c->layout.gpus, 1));
    size_t parts = (size_t)c->train.accumulate;
    size_t numbers = (size_t)n->height * (size_t)n->width * (size_t)n->channels +
                     network_targets(s->network);

    return network_check_room(s->network, (int)((step + parts - 1) / parts),
                              numbers * sizeof(float) * (parts > 1 ? 3 * parts : 2), sharers, e);
}

/* All ranks have room for a step before the first of them decodes an image. */
static int prepare(struct session *s, struct err *e)
{
    struct roster roster = {0};
    struct comm *c = s->comm;

    if (open_session(s, e) || call_roll(s, &roster, e))
        return -1;
    int sharers = roster_sharers(&roster, c->rank);
    int rc = check_room(s, sharers, e) || c->ops->barrier(c, e) ? -1 : 0;
    if (rc == 0)
        rc = dataset_load(s->dataset, sharers / s->config->layout.gpus_per_task, e);
    if (rc && e->code == ERR_INTERRUPT && !(s->interrupt && *s->interrupt))
        err_set(e, ERR_RESUMABLE, "left before the first step, as a signal asked");
    if (rc == 0 && s->record)
        rc = write_head(s, &roster, e);
    roster_destroy(&roster);
    return rc;
}

int session_run(struct session *s, struct err *e)
{
    struct shard_plan plan;
    struct progress progress;

    int rc = prepare(s, e);
    if (rc == 0 && s->config->train.trace) {
        s->trace = trace_open(s->out, s->comm->rank, s->host, e);
        rc = s->trace ? 0 : -1;
    }
    if (rc || step_place_gradients(s, e) || make_plan(s, &plan, e) || make_schedule(s, e) ||
        resume_read(s, e) || share_weights(s, e) || choose_kernels(s, &plan, e) ||
        exchange_begin(&s->exchange, s->config, network_weights(s->network), s->at.bucket, e) ||
        open_loader(s, &plan, e))
        return -1;
    s->last_checkpoint = clock_now();
    open_progress(s, &plan, &progress);
    rc = train_and_evaluate(s, &plan, &progress, e);
    if (rc < 0 && e->code != ERR_RESUMABLE)
        rescue_best(s, e);
    if (s->record)
        progress_close(&progress);
    return rc;
}
