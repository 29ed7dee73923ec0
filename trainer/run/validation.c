/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/run/validation.h"

#include <math.h>
#include <string.h>

#include "src/clock.h"
#include "src/log.h"
#include "trainer/data/set/loader.h"

int validation_open(struct validation *v, bool losses, struct err *e)
{
    const struct training *t = v->t;

    return evaluate_open(&v->images, t->network, v->network, t->dataset, losses, e);
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
        c->ops->broadcast(c, w->state, w->nstate * sizeof *w->state, 0, e) ||
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

    if (!dataset_has_masks(t->dataset))
        return 0;
    if (evaluate_open(own, t->network, v->network, t->dataset, false, e))
        return -1;
    struct shard_range mine = shard_eval(own->images, t->comm->size, t->comm->rank);
    struct err why;
    double failed = 0;
    for (size_t i = mine.begin; i < mine.end && !failed; i++) {
        if (err_interrupt(e, v->interrupt))
            return -1;
        failed = evaluate_image_own(own, i, -1, NULL, &why) != 0;
    }
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
