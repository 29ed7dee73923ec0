/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/plan/plan_advice.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "launcher/plan/data_look.h"
#include "launcher/plan/data_split.h"
#include "launcher/plan/run_cost.h"
#include "src/plural.h"

static void add_advice(struct plan_advice *dst, const char *fmt,
                       ...) __attribute__((format(printf, 2, 3)));
static void add_advice(struct plan_advice *dst, const char *fmt, ...)
{
    va_list ap;

    if (dst->count == PLAN_ADVICE_MAX)
        return;
    va_start(ap, fmt);
    vsnprintf(dst->text[dst->count++], sizeof *dst->text, fmt, ap);
    va_end(ap);
}

/* Counts training and validation images, from split.json if it exists (dst->exact), otherwise by an
 * estimate. Adds advice about faults of the data. */
static void count_images(const struct study *s, struct plan_advice *dst)
{
    struct data_look look;
    struct err e;
    json_t *root;

    bool looked = data_look_count(s, &look, &e) == 0;
    if (looked && data_look_complaint(&look, s))
        add_advice(dst, "%s: %s", s->data.dir, data_look_complaint(&look, s));
    if (data_split_read(s, &root, &e)) {
        add_advice(dst, "%s", e.text);
        return;
    }
    if (root) {
        dst->train = (long)json_array_size(json_object_get(root, "train"));
        dst->val = (long)json_array_size(json_object_get(root, "val"));
        dst->exact = true;
        json_decref(root);
        return;
    }
    if (!looked) {
        add_advice(dst, "%s", e.text);
        return;
    }
    dst->val = look.val ? (long)look.val : (long)(s->data.val_fraction * (double)look.images +
                                                  1e-6);
    if (dst->val == 0 && look.images > 1)
        dst->val = 1;
    dst->train = look.train ? (long)look.train : look.val ? 0 : (long)look.images - dst->val;
    if (look.images == 0)
        add_advice(dst, "%s/images holds no image files", s->data.dir);
    else if (look.unpaired)
        add_advice(dst, "%s: %zu image%s or mask%s without a partner of the same name, such as %s",
                   s->data.dir,
                   look.unpaired, plural(look.unpaired), plural(look.unpaired), look.odd);
}

/* The GPU counts to which an advice applies, each once. */
struct counts {
    char text[128];
    int last;
};

static void add_count(struct counts *c, int gpus)
{
    size_t n = strlen(c->text);

    if (gpus == c->last)
        return;
    c->last = gpus;
    if (n < sizeof c->text - 16)
        snprintf(c->text + n, sizeof c->text - n, "%s%d", n ? ", " : "", gpus);
    else if (strcmp(c->text + n - 3, "...") != 0)
        strcpy(c->text + n, " ...");
}

static const char *gpus_word(const struct counts *c)
{
    return strcmp(c->text, "1") == 0 ? "GPU" : "GPUs";
}

/* Adds advice about the runs with these settings. */
static void advise_batches(const struct study *s, const struct plan *plan,
                           struct plan_advice *dst)
{
    struct counts odd = {"", 0}, idle = {"", 0}, short_all = {"", 0}, blind = {"", 0};
    bool drop = strcmp(s->data.remainder, "drop") == 0;
    long images = dst->train * s->data.repeat;
    bool shared = !s->train.batch_per_gpu && strcmp(s->engine, "embedded") == 0;
    char batch[48]; /* as text: "16" or "16 x GPUs" */

    snprintf(batch, sizeof batch, shared ? "%d" : "%d x GPUs",
             s->train.batch_per_gpu ? s->train.batch_per_gpu : s->train.global_batch);
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->runs[i].study->variant != s->variant)
            continue;
        int gpus = plan->runs[i].layout.gpus;
        long global = plan_run_batch(&plan->runs[i]).global, rest = images % global;
        /* steps whose sizes differ by at most one image */
        long steps = (images + global - 1) / global;
        if (!drop && images / steps < gpus)
            add_count(&idle, gpus);
        else if (images < global)
            add_count(&short_all, gpus);
        else if (rest)
            add_count(&odd, gpus);
        if (dst->val < gpus)
            add_count(&blind, gpus);
    }
    if (*short_all.text && drop)
        add_advice(dst, "%ld training images do not fill a global batch (%s) on %s %s, "
                   "and data.remainder is drop: nothing would be trained; lower the batch or raise "
                   "data.repeat", images, batch, short_all.text, gpus_word(&short_all));
    else if (*short_all.text)
        add_advice(dst, "%ld training images do not fill a global batch (%s) on %s %s: every step "
                   "is a short one; lower the batch or raise data.repeat", images, batch,
                   short_all.text, gpus_word(&short_all));
    if (*odd.text)
        add_advice(dst, "%ld training images are not a multiple of the global batch (%s) on %s %s: "
                   "the %s", images, batch, odd.text, gpus_word(&odd),
                   drop ? "last step of an epoch is dropped (data.remainder)"
                        : "steps are a little shorter, weighted by their real counts");
    if (*idle.text)
        add_advice(dst, "%ld training images make steps of fewer images than GPUs on %s %s: some "
                   "GPUs idle", images, idle.text, gpus_word(&idle));
    if (*blind.text)
        add_advice(dst, "there are fewer validation images (%ld) than ranks on %s %s: some ranks "
                   "evaluate nothing", dst->val, blind.text, gpus_word(&blind));
}

/* Puts the names of variants before the text. */
static void name_variants(const struct plan *p, const bool *is_about, char text[PLAN_ADVICE_SIZE])
{
    char names[PLAN_ADVICE_SIZE] = "", was[PLAN_ADVICE_SIZE];

    for (size_t v = 0, n = 0; v < p->nvariants && n < sizeof names; v++)
        if (is_about[v])
            n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "variant ",
                                  p->variants[v].name);
    memcpy(was, text, sizeof was);
    if (snprintf(text, sizeof was, "%s: %s", names, was) < 0)
        *text = 0;
}

/* Adds advice about the runs of each variant of the same images, with the names of the variants
 * unless it is about all. */
static void advise_variants(const struct plan *plan, struct plan_advice *dst)
{
    bool is_about[PLAN_ADVICE_MAX][VARIANTS_MAX] = {0};
    size_t first = dst->count;

    for (size_t v = 0; v < plan->nvariants; v++) {
        const struct study *own = &plan->variants[v].study;
        struct plan_advice one = {.train = dst->train, .val = dst->val};
        if (strcmp(own->data.dir, plan->study.data.dir) == 0)
            advise_batches(own, plan, &one);
        for (size_t i = 0; i < one.count; i++) {
            size_t k = first;
            while (k < dst->count && strcmp(dst->text[k], one.text[i]) != 0)
                k++;
            if (k == dst->count)
                add_advice(dst, "%s", one.text[i]);
            if (k < dst->count)
                is_about[k][v] = true;
        }
    }
    for (size_t k = first; k < dst->count; k++)
        if (memchr(is_about[k], 0, plan->nvariants))
            name_variants(plan, is_about[k], dst->text[k]);
}

static void advise_disk(const struct plan *plan, struct plan_advice *dst)
{
    double need = (double)run_cost_disk(&plan->study, &dst->model, plan->options.time_min) *
                      (double)plan->count +
                  (double)run_cost_cache(&plan->study, plan, dst->train + dst->val);
    struct statvfs fs;

    if (statvfs(plan->study.dir, &fs) == 0 && (double)fs.f_bavail * (double)fs.f_frsize < need)
        add_advice(dst,
                   "the runs write up to %.1f MiB, but the file system of %s has %.1f MiB left",
                   need / 1048576, plan->study.dir, (double)fs.f_bavail * (double)fs.f_frsize /
                   1048576);
}

/* Warns if this host lacks the trainer program that the site names, which may be on the nodes
 * only. */
static void advise_trainer(const struct plan *plan, struct plan_advice *dst)
{
    for (size_t i = 0; *plan->site.trainer && i < plan->count; i++) {
        if (study_engine(&plan->study, plan->runs[i].engine->name) ||
            access(plan->site.trainer, X_OK) == 0)
            continue;
        add_advice(dst, "%s: trainer: %s: %s; unless the nodes have it every run fails at once",
                   plan->site.file, plan->site.trainer, strerror(errno));
        return;
    }
}

bool plan_advice_time(const struct plan *p, char dst[256])
{
    const struct settings_program *section = study_engine(&p->study, p->study.engine);
    long limit_s = 60L * p->options.time_min;

    if ((section && !section->resumes) || !limit_s || limit_s > p->study.slurm.signal_s)
        return false;
    snprintf(dst, 256, "the time limit (%d min) is not longer than slurm.signal_s (%d s): a run "
             "gets the signal to leave as soon as it begins; raise slurm.time, or lower "
             "slurm.signal_s", p->options.time_min, p->study.slurm.signal_s);
    return true;
}

void plan_advice_collect(const struct plan *plan, struct plan_advice *dst)
{
    struct err ignored;

    *dst = (struct plan_advice){0};
    if (study_runs_trainer(&plan->study))
        (void)model_look_open(&plan->study, false, &dst->model, &ignored);
    if (study_has_images(&plan->study))
        count_images(&plan->study, dst);
    if (dst->train > 0 && plan->nvariants)
        advise_variants(plan, dst);
    else if (dst->train > 0)
        advise_batches(&plan->study, plan, dst);
    advise_trainer(plan, dst);
    compute_look_open(&plan->study, &plan->site, &dst->compute);
    if (*dst->compute.problem)
        add_advice(dst, "%s%s%s", dst->compute.problem, *dst->compute.remedy ? "; " : "",
                   dst->compute.remedy);
    if (!plan->options.time_min && strcmp(plan->scheduler, "local") != 0)
        add_advice(dst, "no time limit is set: the partition's applies, and the cost of the runs "
                   "is unknown; set slurm.time in study.yaml, or -- --time=H:MM:SS");
    char text[256];
    if (plan_advice_time(plan, text))
        add_advice(dst, "%s", text);
    advise_disk(plan, dst);
}
