/* SPDX-License-Identifier: BSD-3-Clause */
/* Validations, what they decide, and the results at the end. */
#include "src/base.h"
#include "trainer/run/run_internal.h"

#include "src/clock.h"
#include "trainer/checkpoint/checkpoint.h"

static const struct { const char *name; size_t offset; } metrics[] = {
    {"iou", offsetof(struct score_summary, iou)},
    {"dice", offsetof(struct score_summary, dice)},
    {"precision", offsetof(struct score_summary, precision)},
    {"recall", offsetof(struct score_summary, recall)},
    {"accuracy", offsetof(struct score_summary, accuracy)},
    {"acc", offsetof(struct score_summary, accuracy)},
};
#define NMETRICS (sizeof metrics / sizeof *metrics)

static double metric_value(const struct goal *g, const struct score_summary *s)
{
    for (size_t i = 0; i < NMETRICS; i++)
        if (strcmp(g->metric, metrics[i].name) == 0)
            return *(const double *)((const char *)s + metrics[i].offset);
    return 0;
}

bool goal_is_watched(const struct goal *g)
{
    return g->metric || g->patience || g->plateau || g->keep_best;
}

double goal_rate(const struct goal *g, const struct goal_state *state)
{
    return state->cuts ? pow(g->factor, state->cuts) : 1;
}

bool goal_note(const struct goal *g, struct goal_state *state, int epochs,
               const struct score_summary *s)
{
    double quality = g->by_accuracy ? s->accuracy : s->iou;

    bool better = state->best_epoch == 0 || quality > state->best;

    if (better) {
        state->best = quality;
        state->best_epoch = epochs;
    }
    if (g->metric && !state->reached && metric_value(g, s) >= g->value)
        state->reached = epochs;
    state->stopped = state->reached > 0 ||
                     (g->patience > 0 && epochs - state->best_epoch >= g->patience);
    int since = state->cut_epoch > state->best_epoch ? state->cut_epoch : state->best_epoch;
    if (g->plateau > 0 && epochs - since >= g->plateau) {
        state->cuts++;
        state->cut_epoch = epochs;
    }
    return better;
}

#define INTERVAL_S 1.0
#define INTERVALS 20

int limit_open(struct limit *l, const struct settings *c, int64_t done, double seconds,
               struct err *e)
{
    *l = (struct limit){.steps = c->limit.steps, .seconds = 60 * c->limit.minutes, .done = done,
                        .before = done, .seconds_before = seconds};
    if (l->steps == 0 || done < l->steps)
        return 0;
    return err_set(e, ERR_CHECKPOINT, "the checkpoint has %" PRId64 " steps, and limit.steps ends "
                   "the run after %" PRId64 ": raise it (--set limit.steps=N), or start anew", done,
                   l->steps);
}

bool limit_is_set(const struct limit *l)
{
    return l->steps > 0 || l->seconds > 0;
}

bool limit_is_over(const struct limit *l)
{
    return l->seconds > 0 && l->seconds_before + clock_now() - l->began >= l->seconds;
}

void limit_continue(struct limit *l)
{
    l->began += clock_now() - l->paused;
}

static int write_interval(struct limit *l, double now, struct run_log *log, struct err *e)
{
    double seconds = now - l->began;
    size_t images = l->images;

    l->seconds_before += seconds;
    l->before = l->done;
    l->images = 0;
    l->began = now;
    return run_log_steps(log, l->done, seconds, images, e);
}

/* Of the last interval the steps may not be complete yet: limit_pause writes it. */
static bool is_due(const struct limit *l, double now)
{
    double seconds = l->seconds > 0 ? fmin(INTERVAL_S, l->seconds / INTERVALS) : INTERVAL_S;

    return !l->reached && limit_is_set(l) &&
           (now - l->began >= seconds ||
            (l->steps > 0 && (l->done - l->before) * INTERVALS >= l->steps));
}

int limit_count(struct limit *l, size_t images, struct run_log *log, struct err *e)
{
    double now = clock_now();

    l->done++;
    l->images += images;
    l->reached |= l->steps > 0 && l->done >= l->steps;
    return log && is_due(l, now) ? write_interval(l, now, log, e) : 0;
}

int limit_pause(struct limit *l, struct run_log *log, struct err *e)
{
    l->paused = clock_now();
    return log && l->reached && l->done > l->before ? write_interval(l, l->paused, log, e) : 0;
}

/* Everything is written by rank 0, from its own weights. */

static int write_weights(const struct training *t, const struct network_config *network,
                         const char *dir, char sha256[65], struct err *e)
{
    const struct settings *c = t->config;
    char *names[SETTINGS_CLASSES_MAX];
    struct checkpoint_classes classes = {
        .names = names, .count = dataset_classes(t->dataset), .ignore = c->data.ignore,
        .file = (char *)(uintptr_t)dataset_class_file(t->dataset),
        .soft_masks = c->data.soft_masks, .native = dataset_is_native(t->dataset)};

    const struct picture_levels *levels = dataset_levels(t->dataset);
    bool none = levels->values[1] <= levels->values[0]; /* auto is full range then */
    snprintf(classes.scale, sizeof classes.scale, "%s",
             none && strcmp(c->data.scale, "auto") == 0 ? "full" : c->data.scale);
    memcpy(classes.levels, levels->values, sizeof classes.levels);
    classes.bits = levels->bits;
    for (int i = 0; i < classes.count; i++)
        names[i] = (char *)(uintptr_t)dataset_class_name(t->dataset, i);
    return checkpoint_write(dir, network, &classes, network_weights(t->network), sha256, e);
}

/* Returns a bound for the loss of a network that has learnt nothing, summed over the parts of the
 * loss: cross-entropy, times the focal factor, is that of equal probabilities for all classes, Dice
 * is 1, the maximum. */
static double constant_loss(const struct network_config *c)
{
    double n = c->classes > 1 ? c->classes : 2, ce = log(n) * pow(1 - 1 / n, c->focal_gamma);

    return (c->loss == LOSS_DICE ? 0 : ce) + (c->loss == LOSS_CE ? 0 : 1);
}

/* Warns, also in end->warning, if the training loss of the epoch whose weights are the result is
 * above constant_loss. */
static void warn_of_loss(const struct training *t, const struct network_config *network,
                           struct run_log_end *end)
{
    size_t n;
    const struct run_log_epoch *epochs = run_log_epochs(t->log, &n);
    size_t last = end->goal->keep_best ? (size_t)t->at.goal.best_epoch : n;
    double constant = constant_loss(network);

    if (last == 0 || last > n || epochs[last - 1].loss <= constant)
        return;
    snprintf(end->warning, sizeof end->warning,
             "the training loss of epoch %zu is %.4g, above the %.4g of a constant prediction: the "
             "network has learnt nothing, or training diverged; try a lower learning rate "
             "(train.lr, --lr), or more epochs", last, epochs[last - 1].loss, constant);
    log_warn("%s", end->warning);
}

static void write_examples(const struct training *t, struct evaluation *v)
{
    char dir[PATH_MAX];
    struct err why;

    snprintf(dir, sizeof dir, "%s/examples", run_log_dir(t->log));
    if (examples_write(dir, v, t->config->data.scale, (uint64_t)t->config->seed, &why))
        log_warn("no example pictures: %s", why.text);
}

int results_write(const struct training *t, struct evaluation *v, struct run_log_end *end,
                  struct err *e)
{
    struct score_summary summary = score_summarize(end->score, t->config->data.classes);
    char dir[PATH_MAX], path[PATH_MAX], size[48] = "";

    if (dataset_is_native(t->dataset))
        snprintf(size, sizeof size, "each image's own size, in tiles of ");
    log_info("validation at %s%d x %d: IoU %.4f, Dice %.4f, precision %.4f, recall %.4f, accuracy "
             "%.4f over %zu images", size, v->config->height, v->config->width, summary.iou, summary.dice,
             summary.precision, summary.recall, summary.accuracy, end->val_images);
    if (end->own_score && end->own_score != end->score) {
        summary = score_summarize(end->own_score, t->config->data.classes);
        log_info("masks at each image's own size: IoU %.4f, Dice %.4f", summary.iou, summary.dice);
    }
    evaluate_warn(end->score, t->config->data.classes, t->dataset);
    warn_of_loss(t, v->config, end);
    snprintf(path, sizeof path, "%s/images.csv", run_log_dir(t->log));
    if (run_log_check(t->log, e) ||
        evaluate_write(path, t->dataset, t->config->data.classes, v->scores, e))
        return -1;

    snprintf(dir, sizeof dir, "%s/checkpoint", run_log_dir(t->log));
    if (run_log_check(t->log, e) || weights_pull(network_weights(t->network), e) ||
        write_weights(t, v->config, dir, end->weights_sha256, e))
        return -1;
    write_examples(t, v);
    return 0;
}

void results_rescue(const struct training *t, const struct network_config *network,
                    const struct goal *goal, struct err *e)
{
    struct weights *w = network_weights(t->network);
    char dir[PATH_MAX], sha256[65];
    struct err cause = *e, why;
    double loss = 0;

    if (!t->best_value || t->at.goal.best_epoch == 0 || network_wait(t->network, &loss, &why))
        return;
    memcpy(w->value, t->best_value, w->nparams * sizeof *w->value);
    memcpy(w->state, t->best_state, w->nstate * sizeof *w->state);
    /* The folder checkpoint/ is for complete runs. */
    snprintf(dir, sizeof dir, "%s/best", run_log_dir(t->log));
    if (run_log_check(t->log, &why) ||
        write_weights(t, network, dir, sha256, &why) ||
        run_log_kept(t->log, goal, &t->at.goal, sha256, &why)) {
        log_warn("cannot write the best weights: %s", why.text);
        return;
    }
    err_set(e, cause.code, "%s; the best weights, those after epoch %d, are in %s", cause.text,
            t->at.goal.best_epoch, dir);
}

int validation_open(struct validation *v, bool losses, struct err *e)
{
    const struct training *t = v->t;

    if (evaluate_open(&v->images, t->network, v->network, t->dataset, losses, e))
        return -1;
    v->images.interrupt = v->interrupt;
    return 0;
}

void validation_close(struct validation *v)
{
    evaluate_close(&v->images);
    evaluate_close(&v->own);
}

static int check_weights(const struct training *t, struct err *e)
{
    const struct weights *w = network_weights(t->network);

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

/* Scores all images at the network's size, each on one rank, and sums the scores. Returns 1 if a
 * replica was asked to leave. */
static int score_all(struct validation *v, struct err *e)
{
    struct weights *w = network_weights(v->t->network);
    struct comm *c = v->t->comm;
    struct run_log_end *end = v->end;
    int classes = v->t->config->data.classes;
    double leave = 0;

    if (weights_pull(w, e) ||
        c->ops->broadcast(c, w->state, w->nstate * sizeof *w->state, e) ||
        mirror_push(&w->states, e) || check_weights(v->t, e) || evaluate_clear(&v->images, e))
        return -1;
    end->val_images = v->images.images;
    struct shard_range mine = shard_eval(end->val_images, c->size, c->rank);
    double began = clock_now();
    for (size_t i = mine.begin; i < mine.end && leave == 0; i++) {
        if (err_interrupt(e, v->interrupt) || evaluate_image(&v->images, i, e))
            return -1;
        leave = v->request && *v->request;
    }
    if (evaluate_wait(&v->images, e))
        return -1;
    end->test_time = clock_now() - began;
    if (comm_sum_int64(c, v->images.scores, end->val_images * score_size(classes), e) ||
        comm_max_double(c, &end->test_time, 1, e) || comm_max_double(c, &leave, 1, e))
        return -1;
    end->score = evaluate_total(&v->images);
    return leave > 0;
}

int validation_score_own(struct validation *v, struct err *e)
{
    const struct training *t = v->t;
    struct evaluation *own = &v->own;
    int classes = t->config->data.classes;

    if (dataset_is_native(t->dataset))
        v->end->own_score = v->end->score;
    if (dataset_is_native(t->dataset) || !dataset_has_masks(t->dataset))
        return 0;
    if (evaluate_open(own, t->network, v->network, t->dataset, false, e))
        return -1;
    struct shard_range mine = shard_eval(own->images, t->comm->size, t->comm->rank);
    struct err why;
    double failed = evaluate_own(own, mine.begin, mine.end, -1, v->interrupt, &why) != 0;
    if (err_interrupt(e, v->interrupt))
        return -1;
    if (failed)
        log_warn("no score at the images' own size: %s", why.text);
    if (comm_max_double(t->comm, &failed, 1, e))
        return -1;
    if (failed)
        return 0;
    if (comm_sum_int64(t->comm, own->scores, own->images * score_size(classes), e))
        return -1;
    v->end->own_score = evaluate_total(own);
    return 0;
}

/* Returns whether the record has a validation after the present epoch, from the checkpoint. */
static bool has_eval(const struct training *t)
{
    size_t n = 0, epochs = (size_t)t->at.epoch;
    const struct run_log_epoch *rows = run_log_epochs(t->log, &n);

    return epochs > 0 && epochs <= n && rows[epochs - 1].eval.seconds > 0;
}

/* Records the validation, unless it is repeated and the record has it. Every rank adds the losses
 * of all images in the same order, so that the sum does not depend on the number of ranks. */
static int record(const struct validation *v, const struct score_summary *summary, bool repeated,
                  struct err *e)
{
    struct image_loss *losses = v->images.losses, all = {0};
    size_t n = v->end->val_images, each = sizeof *losses / sizeof(double);

    if (comm_sum_double(v->t->comm, (double *)losses, n * each, e))
        return -1;
    for (size_t i = 0; i < n; i++)
        image_loss_sum(&all, &losses[i]);
    enum loss kind = v->network->loss;
    struct run_log_eval line = {
        .summary = *summary, .seconds = v->end->test_time,
        .loss = image_loss_mean(&all, kind != LOSS_DICE, kind != LOSS_CE)};
    if (!v->t->log || (repeated && has_eval(v->t)))
        return 0;
    return run_log_eval(v->t->log, v->t->at.epoch, &line, e);
}

int validation_run(struct validation *v, bool repeated, struct err *e)
{
    struct training *t = v->t;
    const struct weights *w = network_weights(t->network);
    int rc = score_all(v, e);

    if (rc)
        return rc;
    struct score_summary summary = score_summarize(v->end->score, t->config->data.classes);
    if (goal_note(v->goal, &t->at.goal, t->at.epoch, &summary) && t->best_value) {
        memcpy(t->best_value, w->value, w->nparams * sizeof *w->value);
        memcpy(t->best_state, w->state, w->nstate * sizeof *w->state);
    }
    t->at.due = false;
    return v->images.losses ? record(v, &summary, repeated, e) : 0;
}

int validation_restore_best(struct validation *v, struct err *e)
{
    const struct training *t = v->t;
    struct weights *w = network_weights(t->network);

    if (!v->goal->keep_best || t->at.goal.best_epoch == t->at.epoch)
        return 0;
    if (t->log) {
        memcpy(w->value, t->best_value, w->nparams * sizeof *w->value);
        memcpy(w->state, t->best_state, w->nstate * sizeof *w->state);
        log_info("the best weights are those after epoch %d", t->at.goal.best_epoch);
    }
    return resume_share_weights(t, e) ? -1 : score_all(v, e);
}
