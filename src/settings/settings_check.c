/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "src/settings/settings_check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "src/plural.h"
#include "src/run/goal_text.h"

int settings_check_weights(const struct settings *c, float dst[SETTINGS_CLASSES_MAX],
                           struct err *e)
{
    int n = 0, want = c->data.classes == 1 ? 2 : c->data.classes;
    const char *text = c->train.class_weights;
    bool positive = false;
    char *end;

    if (!text || !*text)
        return 0;
    for (;; text = end + 1) {
        double v = strtod(text, &end);
        if (end == text || (*end && *end != ',') || !(v >= 0 && v <= 1e6))
            return err_set(e, ERR_CONFIG, "train.class_weights: '%s' is not a list of numbers, "
                           "0 or more, such as 1,2.5", c->train.class_weights);
        if (n < SETTINGS_CLASSES_MAX)
            dst[n] = (float)v;
        n++;
        positive |= v > 0;
        if (!*end)
            break;
    }
    if (!positive)
        return err_set(e, ERR_CONFIG, "train.class_weights: '%s' leaves nothing to learn; at least "
                       "one must be above 0", c->train.class_weights);
    return n == want
               ? n
               : err_set(e, ERR_CONFIG, "train.class_weights: %d weights for %d classes%s", n, want,
                         want == 2 && c->data.classes == 1 ? " (background, foreground)" : "");
}

/* Says what is wrong with the setting of this path, and returns the path. */
static const char *refuse(struct err *e, const char *path, const char *reason)
{
    err_set(e, ERR_CONFIG, "%s: %s", path, reason);
    return path;
}

static const char *check_data(const struct settings *c, struct err *e)
{
    if (c->augment.six && c->data.height != c->data.width)
        return refuse(e, "augment.six", "quarter turns need square images, but data.height and "
                      "data.width differ");
    if (strcmp(c->data.scale, "zscore") == 0 &&
        (c->augment.brightness > 0 || c->augment.contrast > 0))
        return refuse(e, "data.scale", "zscore excludes augment.brightness and contrast, which are "
                      "made for images from 0 to 1; use range or percentile");
    if (c->data.soft_masks && (c->data.classes > 1 || *c->data.ignore || *c->data.class_file))
        return refuse(e, "data.soft_masks", "grey values have no meaning where values stand for "
                      "classes (data.classes, data.ignore, data.class_file)");
    return NULL;
}

const char *settings_check(const struct settings *c, struct err *e)
{
    float weights[SETTINGS_CLASSES_MAX];
    struct goal goal;

    if (!c->train.global_batch && !c->train.batch_per_gpu)
        return refuse(e, "train.global_batch", "it must be 1 or more where train.batch_per_gpu is "
                      "0");
    if (*c->train.lr_steps && *c->train.lr_plateau)
        return refuse(e, "train.lr_steps", "it excludes train.lr_plateau; set one of them");
    if (settings_check_weights(c, weights, e) < 0)
        return "train.class_weights";
    if (goal_text_parse(&goal, c->train.until, c->train.patience, e))
        return "train.until";
    if (goal_text_parse_plateau(&goal, c->train.lr_plateau, e))
        return "train.lr_plateau";
    return check_data(c, e);
}

int settings_check_comm(const struct settings *c, int gpus, int tasks, struct err *e)
{
    const char *comm = c->train.comm;

    if ((strcmp(comm, "self") == 0 && gpus > 1) || (strcmp(comm, "mpi") == 0 && tasks != gpus))
        return err_set(e, ERR_CONFIG, "train.comm: %s cannot connect %d task%s with %d GPU%s each; "
                       "use auto", comm, tasks, plural(tasks), gpus / tasks,
                       plural(gpus / tasks));
    if (strcmp(comm, "mpi") == 0 && gpus > 1 && strcmp(c->train.backend, "cuda") == 0)
        return err_set(e, ERR_CONFIG, "train.comm: mpi sums on the CPU, and several GPUs need "
                       "nccl; use auto");
    if (strcmp(comm, "nccl") == 0 && strcmp(c->train.backend, "cuda") != 0 &&
        strcmp(c->train.backend, "auto") != 0)
        return err_set(e, ERR_CONFIG, "train.comm: nccl connects GPUs (train.backend: cuda), but "
                       "train.backend is %s", c->train.backend);
    return 0;
}
