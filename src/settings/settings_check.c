/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/settings/settings.h"

#include "src/run/schedule.h"

/* Returns whether text is what one value of a need asks for (struct setting_need). */
static bool matches(const char *value, const char *text)
{
    size_t n = strlen(value);

    if (*value == '>')
        return strtod(text, NULL) > strtod(value + 1, NULL);
    if (*value == '/')
        return atoi(text) % atoi(value + 1) == 0;
    if (strcmp(value, NEED_MODEL_FILE) == 0)
        return settings_model_is_file(text);
    if (n > 0 && value[n - 1] == '*')
        return *text && strncmp(value, text, n - 1) == 0;
    return strcmp(value, text) == 0;
}

/* Returns 1 if the settings have what the need alone asks for, 0 if not, -1 if that is unknown. */
static int is_met(const struct setting *table, const struct setting_need *need, const void *src,
                  int gpus)
{
    const struct setting *s = setting_find(table, need->path);
    bool is_count = strcmp(need->path, NEED_GPUS) == 0;
    struct buf text = {0};
    int met = 0;

    if (is_count ? gpus == 0 : !s)
        return -1;
    if (is_count)
        buf_addf(&text, "%d", gpus);
    else
        setting_format(s, src, &text);
    for (const char *const *v = need->values; *v; v++)
        met |= matches(*v, text.data ? text.data : "");
    if (text.failed)
        met = -1;
    buf_destroy(&text);
    return met;
}

static bool is_neutral(const struct setting *s, const void *src)
{
    struct buf text = {0};

    setting_format(s, src, &text);
    bool neutral = text.failed || (s->neutral && strcmp(text.data ? text.data : "", s->neutral) == 0);
    buf_destroy(&text);
    return neutral;
}

const struct setting_need *need_unmet(const struct setting *table, const struct setting *s,
                                      const void *src, int gpus)
{
    const struct setting_need *first = s->needs;

    if (!first || setting_is_preset(s, src) || is_neutral(s, src))
        return NULL;
    while (first->path) {
        const struct setting_need *n = first;
        bool met = false, known = false;

        for (bool more = true; more; n++) {
            int one = is_met(table, n, src, gpus);
            met |= one == 1;
            known |= one == 0;
            more = n->or_next;
        }
        if (known && !met)
            return first;
        first = n;
    }
    return NULL;
}

static void add_values(const struct setting_need *need, const char *between, struct buf *dst)
{
    for (const char *const *v = need->values; *v; v++)
        buf_addf(dst, "%s%s", v == need->values ? "" : between, *v);
}

static bool is_absence(const struct setting_need *need)
{
    return !*need->values[0] || strcmp(need->values[0], "false") == 0;
}

static void describe_one(const struct setting_need *need, struct buf *dst)
{
    const char *value = need->values[0], *leaf = setting_leaf(need->path);

    if (is_absence(need))
        buf_addf(dst, "without %s", leaf);
    else if (*value == '>')
        buf_addf(dst, "%s > %s", leaf, value + 1);
    else if (*value == '/' || isdigit((unsigned char)*value))
        buf_addf(dst, "%s %s", leaf, value + (*value == '/'));
    else
        add_values(need, ", ", dst);
}

void need_describe(const struct setting *s, struct buf *dst)
{
    const char *before = s->needs && is_absence(s->needs) ? "" : "for ";
    size_t start = dst->length;

    for (const struct setting_need *need = s->needs; need && need->path; need++) {
        const char *as = need->as;

        if (!as || *as)
            buf_add(dst, before);
        if (as)
            buf_add(dst, as);
        else
            describe_one(need, dst);
        while (as && need->or_next)
            need++;
        before = need->or_next ? " or " : " and ";
    }
    if (dst->length > start)
        buf_add(dst, ": ");
}

/* Adds a need, and the next one where either suffices, as a part of a sentence: "train.optimizer
 * sgd or lars". Keys that the table does not have are left out. */
static void explain(const struct setting *table, const struct setting_need *need, struct buf *dst)
{
    const char *before = "";

    for (bool more = true; more; more = need->or_next, need++) {
        const char *value = need->values[0];
        bool is_count = strcmp(need->path, NEED_GPUS) == 0;

        if (!is_count && !setting_find(table, need->path))
            continue;
        buf_add(dst, before);
        before = ", or ";
        if (is_count)
            buf_add(dst, need->as);
        else if (!*value)
            buf_addf(dst, "no %s", need->path);
        else if (*value == '*')
            buf_add(dst, need->path);
        else if (*value == '>')
            buf_addf(dst, "%s above %s", need->path, value + 1);
        else if (*value == '/')
            buf_addf(dst, "%s in multiples of %s", need->path, value + 1);
        else
            buf_addf(dst, "%s ", need->path), add_values(need, " or ", dst);
    }
}

int need_check(const struct setting *table, const struct setting *s, const void *src, int gpus,
               struct err *e)
{
    const struct setting_need *need = need_unmet(table, s, src, gpus);
    struct buf value = {0}, wanted = {0}, found = {0};

    if (!need)
        return 0;
    const struct setting *other = setting_find(table, need->path);
    setting_format(s, src, &value);
    explain(table, need, &wanted);
    if (other)
        setting_format(other, src, &found);
    else
        buf_addf(&found, "%d", gpus);
    err_set(e, ERR_CONFIG, "%s %s has no effect: it needs %s, and %s is %s; leave %s out, or change "
            "%s", s->path, value.data ? value.data : "", wanted.data ? wanted.data : "",
            other ? other->path : "the largest number of GPUs",
            found.data && *found.data ? found.data : "not set", s->path,
            other ? other->path : "the numbers of GPUs (gpus, --gpus)");
    buf_destroy(&value);
    buf_destroy(&wanted);
    buf_destroy(&found);
    return -1;
}

/* ---- rules between settings ---- */

/* Reads numbers from 0 to max, with commas; the first `most` of them go to dst. Returns how many
 * there are, 0 if the text is empty, or -1 with ERR_CONFIG, also if all are 0. */
static int parse_weights(const char *path, const char *text, double max, int most, double *dst,
                         struct err *e)
{
    const char *at = text;
    bool positive = false;
    int n = 0;
    char *end;

    if (!text || !*text)
        return 0;
    for (;; at = end + 1) {
        double v = strtod(at, &end);
        if (end == at || (*end && *end != ',') || !(v >= 0 && v <= max))
            return err_set(e, ERR_CONFIG, "%s: '%s' is not a list of numbers from 0 to %g, such as "
                           "1,2.5", path, text, max);
        if (n < most)
            dst[n] = v;
        n++;
        positive |= v > 0;
        if (!*end)
            break;
    }
    return positive ? n
                    : err_set(e, ERR_CONFIG, "%s: '%s' leaves nothing to learn; at least one must "
                              "be above 0", path, text);
}

int settings_check_tversky(const struct settings *c, double dst[2], struct err *e)
{
    int n = parse_weights("train.tversky", c->train.tversky, 10, 2, dst, e);

    if (n == 0)
        dst[0] = dst[1] = 0;
    if (n <= 0 || n == 2)
        return n < 0 ? -1 : 0;
    return err_set(e, ERR_CONFIG, "train.tversky: '%s' is %d number%s, not the weights of false "
                   "positives and false negatives, such as 0.3,0.7", c->train.tversky, n, plural(n));
}

int settings_check_weights(const struct settings *c, float dst[SETTINGS_CLASSES_MAX],
                           struct err *e)
{
    double weights[SETTINGS_CLASSES_MAX];
    int want = c->data.classes == 1 ? 2 : c->data.classes;
    int n = parse_weights("train.class_weights", c->train.class_weights, 1e6,
                          SETTINGS_CLASSES_MAX, weights, e);

    for (int i = 0; i < n && i < SETTINGS_CLASSES_MAX; i++)
        dst[i] = (float)weights[i];
    return n <= 0 || n == want
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
    if (c->data.folds == 1)
        return refuse(e, "data.folds", "one fold leaves no image for training; set 2 or more, or 0 for "
                      "none");
    if (c->data.folds && c->data.fold > c->data.folds)
        return refuse(e, "data.fold", "it must be from 1 to data.folds");
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
    double tversky[2];
    struct goal goal;

    if (!c->train.global_batch && !c->train.batch_per_gpu)
        return refuse(e, "train.global_batch", "it must be 1 or more where train.batch_per_gpu is "
                      "0");
    if (*c->train.lr_steps && *c->train.lr_plateau)
        return refuse(e, "train.lr_steps", "it excludes train.lr_plateau; set one of them");
    if (settings_check_weights(c, weights, e) < 0)
        return "train.class_weights";
    if (settings_check_tversky(c, tversky, e))
        return "train.tversky";
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
