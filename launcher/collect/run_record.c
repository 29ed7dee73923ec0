/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/collect/collect_internal.h"

#include <math.h>

#include "launcher/collect/log/log_file.h"
#include "launcher/host/jsonio.h"
#include "launcher/study/study.h"
#include "launcher/study/plan.h"
#include "src/cluster/nodelist.h"
#include "src/format/schema.h"

/* Adds a text. Paths in the study's folder are written relative to it, so that they stay equal
 * when the study is moved. */
static void add_string(struct buf *b, const json_t *plan, const char *text)
{
    size_t n;
    const char *folder = run_json_study_dir(plan, &n);
    bool below = n > 0 && strncmp(text, folder, n) == 0 && text[n] == '/';

    buf_addf(b, "%s%s", below ? "." : "", below ? text + n : text);
}

static void add_setting_text(struct buf *b, const json_t *plan, const json_t *value)
{
    const json_t *item;
    size_t i;

    if (json_is_string(value))
        add_string(b, plan, json_string_value(value));
    else if (json_is_integer(value))
        buf_addf(b, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        buf_addf(b, "%.15g", json_real_value(value));
    else if (json_is_boolean(value))
        buf_add(b, json_is_true(value) ? "true" : "false");
    json_array_foreach(value, i, item) {
        buf_add(b, i ? " " : "");
        add_setting_text(b, plan, item);
    }
}

/* Returns whether the layout is multi-worker by choice. It is if several tasks run on one node,
 * where one could have all GPUs; any other layout is what the strategy auto would choose. */
static bool is_multi_worker(const json_t *plan)
{
    const json_t *layout = json_object_get(plan, "layout");
    struct err ignored;
    const struct engine *engine = engine_find(jsonio_text(plan, "engine"), &ignored);

    return engine && !engine->rank_per_gpu &&
           json_integer_value(json_object_get(layout, "nodes")) == 1 &&
           json_integer_value(json_object_get(layout, "tasks")) > 1;
}

/* Returns whether path is the one of the two batch settings that does not apply to the run.
 * train.global_batch applies if the plan has it, and otherwise train.batch_per_gpu. */
static bool is_other_batch(const json_t *plan, const char *path)
{
    bool global = json_integer_value(run_json_value(plan, SETTINGS_GLOBAL_BATCH)) > 0;

    return strcmp(path, global ? SETTINGS_BATCH_PER_GPU : SETTINGS_GLOBAL_BATCH) == 0;
}

static void add_setting(struct buf *dst, const struct setting *key, const json_t *plan,
                        const char *backend)
{
    const json_t *value = run_json_value(plan, key->path);
    bool computed = *backend && strcmp(key->path, "train.backend") == 0;
    const char *word = json_string_value(value);
    bool is_batch = strcmp(key->path, SETTINGS_BATCH_PER_GPU) == 0 ||
                    strcmp(key->path, SETTINGS_GLOBAL_BATCH) == 0;
    /* no script of it */
    bool is_unused = word && !*word && strcmp(setting_leaf(key->path), "python") == 0;
    struct buf text = {0};

    buf_add(&text, computed ? backend : "");
    if (!computed)
        add_setting_text(&text, plan, value);
    if (computed || (value && !is_unused && !is_other_batch(plan, key->path) && !text.failed &&
                     (is_batch || !setting_json_is_preset(key, value))))
        settings_add(dst, key->path, text.data);
    dst->failed |= text.failed;
    buf_destroy(&text);
}

char *result_settings_encode(const json_t *plan, const char *backend, const char *device,
                             const char *script)
{
    struct buf b = {0};

    if (is_multi_worker(plan))
        settings_add(&b, SETTINGS_STRATEGY, "multi-worker");
    for (const struct setting *key = settings_of_study; key->path; key++)
        if (key->affects_result)
            add_setting(&b, key, plan, backend);
    for (const struct setting *key = settings_of_run; key->path; key++)
        if (key->affects_result && !setting_find(settings_of_study, key->path))
            add_setting(&b, key, plan, backend);
    for (const struct setting *key = settings_gone; key->path; key++)
        if (key->affects_result)
            add_setting(&b, key, plan, backend);
    if (*script)
        settings_add(&b, "script", script);
    if (strcmp(backend, "cuda") == 0 && *device)
        settings_add(&b, "device", device);
    return buf_steal(&b);
}

/* ---- record.jsonl ---- */

struct record_reader {
    const char *path;
    size_t line;
    bool started, ended;
    struct run_epoch *steps; /* of a run with a limit: intervals of steps */
    size_t nsteps, capacity;
    long step;               /* of the last of them */
    struct run_record *dst;
    struct err *e;
};

static int refuse_record(struct record_reader *r, const char *what, const char *key)
{
    return err_set(r->e, ERR_DATA, "%s:%zu: %s%s%s%s", r->path, r->line, what, *key ? " '" : "",
                   key, *key ? "'" : "");
}

static double optional_number(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);

    return json_is_number(v) ? json_number_value(v) : NAN;
}

static int require_number(struct record_reader *r, const json_t *o, const char *key, double *dst)
{
    *dst = optional_number(o, key);
    return isfinite(*dst) ? 0 : refuse_record(r, "there is no number", key);
}

static int require_integer(struct record_reader *r, const json_t *o, const char *key, long min,
                           long *dst)
{
    const json_t *v = json_object_get(o, key);
    json_int_t n = json_integer_value(v);
    bool fits = json_is_integer(v) && n >= min && n <= INT_MAX;

    *dst = fits ? (long)n : 0;
    return fits ? 0 : refuse_record(r, "there is no whole number in its bounds at", key);
}

static long optional_count(const json_t *o, const char *key)
{
    json_int_t v = json_integer_value(json_object_get(o, key));

    return v > 0 && v <= INT_MAX ? (long)v : 0;
}

/* Reads a text that must be present. With size 0 it is only checked. */
static int require_text(struct record_reader *r, const json_t *o, const char *key, char *dst,
                        size_t size)
{
    const json_t *v = json_object_get(o, key);

    if (!json_is_string(v))
        return refuse_record(r, "there is no text", key);
    if (size)
        result_set_text(dst, size, json_string_value(v));
    return 0;
}

/* Writes the distinct names of a list of hosts as a node list; names that fit in none, and more of
 * them than dst can hold, are unknown. */
static void decode_hosts(const json_t *list, char *dst, size_t size)
{
    struct buf names = {0};
    struct err unknown;
    const json_t *host;
    size_t i;

    json_array_foreach(list, i, host)
        if (json_is_string(host) &&
            (i == 0 || !json_equal(host, json_array_get(list, i - 1))))
            buf_addf(&names, "%s%s", names.length ? "," : "", json_string_value(host));
    struct nodelist *nodes = names.length ? nodelist_decode(names.data, INT_MAX, &unknown) : NULL;
    char *text = nodes ? nodelist_encode(nodes, &unknown) : NULL;

    if (text && strlen(text) < size)
        strcpy(dst, text);
    free(text);
    nodelist_destroy(nodes);
    buf_destroy(&names);
}

static void decode_versions(const json_t *o, char *dst, size_t size)
{
    struct buf text = {0};
    const char *name;
    json_t *version;

    json_object_foreach((json_t *)(uintptr_t)o, name, version)
        if (json_is_string(version) && json_string_length(version))
            buf_addf(&text, "%s%s %s", text.length ? "; " : "", name, json_string_value(version));
    if (text.length && !text.failed)
        result_set_text(dst, size, text.data);
    buf_destroy(&text);
}

static int decode_run(struct record_reader *r, const json_t *o)
{
    struct run_record *d = r->dst;
    struct result *run = &d->run;
    const json_t *over;
    long gpus, nodes;

    if (r->started)
        return refuse_record(r, "a second run line", "");
    r->started = true;
    if (schema_check(json_number_value(json_object_get(o, "schema")), ERR_DATA, r->e))
        return err_prefix(r->e, "%s:%zu", r->path, r->line);
    if (require_text(r, o, "study", NULL, 0) ||
        require_text(r, o, "started", run->started, sizeof run->started) ||
        require_text(r, o, "run", run->run, sizeof run->run) ||
        require_text(r, o, "engine", run->engine, sizeof run->engine) ||
        require_text(r, o, "host", run->host, sizeof run->host) ||
        require_integer(r, o, "gpus", 1, &gpus) || require_integer(r, o, "nodes", 1, &nodes) ||
        require_integer(r, o, "seed", 0, &run->seed) ||
        require_integer(r, o, "epochs", 1, &run->epochs))
        return -1;
    decode_versions(json_object_get(o, "versions"), run->versions, sizeof run->versions);
    decode_hosts(json_object_get(o, "hosts"), run->hosts, sizeof run->hosts);
    if (nodes == 1 && !*run->hosts)
        result_set_text(run->hosts, sizeof run->hosts, run->host);
    run->gpus = (int)gpus;
    run->nodes = (int)nodes;
    over = json_object_get(o, "oversubscribed");
    run->oversubscribed = json_is_boolean(over) ? json_is_true(over) : -1;
    run->batch_per_gpu = optional_count(o, "batch_per_gpu");
    run->global_batch = optional_count(o, "global_batch");
    run->quality.val_images = optional_count(o, "val_images");
    run->parameters = optional_count(json_object_get(o, "model"), "parameters");
    const char *backend = jsonio_text(o, "backend");
    result_set_text(d->backend, sizeof d->backend, backend);
    result_set_text(d->dtype, sizeof d->dtype, jsonio_text(o, "dtype"));
    result_set_text(run->device, sizeof run->device, jsonio_text(o, "device"));
    result_set_text(run->quality.metric, sizeof run->quality.metric, jsonio_text(o, "metric"));
    run->fake_gpus = *backend ? strcmp(backend, "cuda") != 0 : -1;
    return 0;
}

/* Estimates |G|^2 and tr(Sigma) from the gradient's squared norms over one rank's batch and over
 * the batch of all ranks. The batch sizes are in the epoch's line, or else in the run line. Both
 * estimates are NaN if a value is missing or the batches are not of different sizes. */
static void estimate_gradient(const struct run_record *d, const json_t *o,
                              struct run_epoch *epoch)
{
    double local = optional_number(o, "grad_sq_local"), b = optional_number(o, "grad_batch_local");
    double global = optional_number(o, "grad_sq_global");
    double all = optional_number(o, "grad_batch_global");

    b = isnan(b) ? (double)d->run.batch_per_gpu : b;
    all = isnan(all) ? (double)d->run.global_batch : all;
    epoch->grad_sq = epoch->grad_var = NAN;
    if (!(b > 0) || !(all > b) || !(local >= 0) || !(global >= 0))
        return;
    epoch->grad_sq = (all * global - b * local) / (all - b);
    epoch->grad_var = (local - global) / (1 / b - 1 / all);
}

static int decode_eval(struct record_reader *r, const json_t *o)
{
    struct run_record *d = r->dst;
    double iou = optional_number(o, "iou");
    long epochs;

    if (require_integer(r, o, "epochs", 1, &epochs))
        return -1;
    if ((size_t)epochs > d->nepochs)
        return refuse_record(r, "a validation of an epoch that has no line", "");
    double accuracy = optional_number(o, "accuracy");
    if (iou < 0 || iou > 1 || accuracy < 0 || accuracy > 1)
        return refuse_record(r, "outside 0..1:", iou < 0 || iou > 1 ? "iou" : "accuracy");
    d->epochs[epochs - 1].val_iou = iou;
    d->epochs[epochs - 1].val_accuracy = accuracy;
    d->epochs[epochs - 1].val_loss = optional_number(o, "loss");
    return 0;
}

static int decode_record_epoch(struct record_reader *r, const json_t *o)
{
    struct run_record *d = r->dst;
    struct run_epoch epoch = {.images = optional_number(o, "images"),
                              .data_s = optional_number(o, "data_s"),
                              .comm_s = optional_number(o, "comm_s"),
                              .val_iou = optional_number(o, "val_iou"),
                              .val_accuracy = optional_number(o, "val_accuracy"),
                              .val_loss = NAN, .train_iou = optional_number(o, "train_iou")};
    double lr;
    long number;

    if (require_integer(r, o, "epoch", 0, &number) ||
        require_number(r, o, "seconds", &epoch.seconds) ||
        require_number(r, o, "loss", &epoch.loss) || require_number(r, o, "lr", &lr))
        return -1;
    if ((size_t)number != d->nepochs)
        return refuse_record(r, "this is not the next epoch", "");
    if (epoch.seconds < 0 || epoch.images < 0)
        return refuse_record(r, "a negative number of", epoch.seconds < 0 ? "seconds" : "images");
    estimate_gradient(d, o, &epoch);
    if (mem_grow(&d->epochs, d->nepochs, &d->capacity, sizeof *d->epochs, r->e))
        return -1;
    d->epochs[d->nepochs++] = epoch;
    return 0;
}

static int decode_steps(struct record_reader *r, const json_t *o)
{
    struct run_epoch steps = {.loss = NAN, .data_s = NAN, .comm_s = NAN, .val_iou = NAN,
                              .val_accuracy = NAN, .val_loss = NAN, .train_iou = NAN,
                              .grad_sq = NAN, .grad_var = NAN};
    long before = r->step;

    if (require_integer(r, o, "step", 1, &r->step) ||
        require_number(r, o, "seconds", &steps.seconds) ||
        require_number(r, o, "images", &steps.images))
        return -1;
    if (r->step <= before || !(steps.seconds > 0) || !(steps.images > 0))
        return refuse_record(r, "steps that do not follow, or took no time or images", "");
    if (mem_grow(&r->steps, r->nsteps, &r->capacity, sizeof *r->steps, r->e))
        return -1;
    r->steps[r->nsteps++] = steps;
    return 0;
}

/* Of a training that ended at its limit only the speed is known: its intervals, scaled to the
 * images of an epoch, take the place of its epochs. */
static int decode_limited(struct record_reader *r, const json_t *o)
{
    struct run_record *d = r->dst;
    double images;

    if (require_number(r, o, "epoch_images", &images))
        return -1;
    if (r->nsteps == 0 || !(images > 0))
        return refuse_record(r, "it ended at its limit, and there are no steps or images", "");
    for (size_t i = 0; i < r->nsteps; i++) {
        d->run.limited_s += r->steps[i].seconds;
        r->steps[i].seconds *= images / r->steps[i].images;
        r->steps[i].images = images;
    }
    free(d->epochs);
    d->epochs = r->steps;
    d->nepochs = r->nsteps;
    d->capacity = r->capacity;
    r->steps = NULL;
    d->run.limited = 1;
    return 0;
}

/* Notes at which epochs the run resumed with another number of GPUs. */
static void decode_resume(struct record_reader *r, const json_t *o)
{
    char *dst = r->dst->worlds;
    size_t used = 0, size = sizeof r->dst->worlds, i;
    const json_t *world;
    long before = 0;

    *dst = 0;
    json_array_foreach(json_object_get(o, "worlds"), i, world) {
        long gpus = optional_count(world, "gpus");
        long epoch = optional_count(world, "epoch");
        bool part = optional_count(world, "images") > 0;
        if (gpus == before || used >= size)
            continue;
        if (before)
            used += (size_t)snprintf(dst + used, size - used, ", %ld from %sepoch %ld on", gpus,
                                     part ? "within " : "", epoch);
        else
            used += (size_t)snprintf(dst, size, "%ld GPU%s", gpus, plural(gpus));
        before = gpus;
    }
    if (!strchr(dst, ','))
        *dst = 0;
}

static int decode_quality(struct record_reader *r, const json_t *o)
{
    struct result *run = &r->dst->run;

    if (require_number(r, o, "training_time", &run->training_time) ||
        require_number(r, o, "test_time", &run->test_time) ||
        require_number(r, o, "iou", &run->quality.iou))
        return -1;
    run->quality.accuracy = optional_number(o, "accuracy");
    if (result_by_accuracy(run) && !(run->quality.accuracy >= 0 && run->quality.accuracy <= 1))
        return refuse_record(r, "there is none, or one outside 0..1:", "accuracy");
    return run->quality.iou >= 0 && run->quality.iou <= 1 ? 0 : refuse_record(r, "outside 0..1:", "iou");
}

static int decode_end(struct record_reader *r, const json_t *o)
{
    struct run_record *d = r->dst;
    struct result *run = &d->run;
    char status[16];
    long code;

    r->ended = true;
    if (require_text(r, o, "status", status, sizeof status))
        return -1;
    if (strcmp(status, "failed") == 0)
        return require_text(r, o, "error", NULL, 0) ||
                       require_integer(r, o, "exit_code", 1, &code) ? -1 : 0;
    if (strcmp(status, "done"))
        return refuse_record(r, "unknown status", status);
    d->done = true;
    d->stopped_early = json_is_true(json_object_get(o, "stopped_early"));
    run->quality.dice = optional_number(o, "dice");
    run->quality.iou_own_size = optional_number(json_object_get(o, "own_size"), "iou");
    run->quality.constant = optional_number(o, "constant");
    run->startup_s = optional_number(o, "startup_s");
    run->energy.gpus_j = optional_number(o, "energy_j");
    run->kernels.checked = (int)optional_count(o, "kernels_checked");
    result_set_text(run->kernels.refused, sizeof run->kernels.refused,
                    jsonio_text(o, "kernels_refused"));
    if (optional_count(o, "val_images"))
        run->quality.val_images = optional_count(o, "val_images");
    bool by_accuracy = strcmp(jsonio_text(o, "metric"), "accuracy") == 0;
    result_set_text(run->quality.metric, sizeof run->quality.metric, by_accuracy ? "accuracy" : "iou");
    bool limited = json_is_true(json_object_get(o, "limited"));
    return limited ? decode_limited(r, o) : decode_quality(r, o);
}

static int decode_kind(struct record_reader *r, const json_t *o)
{
    const char *kind = json_string_value(json_object_get(o, "kind"));

    if (!kind)
        return refuse_record(r, "this is not a line of a record: there is no", "kind");
    if (r->ended)
        return refuse_record(r, "there is a line after the end line", "");
    if (strcmp(kind, "run") == 0)
        return decode_run(r, o);
    if (!r->started)
        return refuse_record(r, "the first line must be of the kind", "run");
    if (strcmp(kind, "resume") == 0)
        decode_resume(r, o);
    if (strcmp(kind, "epoch") == 0)
        return decode_record_epoch(r, o);
    if (strcmp(kind, "eval") == 0)
        return decode_eval(r, o);
    if (strcmp(kind, "steps") == 0)
        return decode_steps(r, o);
    if (strcmp(kind, "end") == 0)
        return decode_end(r, o);
    return 0; /* progress, and kinds that the schema may add */
}

static int decode_record_line(struct record_reader *r, const char *text, size_t n)
{
    json_error_t why;
    json_t *line = json_loadb(text, n, JSON_REJECT_DUPLICATES, &why);

    if (!line)
        return refuse_record(r, "this is not JSON:", why.text);
    int rc = decode_kind(r, line);
    json_decref(line);
    return rc;
}

int run_record_read(const char *path, struct run_record *dst, struct err *e)
{
    struct record_reader r = {.path = path, .dst = dst, .e = e};
    size_t size;
    char *text = log_file_load(path, &size, e), *p, *end;
    int rc = 0;

    *dst = (struct run_record){.nepochs = 0};
    result_init(&dst->run);
    if (!text)
        return -1;
    for (p = text; rc == 0 && (end = memchr(p, '\n', (size_t)(text + size - p))); p = end + 1) {
        r.line++;
        rc = decode_record_line(&r, p, (size_t)(end - p));
    }
    free(text);
    free(r.steps);
    if (rc == 0 && !r.started)
        rc = err_set(e, ERR_DATA, "%s: there is no whole line in it", path);
    if (rc)
        run_record_destroy(dst);
    return rc;
}

void run_record_destroy(struct run_record *r)
{
    free(r->epochs);
    r->epochs = NULL;
    r->nepochs = r->capacity = 0;
}
