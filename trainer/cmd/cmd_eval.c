/* SPDX-License-Identifier: BSD-3-Clause */
/* unet-train eval: scores a checkpoint on images. */
#include "src/base.h"

#include "src/atomicfile.h"
#include "src/clock.h"
#include "trainer/cmd/cmd.h"
#include "trainer/evaluate/evaluate.h"
#include "trainer/models/model.h"
#include "trainer/run/setup.h"

static struct {
    const char *checkpoint, *data, *split, *size, *ignore, *class_file;
    const char *images, *backend, *dtype;
    long threads, overlap;
    bool soft_masks, native, all, instances, json;
    struct source_folders folders;
} given = {.backend = "auto", .dtype = "auto", .overlap = -1};

static const struct cli_option options[] = {
    OPTIONS_CHECKPOINT(given.checkpoint),
    {"data", 'd', CLI_STRING, "DIR", "data folder, whose images are used except those of training",
     &given.data, 0, 0},
    {"all", 0, CLI_FLAG, NULL, "use the images that the run was trained on, too", &given.all, 0, 0},
    OPTIONS_FOLDERS(given.folders),
    {"split", 0, CLI_STRING, "FILE", "split.json, whose validation images are used", &given.split, 0,
     0},
    {"size", 's', CLI_STRING, "HxW", "size of the network's images (default: that of training)",
     &given.size, 0, 0},
    OPTIONS_NATIVE(given.native),
    OPTIONS_OVERLAP(given.overlap),
    {"soft-masks", 0, CLI_FLAG, NULL, "use grey mask values as value/255", &given.soft_masks, 0, 0},
    OPTIONS_BACKEND(given.backend),
    OPTIONS_DTYPE(given.dtype),
    OPTIONS_THREADS(given.threads),
    OPTIONS_IGNORE(given.ignore),
    OPTIONS_CLASS_FILE(given.class_file),
    {"images", 0, CLI_STRING, "FILE",
     "write the scores of each image to a CSV file (logs/SCHEMA.md)", &given.images, 0, 0},
    {"instances", 0, CLI_FLAG, NULL, "count objects: connected pixels of a class, F1 at IoU 0.5",
     &given.instances, 0, 0},
    OPTIONS_JSON(given.json),
    {0}};

static const char details[] =
    "Prints two scores. The first is at the network's size: images and masks are resized to it,\n"
    "as in training, and with the split and the size of a run it equals that of the run and of\n"
    "reports. The second is of the masks that `unet-train predict` writes: at each image's own\n"
    "size, compared with its mask there. They differ where images are larger than the network's:\n"
    "fine structures are lost in resizing. With --native, and always after a training on patches\n"
    "(data.patch), images keep their size and are cut into tiles of --size; the only score is of\n"
    "these masks, as `predict` writes them, and that of a run on patches.\n"
    "Pixel counts are summed over all images; iou = (I + 1) / (U + 1), dice = (2 I + 1) / (P +\n"
    "T + 1). With several classes, \"all\" is the mean over those that occur or are predicted, and\n"
    "a second mean leaves out the first class, the background. What each true class is predicted\n"
    "as, and with --instances how many objects agree by an IoU above 0.5, is of the last score.\n"
    "Masks are read as in training (model.json) unless options say otherwise. Where the weights\n"
    "lie in the folder of their run, images of --data that its split has for training are left\n"
    "out, and counted on stderr.\n"
    "\n"
    "  unet-train eval --checkpoint STUDY/runs/unet-g01-s1 --split STUDY/split.json --json\n";

static int configure_eval(struct network_config *config, struct err *e)
{
    if (!given.checkpoint)
        return err_set(e, ERR_USAGE, "eval: --checkpoint PATH is needed");
    if (given.images && atomicfile_check_new(given.images, e))
        return -1;
    if (!given.data && !given.split)
        return err_set(e, ERR_USAGE, "eval: give --data DIR or --split FILE, or both");
    if (given.all && given.split)
        return err_set(e, ERR_USAGE, "eval: --all is for --data alone: a split says which images "
                       "are used");
    *config = (struct network_config){.backend = given.backend, .threads = (int)given.threads};
    return options_network("eval", &given.dtype, given.size, config, e);
}

static void print_row(const char *name, const struct score_summary *s)
{
    char shown[FILENAME_TEXT_SIZE]; /* a class is often named by a folder */

    printf("%-8s %9.6f %9.6f %9.6f %9.6f\n", filename_escape(name, shown, sizeof shown), s->iou,
           s->dice, s->precision, s->recall);
}

/* An evaluation at one size. */
struct scoring {
    struct evaluation v;
    bool own;            /* at the images' own sizes */
    const char *where;   /* in words */
    const int64_t *total;
};

static void print_scores_table(const struct scoring *s, int classes, const struct dataset *ds)
{
    struct score_summary all = score_summarize(s->total, classes);

    printf("%s:\n%-8s %9s %9s %9s %9s\n", s->where, "class", "iou", "dice", "precision", "recall");
    for (int c = 0; c < classes && classes > 1; c++) {
        struct score_summary of = score_summarize_class(s->total, c);
        if (score_has(s->total, c))
            print_row(dataset_class_name(ds, c), &of);
    }
    print_row("all", &all);
    if (classes > 1) {
        char name[FILENAME_TEXT_SIZE + 16];
        snprintf(name, sizeof name, "without %s", dataset_class_name(ds, 0));
        all = score_summarize_foreground(s->total, classes);
        print_row(name, &all);
    }
    printf("accuracy %9.6f\n", all.accuracy);
}

/* Returns the name of a class in pairs and instances, which with one logit have the background. */
static const char *side_name(const struct dataset *ds, int classes, int i)
{
    return classes > 1 ? dataset_class_name(ds, i) : i ? "foreground" : "background";
}

#define SHOWN_CLASSES 12 /* in a table of pairs */

/* Prints which share of each class that occurs, in percent, is predicted as each. */
static void print_pairs(const int64_t *pairs, int classes, const struct dataset *ds)
{
    char shown[FILENAME_TEXT_SIZE];
    int n = confusion_side(classes);

    if (n > SHOWN_CLASSES) {
        printf("--json has what each of the %d classes is predicted as\n", n);
        return;
    }
    printf("true class (row), %% of it predicted as (column)\n%-12s", "");
    for (int i = 0; i < n; i++)
        printf(" %12.12s", filename_escape(side_name(ds, classes, i), shown, sizeof shown));
    printf("\n");
    for (int i = 0; i < n; i++) {
        int64_t all = 0;

        for (int k = 0; k < n; k++)
            all += pairs[i * n + k];
        if (all == 0)
            continue;
        printf("%-12.12s", filename_escape(side_name(ds, classes, i), shown, sizeof shown));
        for (int k = 0; k < n; k++)
            printf(" %12.2f", 100 * (double)pairs[i * n + k] / (double)all);
        printf("\n");
    }
}

/* Returns 2 TP / (2 TP + FP + FN); 1 if there is no object. */
static double f1_of(const struct instance_counts *c)
{
    return c->truth + c->pred ? 2 * (double)c->matched / (double)(c->truth + c->pred) : 1;
}

static void print_instances(const struct instance_counts *counts, int classes,
                            const struct dataset *ds)
{
    char shown[FILENAME_TEXT_SIZE];

    printf("objects, matched by an IoU above 0.5\n%-12s %9s %9s %9s %9s\n", "class", "true",
           "predicted", "matched", "f1");
    for (int i = 1; i < confusion_side(classes); i++)
        printf("%-12s %9" PRId64 " %9" PRId64 " %9" PRId64 " %9.6f\n",
               filename_escape(side_name(ds, classes, i), shown, sizeof shown), counts[i].truth,
               counts[i].pred, counts[i].matched, f1_of(&counts[i]));
}

/* Adds both to o; counts may be NULL. */
static void add_pairs_json(cJSON *o, const int64_t *pairs, const struct instance_counts *counts,
                           int classes, const struct dataset *ds)
{
    cJSON *rows = cjson_array(o, "confusion"), *list = counts ? cjson_array(o, "instances") : NULL;
    int n = confusion_side(classes);

    for (int i = 0; i < n; i++) {
        cJSON *row = cjson_object(rows, NULL);

        cjson_addf(row, "name=%s", side_name(ds, classes, i));
        cJSON *predicted = cjson_array(row, "predicted");
        for (int k = 0; k < n; k++)
            cjson_add(predicted, NULL, cJSON_CreateNumber((double)pairs[i * n + k]));
        if (counts && i > 0)
            cjson_addf(cjson_object(list, NULL), "class=%d name=%s truth=%" PRId64 " pred=%" PRId64
                       " matched=%" PRId64 " f1=%g", i, side_name(ds, classes, i), counts[i].truth,
                       counts[i].pred, counts[i].matched, f1_of(&counts[i]));
    }
}

static size_t left_out; /* training images of the run in --data */

static int print_scores_json(const struct scoring *s, size_t n, const struct network_config *config,
                             const struct dataset *ds, double seconds, struct err *e)
{
    cJSON *o = cJSON_CreateObject();

    cjson_addf(o, "schema=%d images=%zu left_out=%zu", 1, dataset_count(ds, DATASET_VAL), left_out);
    score_json_add(o, s->total, config->classes, ds);
    cjson_addf(o, "scale=%s backend=%s seconds=%g", given.native ? "native" : "fit",
               config->backend,
               seconds);
    if (n > 1)
        score_json_add_own(o, s[1].total, config->classes, ds);
    add_pairs_json(o, s[n - 1].v.pairs, s[n - 1].v.instances, config->classes, ds);
    return options_print(o, e);
}

static int score_images(struct scoring *s, struct err *e)
{
    struct evaluation *v = &s->v;

    if (s->own && evaluate_own(v, 0, v->images, given.native ? (int)given.overlap : -1,
                               &shutdown_signal, e))
        return -1;
    for (size_t i = 0; !s->own && i < v->images; i++)
        if (err_interrupt(e, &shutdown_signal) || evaluate_image(v, i, e))
            return -1;
    if (evaluate_wait(v, e))
        return -1;
    s->total = evaluate_total(v);
    return 0;
}

/* Scores at the network's size and at the images' own, or with --native or whole images' classes
 * only once. */
static int report_scores(struct trained *t, struct dataset *dataset, struct err *e)
{
    const struct network_config *config = &t->config;
    char fitted[80];
    struct scoring s[2] = {
        {.own = given.native,
         .where = given.native ? "masks at each image's own size, predicted in tiles" : fitted},
        {.own = true, .where = "masks at each image's own size, as predict writes them"}};
    size_t n = given.native || !dataset_has_masks(dataset) ? 1 : 2;
    double began = clock_now();
    size_t side = (size_t)confusion_side(config->classes);
    int64_t *pairs = mem_zero(side * side, sizeof *pairs, e);
    struct instance_counts *instances =
        given.instances ? mem_zero(side, sizeof *instances, e) : NULL;
    int rc = pairs && (instances || !given.instances) ? 0 : -1;

    snprintf(fitted, sizeof fitted, "at the network's size, %d x %d, as in training",
             config->height, config->width);
    for (size_t i = 0; i < n && rc == 0; i++) {
        rc = evaluate_open(&s[i].v, t->network, config, dataset, false, e);
        s[i].v.pairs = i + 1 == n ? pairs : NULL;
        s[i].v.instances = i + 1 == n ? instances : NULL;
        rc = rc || score_images(&s[i], e) ? -1 : 0;
    }
    double seconds = clock_now() - began;
    if (rc == 0 && given.images)
        rc = evaluate_write(given.images, dataset, config->classes, s[0].v.scores, e);
    if (rc == 0 && given.json)
        rc = print_scores_json(s, n, config, dataset, seconds, e);
    for (size_t i = 0; i < n && rc == 0 && !given.json; i++)
        print_scores_table(&s[i], config->classes, dataset);
    if (rc == 0 && !given.json) {
        print_pairs(pairs, config->classes, dataset);
        if (instances)
            print_instances(instances, config->classes, dataset);
        printf("images   %zu\nseconds  %.3f\n", dataset_count(dataset, DATASET_VAL), seconds);
    }
    if (rc == 0)
        evaluate_warn(s[0].total, config->classes, dataset);
    for (size_t i = 0; i < n; i++)
        evaluate_close(&s[i].v);
    free(instances);
    free(pairs);
    return rc;
}

#define MAX_RECORD ((size_t)256 << 20)

/* Finds the split of the run that has made the weights, ATTEMPT_DIR/checkpoint/FILE: beside its
 * record, where the record says, or in the folder of a study that was moved. */
static bool find_run_split(const char *weights, char dst[PATH_MAX])
{
    char attempt[PATH_MAX];
    struct err ignored;
    size_t n;

    if (!realpath(weights, attempt))
        return false;
    for (int i = 0; i < 2 && strrchr(attempt, '/'); i++)
        *strrchr(attempt, '/') = 0;
    char *path = mem_textf(&ignored, "%s/record.jsonl", attempt);
    char *record = path ? atomicfile_read(path, MAX_RECORD, &n, &ignored) : NULL;
    cJSON *run = record ? cJSON_ParseWithLength(record, strcspn(record, "\n")) : NULL;
    const char *split = cjson_text(run, "split"), *base = filename_base(split);
    snprintf(dst, PATH_MAX, "%.3000s/%.1000s", attempt, base);
    if (access(dst, R_OK))
        snprintf(dst, PATH_MAX, "%s", split);
    if (access(dst, R_OK))
        snprintf(dst, PATH_MAX, "%.3000s/../../../%.1000s", attempt, base);
    bool found = *split && access(dst, R_OK) == 0;
    cJSON_Delete(run);
    free(record);
    free(path);
    return found;
}

static struct dataset *open_data(const struct trained *t, struct err *e)
{
    const struct network_config *c = &t->config;
    const struct checkpoint_classes *classes = &t->classes;
    char run_split[PATH_MAX];
    bool leaves_out = !given.split && !given.all && find_run_split(t->file, run_split);
    bool classifies = model_find(c->model)->classifies, own = !given.class_file && *classes->file;
    struct dataset_config data = {
        .split_file = given.split, .dir = given.data, .folders = &given.folders,
        .run_split = leaves_out ? run_split : NULL, .left_out = &left_out,
        .height = c->height, .width = c->width,
        .channels = c->channels, .scale = t->scale, .levels = &t->levels,
        .masks = {.soft = given.soft_masks || classes->soft_masks,
                  .classes = classifies ? 1 : c->classes,
                  .ignore = given.ignore ? given.ignore : classes->ignore,
                  .class_file = own ? "the class file in model.json" : given.class_file,
                  .class_text = own ? classes->file : NULL}};

    return dataset_open(&data, e);
}

/* Warns if the data set numbers its classes differently from the training. */
static void compare_names(const struct trained *t, const struct dataset *dataset)
{
    for (int i = 0; i < t->classes.count && i < dataset_classes(dataset); i++)
        if (strcmp(t->classes.names[i], dataset_class_name(dataset, i)) != 0) {
            log_warn("class %d is \"%s\" in these data, but was \"%s\" in training; the scores compare them",
                     i, dataset_class_name(dataset, i), t->classes.names[i]);
            return;
        }
}

static int evaluate_data(struct trained *t, struct err *e)
{
    if (trained_open(t, given.checkpoint, e))
        return -1;
    if (given.instances && model_find(t->config.model)->classifies)
        return err_set(e, ERR_USAGE, "eval: --instances counts objects of masks, but %s classifies "
                       "whole images; leave it out", t->config.model);
    given.native |= t->classes.native;
    if (predict_check_overlap(&t->config, given.native, &given.overlap, e))
        return -1;
    struct dataset *dataset = open_data(t, e);
    int rc = !dataset ||
                     dataset_number_classes(dataset, t->classes.names, t->classes.count, e) ||
                     evaluate_check_targets(t->config.model, dataset, &t->config.classes, e)
                 ? -1
                 : 0;
    if (rc == 0) {
        compare_names(t, dataset);
        trained_compare_bits(t, 0, dataset_count(dataset, DATASET_VAL),
                             dataset_levels(dataset)->bits);
        rc = report_scores(t, dataset, e);
    }
    dataset_close(dataset);
    return rc;
}

static int run_eval(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct trained t = {0};

    shutdown_catch(false);
    int rc = configure_eval(&t.config, e) ? -1 : evaluate_data(&t, e);
    trained_close(&t);
    return rc;
}

const struct cli_command cmd_eval = {
    .name = "eval",
    .args = "",
    .summary = "Evaluate a checkpoint on images",
    .details = details,
    .options = options,
    .run = run_eval,
};
