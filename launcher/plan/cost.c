/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/plan/cost.h"

#include <math.h>
#include <sys/statvfs.h>

#include "launcher/host/jsonio.h"
#include "launcher/host/path.h"
#include "launcher/plan/begin.h"
#include "launcher/script/template.h"
#include "launcher/stage/stage.h"

/* ---- cost ---- */

#define BLOCK 4096
#define PROGRESS_S 2       /* interval of progress lines in record.jsonl, in seconds */
#define PROGRESS_BYTES 80
#define EPOCH_BYTES 400    /* lines of one epoch in record.jsonl and log.csv */
#define UNLIMITED_MIN 1440 /* assumed if no time limit is known */
/* blocks of run.json, two scripts, the job's files and output, the markers DONE and FAILED, and
 * folders */
#define SMALL_FILES 12
#define SNAPSHOTS 3        /* two are kept while a third is written */
#define AUTO_MEMORY (256LL << 20)
#define TENSOR_BYTES 128   /* entry of a tensor in the header of weights and snapshots */

double run_cost_gpu_hours(const struct plan *plan, const struct run *run)
{
    const struct layout *l = &run->layout;
    bool whole = strcmp(plan->scheduler, "local") != 0 &&
                 job_needs_whole_nodes(&plan->options, l->nodes, l->tasks);
    int gpus = whole ? l->nodes * (int)plan->site.gpus_per_node : l->gpus;

    return gpus * (plan->options.time_min / 60.0);
}

static int64_t round_to_blocks(int64_t bytes)
{
    return (bytes + BLOCK - 1) / BLOCK * BLOCK;
}

int64_t run_cost_disk(const struct study *study, const struct model_look *m, int time_min)
{
    int64_t minutes = time_min ? time_min : UNLIMITED_MIN;
    int64_t weights = 4 * (m->parameters + m->state) + TENSOR_BYTES * m->tensors;
    int64_t record = minutes * 60 / PROGRESS_S * PROGRESS_BYTES + study->train.epochs * EPOCH_BYTES;

    /* The optimizer's state has up to two more numbers per parameter (Adam). */
    int64_t snapshot = weights + 2 * (4 * m->parameters + TENSOR_BYTES * m->tensors) + BLOCK;

    return round_to_blocks(weights) + SNAPSHOTS * round_to_blocks(snapshot) +
           round_to_blocks(record) + SMALL_FILES * (int64_t)BLOCK;
}

int64_t run_cost_cache(const struct study *study, const struct plan *plan, int64_t pixels)
{
    /* Resized images and their masks are stored as floats, and so are those of 16 bits. */
    int64_t bytes = pixels * (study->data.channels + 1) * 4;
    int most = 1;

    for (size_t i = 0; i < plan->count; i++)
        if (plan->runs[i].layout.tasks_per_node > most)
            most = plan->runs[i].layout.tasks_per_node;
    if (strcmp(study->data.cache, "off") == 0 ||
        (strcmp(study->data.cache, "auto") == 0 && bytes * most <= AUTO_MEMORY))
        return 0;
    return round_to_blocks(bytes) * (study->data.folds ? study->data.folds : 1);
}

int64_t run_cost_stage(const struct study *study)
{
    char split[PATH_MAX];
    struct stage_list list;
    struct err ignored;
    int64_t bytes = 0;

    if (!*study->data.stage)
        return 0;
    path_format(split, "%s/split.json", study->dir);
    if (stage_list_read(&list, split, &ignored))
        return path_measure(study->data.dir, true);
    (void)!stage_list_measure(&list, study->data.dir, &bytes, &ignored);
    stage_list_destroy(&list);
    return bytes;
}

static double total_hours(const struct plan *plan, int most_gpus)
{
    double hours = 0;

    for (size_t i = 0; i < plan->count; i++)
        if (plan->runs[i].layout.gpus <= most_gpus)
            hours += run_cost_gpu_hours(plan, &plan->runs[i]);
    return hours;
}

/* Formats the counts of the plan up to most_gpus as a list for --gpus. */
static void encode_counts(const struct plan *plan, int most_gpus, char *dst, size_t size)
{
    size_t n = 0;
    int first = 0, last = 0;

    *dst = 0;
    for (size_t i = 0; i <= plan->count; i++) {
        int gpus = i < plan->count ? plan->runs[i].layout.gpus : 0;
        if (gpus == last && gpus)
            continue;
        if (first && gpus == last + 1 && gpus <= most_gpus) {
            last = gpus;
            continue;
        }
        if (first && n < size)
            n += (size_t)snprintf(dst + n, size - n, first == last ? "%s%d" : "%s%d..%d",
                                  n ? "," : "", first, last);
        first = last = gpus <= most_gpus ? gpus : 0;
    }
}

int run_cost_decimals(double hours)
{
    return hours < 0.1 ? 3 : 1;
}

/* Says which part of the plan would fit. Returns false if none does. */
static bool describe_fit(const struct plan *plan, bool by_count, double max_gpu_hours,
                         char dst[240])
{
    char counts[160];
    bool fits = false;
    int most = 0;

    for (size_t i = 0; i < plan->count; i++) {
        fits |= run_cost_gpu_hours(plan, &plan->runs[i]) <= max_gpu_hours;
        if (plan->runs[i].layout.gpus > most &&
            total_hours(plan, plan->runs[i].layout.gpus) <= max_gpu_hours)
            most = plan->runs[i].layout.gpus;
    }
    if (by_count && most) {
        double hours = total_hours(plan, most);
        encode_counts(plan, most, counts, sizeof counts);
        snprintf(dst, 240, "--gpus %s (%.*f) would fit", counts, run_cost_decimals(hours), hours);
        return true;
    }
    snprintf(dst, 240, "%s", by_count ? "no count of the list fits"
                             : fits   ? "fewer RUNs would fit" : "no run of them fits");
    return fits && !by_count;
}

int run_cost_limit(const char *what, double hours, int time_min, double max_gpu_hours,
                   const char *fit, struct err *e)
{
    double beyond = hours - max_gpu_hours;

    if (!time_min)
        return err_set(e, ERR_CONFIG, "--max-gpu-hours %g: there is no time limit, so %s may cost "
                       "anything; give one (slurm.time in study.yaml, or -- --time=H:MM:SS)",
                       max_gpu_hours, what);
    return beyond <= 0 ? 0
           : err_set(e, ERR_CONFIG, "%s may cost %.*f GPU-hours (time limit %d:%02d h x GPUs, "
                     "summed), %.*f more than --max-gpu-hours %g; %s a time limit of %d minutes "
                     "would", what, run_cost_decimals(hours), hours, time_min / 60, time_min % 60,
                     run_cost_decimals(beyond), beyond, max_gpu_hours, fit,
                     (int)(time_min * max_gpu_hours / hours));
}

int run_cost_check(const struct plan *plan, bool by_count, double max_gpu_hours, struct err *e)
{
    char fit[256];
    bool fits = describe_fit(plan, by_count, max_gpu_hours, fit);

    strcat(fit, fits ? ", as" : ", but");
    return run_cost_limit("the runs", total_hours(plan, INT32_MAX), plan->options.time_min,
                          max_gpu_hours, fit, e);
}

/* ---- the split of the data ---- */

#define MAX_SPLIT ((size_t)1 << 30)

/* Sets *dst to the split of a fold, or of all runs, which the caller releases, or to NULL if the
 * study has none yet. Returns 0, or -1 with ERR_DATA if it is damaged or has another schema. */
static int data_split_read(const struct study *s, int fold, json_t **dst, struct err *e)
{
    char file[PATH_MAX];

    *dst = NULL;
    plan_split_file(s, fold, file);
    if (access(file, F_OK))
        return 0;
    *dst = jsonio_read(file, MAX_SPLIT, e);
    return *dst ? 0 : -1;
}

/* Warns of settings of the split that differ from those that split.json was made with. */
static void warn_of_split(const struct study *s, const json_t *split)
{
    const char *group = jsonio_text(split, "group");
    json_int_t seed = json_integer_value(json_object_get(split, "seed")); /* 0: given by lists */
    double fraction = json_number_value(json_object_get(split, "val_fraction"));

    if (strcmp(group, s->data.group) != 0 ||
        (seed && (seed != s->data.split_seed ||
                  (!s->data.folds && fabs(fraction - s->data.val_fraction) > 1e-9))))
        log_warn("%s/split.json keeps its images, although data.group, data.split_seed or "
                 "data.val_fraction differs from what it was made with; remove it to divide them "
                 "anew, which gives other results than those of earlier runs", s->dir);
}

/* Refuses files of another division into folds. */
static int check_fold(const struct study *s, int fold, struct err *e)
{
    char file[PATH_MAX];
    json_t *root;

    if (data_split_read(s, fold, &root, e))
        return -1;
    json_int_t folds = json_integer_value(json_object_get(root, "folds"));
    json_int_t is = json_integer_value(json_object_get(root, "fold"));
    bool differs = root && (folds != s->data.folds || (folds && is != fold));
    json_decref(root);
    plan_split_file(s, fold, file);
    return !differs ? 0
        : err_set(e, ERR_CONFIG, "%s: it was made with data.folds %d, and data.folds is %d; set "
                  "that back, or make another study with 'unetctl init'", file, (int)folds,
                  s->data.folds);
}

/* Checks that the data have what the network learns from: masks, or one class per image. */
static int check_split(const struct plan *p, struct err *e)
{
    const char *model = p->study.model.name;
    bool ours = strcmp(p->study.engine, "embedded") == 0;
    struct model_look look = {0};
    json_t *root;

    for (int fold = p->study.data.folds ? p->study.data.folds : 1; fold >= 1; fold--)
        if (check_fold(&p->study, fold, e))
            return -1;
    if (data_split_read(&p->study, 1, &root, e))
        return -1;
    if (root)
        warn_of_split(&p->study, root);
    bool has_classes = json_object_get(root, "classes") != NULL, known = root != NULL;
    json_decref(root);
    if (!ours)
        return 0;
    /* The usual model learns from masks. Asking unet-train about others takes as long as
     * everything else here. */
    if (strcmp(model, "unet") != 0 && model_look_open(&p->study, true, false, &look, e))
        return -1;
    bool wants_masks = !look.of_classes;
    if (!known || wants_masks != has_classes)
        return 0;
    return err_set(e, ERR_CONFIG, wants_masks
                       ? "model.name %s needs a mask for each image, and in %s an image has one "
                         "class as a whole: --model resnet44 (or 20, 32, 56, 110)"
                       : "model.name %s gives each image one class as a whole, and %s has masks: "
                         "--model unet", model, p->study.data.dir);
}

int data_split_make(const struct plan *p, struct err *e)
{
    char file[PATH_MAX], part[32], seed[32], classes[32], fold[32];
    int folds = p->study.data.folds;
    const char *argv[] = {"data", "split", "--data", p->study.data.dir, "--out", file,
                          "--image-folder", p->study.data.images, "--mask-folder",
                          p->study.data.masks,
                          "--group", p->study.data.group, folds ? "--folds" : "--val-fraction",
                          part, "--fold", fold, "--seed", seed, "--classes", classes,
                          "--ignore", p->study.data.ignore, "--class-file",
                          p->study.data.class_file,
                          p->study.data.soft_masks ? "--soft-masks" : NULL, NULL};

    if (!study_has_images(&p->study))
        return 0;
    snprintf(part, sizeof part, "%.17g", folds ? folds : p->study.data.val_fraction);
    snprintf(classes, sizeof classes, "%d", p->study.data.classes);
    snprintf(seed, sizeof seed, "%d", p->study.data.split_seed);
    for (int i = 1; i == 1 || i <= folds; i++) {
        snprintf(fold, sizeof fold, "%d", i);
        plan_split_file(&p->study, i, file);
        if (access(file, F_OK) == 0)
            continue;
        log_info("splitting %s into training and validation: %s", p->study.data.dir, file);
        if (trainer_program_run(argv, e))
            return -1;
    }
    return check_split(p, e);
}

/* ---- advice ---- */

__attribute__((format(printf, 2, 3)))
static void add_advice(struct plan_advice *dst, const char *fmt, ...)
{
    va_list ap;

    if (dst->count == PLAN_ADVICE_MAX)
        return;
    va_start(ap, fmt);
    vsnprintf(dst->text[dst->count++], sizeof *dst->text, fmt, ap);
    va_end(ap);
}

/* Returns the pixels of the decoded images: of patches those of the files. */
static int64_t count_pixels(const struct study *s, const json_t *split, long images)
{
    static const char *const parts[] = {"train", "val"};
    int64_t pixels = 0;
    const json_t *item;
    size_t i;

    if (!*s->data.patch)
        return (int64_t)images * s->data.height * s->data.width;
    for (size_t k = 0; k < 2; k++)
        json_array_foreach(json_object_get(split, parts[k]), i, item)
            pixels += jsonio_integer(item, "width") * jsonio_integer(item, "height");
    return pixels;
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
    if (data_split_read(s, 1, &root, &e)) {
        add_advice(dst, "%s", e.text);
        return;
    }
    if (root) {
        dst->train = (long)json_array_size(json_object_get(root, "train"));
        dst->val = (long)json_array_size(json_object_get(root, "val"));
        dst->pixels = count_pixels(s, root, dst->train + dst->val);
        dst->exact = true;
        json_decref(root);
        return;
    }
    if (!looked) {
        add_advice(dst, "%s", e.text);
        return;
    }
    double share = s->data.folds ? 1.0 / s->data.folds : s->data.val_fraction;
    dst->val = look.val ? (long)look.val : (long)(share * (double)look.images + 1e-6);
    if (dst->val == 0 && look.images > 1)
        dst->val = 1;
    dst->train = look.train ? (long)look.train : look.val ? 0 : (long)look.images - dst->val;
    dst->pixels = count_pixels(s, NULL, dst->train + dst->val);
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

static void advise_batches(const struct study *s, const struct plan *plan,
                           struct plan_advice *dst)
{
    struct counts odd = {"", 0}, idle = {"", 0}, short_all = {"", 0}, blind = {"", 0};
    bool drop = strcmp(s->data.remainder, "drop") == 0;
    bool patches = *s->data.patch;
    /* 0: unknown, as the images' sizes say how many patches there are */
    long images = (patches ? s->data.patches : dst->train) * s->data.repeat;
    const char *what = patches ? "patches of an epoch" : "training images";
    char batch[48]; /* as text: "16" or "16 x GPUs" */

    snprintf(batch, sizeof batch, plan_constant_batch(s) ? "%d" : "%d x GPUs",
             s->train.batch_per_gpu ? s->train.batch_per_gpu : s->train.global_batch);
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->runs[i].study->variant != s->variant)
            continue;
        int gpus = plan->runs[i].layout.gpus;
        long global = plan_run_batch(&plan->runs[i]).global, rest = images % global;
        /* steps whose sizes differ by at most one image */
        long steps = (images + global - 1) / global;
        if (images && !drop && images / steps < gpus)
            add_count(&idle, gpus);
        else if (images && images < global)
            add_count(&short_all, gpus);
        else if (rest)
            add_count(&odd, gpus);
        if (dst->val < gpus)
            add_count(&blind, gpus);
    }
    if (*short_all.text && drop)
        add_advice(dst, "%ld %s do not fill a global batch (%s) on %s %s, "
                   "and data.remainder is drop: nothing would be trained; lower the batch or raise "
                   "data.repeat", images, what, batch, short_all.text, gpus_word(&short_all));
    else if (*short_all.text)
        add_advice(dst, "%ld %s do not fill a global batch (%s) on %s %s: every step "
                   "is a short one; lower the batch or raise data.repeat", images, what, batch,
                   short_all.text, gpus_word(&short_all));
    if (*odd.text)
        add_advice(dst, "%ld %s are not a multiple of the global batch (%s) on %s %s: "
                   "the %s", images, what, batch, odd.text, gpus_word(&odd),
                   drop ? "last step of an epoch is dropped (data.remainder)"
                        : "steps are a little shorter, weighted by their real counts");
    if (*idle.text)
        add_advice(dst, "%ld %s make steps of fewer images than GPUs on %s %s: some "
                   "GPUs idle", images, what, idle.text, gpus_word(&idle));
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
                  (double)run_cost_cache(&plan->study, plan, dst->pixels);
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

/* Warns of a rank that gets several GPUs, and of engine command on several nodes, where it starts
 * one rank per GPU: of a script that is for several ranks with the command that starts them, of
 * other programs with the counts. */
static void advise_ranks(const struct plan *plan, struct plan_advice *dst)
{
    const struct settings_program *section = study_engine(&plan->study, plan->study.engine);
    const char *words[COMMAND_WORDS_MAX];
    struct counts wide = {"", 0}, copies = {"", 0};
    bool chosen = strcmp(plan->study.strategy, "auto") != 0;
    struct buf path = {0}, init = {0}, text = {0};
    size_t n = 0;

    for (size_t i = 0; i < plan->count; i++)
        if (plan->runs[i].layout.gpus_per_task > 1 && !plan->runs[i].engine->embedded)
            add_count(&wide, plan->runs[i].layout.gpus);
        else if (plan->runs[i].layout.nodes > 1 && !plan->runs[i].engine->is_python &&
                 !plan->runs[i].engine->rank_per_gpu && !plan->runs[i].engine->embedded && !chosen)
            add_count(&copies, plan->runs[i].layout.gpus);
    if (*copies.text)
        add_advice(dst, "engine %s: on %s %s a run has several nodes, and the program starts once "
                   "for each GPU; unless it divides the work by RANK and WORLD_SIZE, each copy "
                   "does all of it: plan only counts that one node has (%d GPU%s here), or name "
                   "the engine that starts its ranks, such as mpi", plan->study.engine, copies.text,
                   gpus_word(&copies), plan->site.gpus_per_node, plural(plan->site.gpus_per_node));
    if (!section || !*wide.text || !*section->script)
        return;
    words[n++] = section->script;
    for (size_t i = 0; i < section->args.count && n < COMMAND_WORDS_MAX; i++)
        words[n++] = section->args.lines[i];
    buf_addf(&path, "%s-ranks", plan->study.dir);
    template_add_sh(&init, "unetctl init %s", path.data ? path.data : "");
    if (!init.failed && begin_suggest(init.data, plan->study.engine, words, n, &text))
        add_advice(dst, "%s", text.data);
    else
        add_advice(dst, "engine %s starts one rank on a node: on %s %s it has several GPUs, which "
                   "the program itself must use; for one rank per GPU set engine: mpi or strategy: "
                   "multi-worker", plan->study.engine, wide.text, gpus_word(&wide));
    buf_destroy(&path);
    buf_destroy(&init);
    buf_destroy(&text);
}

/* Warns that nothing is read of a program's runs that write no log of a known form. */
static void advise_log(const struct study *s, struct plan_advice *dst)
{
    if (!study_runs_trainer(s) && !*s->log.file && !*s->log.pattern)
        add_advice(dst, "no log is named: nothing will be read of a run unless it writes log.csv, "
                   "or another log of a known form, into $UNETCTL_ATTEMPT_DIR; set log.pattern or "
                   "log.file ('unetctl init OTHER --try LOG -- ...' proposes it)");
}

void plan_advice_collect(const struct plan *plan, struct plan_advice *dst)
{
    struct err ignored;

    *dst = (struct plan_advice){0};
    if (study_runs_trainer(&plan->study))
        (void)model_look_open(&plan->study, false, false, &dst->model, &ignored);
    if (*plan->study.model.init && access(plan->study.model.init, R_OK) != 0)
        add_advice(dst, "model.init %s: %s; submit will refuse it", plan->study.model.init,
                   strerror(errno));
    if (study_has_images(&plan->study))
        count_images(&plan->study, dst);
    if (dst->train > 0 && plan->nvariants)
        advise_variants(plan, dst);
    else if (dst->train > 0)
        advise_batches(&plan->study, plan, dst);
    advise_trainer(plan, dst);
    advise_ranks(plan, dst);
    advise_log(&plan->study, dst);
    compute_look_open(&plan->study, &plan->site, &dst->compute);
    if (*dst->compute.problem)
        add_advice(dst, "%s%s%s", dst->compute.problem, *dst->compute.remedy ? "; " : "",
                   dst->compute.remedy);
    if (!plan->options.time_min && strcmp(plan->scheduler, "local") != 0)
        add_advice(dst, "%s, and the cost of the runs is unknown; set slurm.time in study.yaml, or "
                   "-- --time=H:MM:SS",
                   plan->options.unlimited ? "the time limit is UNLIMITED"
                                           : "no time limit is set: the partition's applies");
    char text[256];
    if (plan_advice_time(plan, text))
        add_advice(dst, "%s", text);
    advise_disk(plan, dst);
}
