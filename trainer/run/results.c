/* SPDX-License-Identifier: BSD-3-Clause */
/* Everything is written by rank 0, from its own weights. */
#include "config.h"
#include "trainer/run/results.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/log.h"
#include "src/mem.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/evaluate/evaluate.h"

static int write_weights(const struct training *t, const struct network_config *network,
                         const char *dir, char sha256[65], struct err *e)
{
    const struct settings *c = t->config;
    char *names[SETTINGS_CLASSES_MAX];
    struct checkpoint_classes classes = {
        .names = names, .count = dataset_classes(t->dataset), .ignore = c->data.ignore,
        .file = (char *)(uintptr_t)dataset_class_file(t->dataset),
        .soft_masks = c->data.soft_masks};

    snprintf(classes.scale, sizeof classes.scale, "%s", c->data.scale);
    for (int i = 0; i < classes.count; i++)
        names[i] = (char *)(uintptr_t)dataset_class_name(t->dataset, i);
    return checkpoint_write(dir, network, &classes, network_weights(t->network), sha256, e);
}

/* Returns a bound for the loss of a network that has learnt nothing, summed over the parts of the
 * loss: cross-entropy is that of equal probabilities for all classes, Dice is 1, the maximum. */
static double constant_loss(const struct network_config *c)
{
    double ce = log(c->classes > 1 ? c->classes : 2);

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
    char dir[PATH_MAX], path[PATH_MAX];

    log_info("validation at %d x %d: IoU %.4f, Dice %.4f, precision %.4f, recall %.4f, accuracy %.4f "
             "over %zu images", v->config->height, v->config->width, summary.iou, summary.dice,
             summary.precision, summary.recall, summary.accuracy, end->val_images);
    if (end->own_score) {
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
