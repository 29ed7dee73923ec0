/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/collect/results/results.h"

#include <math.h>

#include "src/atomicfile.h"
#include "src/parallel.h"

void settings_add(struct buf *dst, const char *key, const char *value)
{
    buf_addf(dst, "%s%s=", dst->length ? "; " : "", key);
    for (; *value; value++)
        buf_addf(dst, "%s%c", strchr(";\\", *value) ? "\\" : "",
                 (unsigned char)*value < ' ' ? ' ' : *value);
}

bool settings_next(const char **text, struct setting_text *dst)
{
    const char *p = *text + strspn(*text, "; ");

    *dst = (struct setting_text){.key = p, .nkey = strcspn(p, "=;")};
    if (dst->nkey == 0 || p[dst->nkey] != '=')
        return false;
    dst->value = p += dst->nkey + 1;
    while (*p && *p != ';')
        p += *p == '\\' && p[1] ? 2 : 1;
    dst->nvalue = (size_t)(p - dst->value);
    *text = p;
    return true;
}

void settings_add_value(struct buf *dst, const struct setting_text *s)
{
    buf_add(dst, "");
    for (size_t i = 0; i < s->nvalue; i++) {
        i += s->value[i] == '\\' && i + 1 < s->nvalue;
        buf_add_bytes(dst, s->value + i, 1);
    }
}

bool settings_equal(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool has_setting(const char *text, const struct setting_text *wanted)
{
    struct setting_text s;

    while (text && settings_next(&text, &s))
        if (s.nkey == wanted->nkey && memcmp(s.key, wanted->key, s.nkey) == 0)
            return s.nvalue == wanted->nvalue && memcmp(s.value, wanted->value, s.nvalue) == 0;
    return false;
}

void settings_tell_apart(const char *const *texts, size_t n, size_t i, struct buf *dst)
{
    const char *text = texts[i];
    struct setting_text s;

    while (text && settings_next(&text, &s)) {
        bool everywhere = true;
        for (size_t k = 0; k < n; k++)
            everywhere &= has_setting(texts[k], &s);
        if (everywhere)
            continue;
        buf_addf(dst, ", %.*s ", (int)s.nkey, s.key);
        settings_add_value(dst, &s);
    }
    for (size_t k = 0; k < n && !texts[i]; k++)
        if (texts[k]) {
            buf_add(dst, ", settings not known");
            break;
        }
}

static bool is_key(const struct setting_text *s, const char *key)
{
    return s->nkey == strlen(key) && memcmp(s->key, key, s->nkey) == 0;
}

char *settings_common(const char *text, bool one_gpu)
{
    struct buf b = {0};
    struct setting_text s;

    if (!text)
        return NULL;
    for (buf_add(&b, ""); settings_next(&text, &s);) {
        if (is_key(&s, SETTINGS_STRATEGY))
            continue;
        buf_add(&b, b.length ? "; " : "");
        if (one_gpu && is_key(&s, SETTINGS_BATCH_PER_GPU))
            buf_add(&b, SETTINGS_GLOBAL_BATCH);
        else
            buf_add_bytes(&b, s.key, s.nkey);
        buf_add(&b, "=");
        buf_add_bytes(&b, s.value, s.nvalue);
    }
    return buf_steal(&b);
}

/* ---- the table ---- */

#define MAX_FILE (64 << 20)

/* The type of a member: TEXT is an array of characters, OWNED an allocated string or NULL, COUNT an
 * int, SEED a long, STATE an enum result_state, REAL a double that may be NaN, and FLAG an int that
 * is 1, 0 or -1 (unknown). */
enum kind { TEXT, OWNED, COUNT, SEED, STATE, REAL, FLAG };

struct column {
    const char *name;
    enum kind kind;
    size_t offset, size;
};

#define NAMED(name, kind, member) \
    {name, kind, offsetof(struct result, member), sizeof(((struct result *)0)->member)}
#define COLUMN(kind, member) NAMED(#member, kind, member)

static const struct column columns[] = {
    COLUMN(TEXT, run),
    COLUMN(TEXT, engine),
    COLUMN(COUNT, gpus),
    COLUMN(COUNT, nodes),
    COLUMN(SEED, seed),
    COLUMN(COUNT, attempt),
    COLUMN(STATE, state),
    COLUMN(SEED, epochs),
    NAMED("images", REAL, units),
    COLUMN(REAL, first_epoch_s),
    COLUMN(REAL, second_epoch_s),
    COLUMN(REAL, median_epoch_s),
    COLUMN(REAL, training_time),
    COLUMN(REAL, test_time),
    NAMED("images_per_s", REAL, units_per_s),
    COLUMN(REAL, loss),
    NAMED("iou", REAL, quality.iou),
    NAMED("dice", REAL, quality.dice),
    COLUMN(REAL, startup_s),
    COLUMN(REAL, comm_s),
    COLUMN(REAL, data_s),
    COLUMN(FLAG, oversubscribed),
    COLUMN(TEXT, host),
    COLUMN(TEXT, log),
    COLUMN(TEXT, note),
    COLUMN(SEED, batch_per_gpu),
    COLUMN(SEED, global_batch),
    NAMED("val_images", SEED, quality.val_images),
    COLUMN(FLAG, fake_gpus),
    NAMED("energy_j", REAL, energy.gpus_j),
    COLUMN(REAL, grad_sq),
    COLUMN(REAL, grad_var),
    COLUMN(TEXT, images_log),
    NAMED("accuracy", REAL, quality.accuracy),
    NAMED("metric", TEXT, quality.metric),
    COLUMN(SEED, parameters),
    NAMED("constant", REAL, quality.constant),
    COLUMN(OWNED, settings),
    COLUMN(TEXT, device),
    NAMED("kernels_checked", COUNT, kernels.checked),
    NAMED("kernels_refused", TEXT, kernels.refused),
    COLUMN(TEXT, hosts),
    COLUMN(TEXT, started),
    COLUMN(TEXT, versions),
    NAMED("iou_own_size", REAL, quality.iou_own_size),
    NAMED("quality", REAL, quality.value),
    NAMED("lower", FLAG, quality.lower),
    COLUMN(TEXT, unit),
    COLUMN(FLAG, limited),
    COLUMN(FLAG, stepped),
    NAMED("cpu_energy_j", REAL, energy.cpus_j),
    NAMED("epoch_energy_j", REAL, energy.epoch_j),
    NAMED("gpu_watts", REAL, gpu.watts),
    NAMED("gpu_busy", REAL, gpu.busy),
    NAMED("gpu_throttled", REAL, gpu.throttled),
    NAMED("gpu_memory_mib", REAL, gpu.memory_mib),
    COLUMN(REAL, stage_s),
    COLUMN(REAL, stage_bytes),
    NAMED("node_energy_j", REAL, energy.nodes_j),
    COLUMN(REAL, clock_step_s),
    COLUMN(REAL, job_s),
    COLUMN(SEED, starts),
};
#define FIRST_OPTIONAL "batch_per_gpu"
enum { NCOLUMNS = sizeof columns / sizeof columns[0] };

const char *const result_state_names[] = {
    [RESULT_DONE] = "done",           [RESULT_FAILED] = "failed",
    [RESULT_CANCELLED] = "cancelled", [RESULT_KILLED] = "killed",
    [RESULT_RUNNING] = "running",     [RESULT_PENDING] = "pending",
    [RESULT_UNFINISHED] = "unfinished", [RESULT_CORRUPT] = "corrupt",
    [RESULT_ELASTIC] = "elastic",     [RESULT_NOT_STARTED] = "not started",
    [RESULT_MISSING] = "missing",     [RESULT_UNREAD] = "unread",
};
enum { NSTATES = sizeof result_state_names / sizeof *result_state_names };

bool result_by_accuracy(const struct result *r)
{
    return strcmp(r->quality.metric, "accuracy") == 0;
}

static bool is_iou(const struct result *r)
{
    return !*r->quality.metric || strcmp(r->quality.metric, "iou") == 0;
}

double result_quality(const struct result *r)
{
    return result_by_accuracy(r) ? r->quality.accuracy
           : is_iou(r)           ? r->quality.iou : r->quality.value;
}

bool result_quality_is_share(const struct result *r)
{
    return is_iou(r) || result_by_accuracy(r);
}

bool result_is_rate(const struct result *r)
{
    return r->stepped == 1 && r->limited == 1 && fabs(r->units - 1) < 1e-9;
}

double rate_show(double per_second, double typical, const char *unit, char *name, size_t size)
{
    bool slow = typical < 0.05;

    snprintf(name, size, "%s/%s", unit, slow ? "day" : "s");
    return per_second * (slow ? 86400 : 1);
}

const char *result_quality_word(const struct result *r)
{
    return is_iou(r) ? "IoU" : r->quality.metric;
}

void result_init(struct result *r)
{
    memset(r, 0, sizeof *r);
    r->oversubscribed = r->fake_gpus = -1;
    for (int i = 0; i < NCOLUMNS; i++) {
        void *field = (char *)r + columns[i].offset;
        if (columns[i].kind == REAL)
            *(double *)field = NAN;
    }
}

void result_discard(struct result *r, enum result_state state, const char *note)
{
    struct result clean;

    result_init(&clean);
    memcpy(clean.run, r->run, sizeof clean.run);
    memcpy(clean.engine, r->engine, sizeof clean.engine);
    clean.gpus = r->gpus;
    clean.nodes = r->nodes;
    clean.seed = r->seed;
    clean.attempt = r->attempt;
    clean.state = state;
    clean.settings = r->settings;
    r->settings = NULL;
    result_set_text(clean.note, sizeof clean.note, note);
    result_destroy(r);
    *r = clean;
}

void result_destroy(struct result *r)
{
    curve_destroy(r->curve);
    scores_destroy(r->scores);
    free(r->settings);
    free(r->examples);
}

void result_set_text(char *dst, size_t size, const char *text)
{
    size_t n = strlen(text);

    if (n >= size) {
        n = size - 4;
        memcpy(dst + n, "...", 4);
    } else {
        dst[n] = '\0';
    }
    memcpy(dst, text, n);
    for (char *p = dst; *p; p += size) {
        size = utf8_size(p);
        if (size == 0 || (unsigned char)*p < ' ' || *p == 127)
            *p = size ? ' ' : '?';
        size = size ? size : 1;
    }
}

int results_add(struct results *table, const struct result *r, struct err *e)
{
    if (mem_grow(&table->rows, table->count, &table->capacity, sizeof *table->rows, e))
        return -1;
    table->rows[table->count++] = *r;
    return 0;
}

static int compare_results(const void *a, const void *b)
{
    const struct result *x = a, *y = b;
    int order = strcmp(x->engine, y->engine);

    if (order == 0)
        order = (x->gpus > y->gpus) - (x->gpus < y->gpus);
    if (order == 0)
        order = (x->seed > y->seed) - (x->seed < y->seed);
    if (order == 0)
        order = strcmp(x->settings ? x->settings : "", y->settings ? y->settings : "");
    if (order == 0)
        order = x->limited - y->limited;
    return order ? order : strcmp(x->run, y->run);
}

void results_sort(struct results *table)
{
    if (table->count)
        qsort(table->rows, table->count, sizeof *table->rows, compare_results);
}

size_t results_count(const struct results *table, enum result_state state)
{
    size_t n = 0;

    for (size_t i = 0; i < table->count; i++)
        n += table->rows[i].state == state;
    return n;
}

static void encode_cell(struct buf *b, const struct column *c, const struct result *r)
{
    const void *field = (const char *)r + c->offset;

    switch (c->kind) {
    case TEXT:
        csv_add_cell(b, field);
        break;
    case OWNED:
        csv_add_cell(b, *(char *const *)field ? *(char *const *)field : "");
        break;
    case COUNT:
        buf_addf(b, "%d", *(const int *)field);
        break;
    case SEED:
        buf_addf(b, "%ld", *(const long *)field);
        break;
    case STATE:
        buf_add(b, result_state_names[*(const enum result_state *)field]);
        break;
    case REAL:
        if (isfinite(*(const double *)field))
            buf_addf(b, c->offset >= offsetof(struct result, energy.gpus_j) ? "%.9g" : "%.6f",
                     *(const double *)field);
        break;
    case FLAG:
        if (*(const int *)field >= 0)
            buf_add(b, *(const int *)field ? "yes" : "no");
        break;
    }
}

char *results_encode(const struct results *table)
{
    struct buf b = {0};

    for (int i = 0; i < NCOLUMNS; i++)
        buf_addf(&b, "%s%s", i ? "," : "", columns[i].name);
    buf_add(&b, "\n");
    for (size_t row = 0; row < table->count; row++) {
        for (int i = 0; i < NCOLUMNS; i++) {
            if (i)
                buf_add(&b, ",");
            encode_cell(&b, &columns[i], &table->rows[row]);
        }
        buf_add(&b, "\n");
    }
    return buf_steal(&b);
}

struct epoch_rows {
    const struct results *table;
    struct buf *texts; /* of each row of the table */
};

static int encode_epochs(void *arg, size_t row, struct err *e)
{
    struct epoch_rows *rows = arg;
    struct buf *b = &rows->texts[row];
    const struct result *r = &rows->table->rows[row];
    const struct curve *c = r->state == RESULT_DONE ? r->curve : NULL;
    struct buf head = {0};

    csv_add_cell(&head, r->run);
    buf_addf(&head, ",%d,%ld,", r->gpus, r->seed);
    b->failed |= head.failed;
    for (size_t i = 0; c && i < c->n; i++) {
        const double *const values[] = {c->seconds, c->loss, c->score, c->val_loss,
                                        c->train_score, c->units, c->joules};
        buf_add_bytes(b, head.data, head.length);
        buf_addf(b, "%zu", i);
        for (size_t k = 0; k < sizeof values / sizeof *values; k++)
            if (values[k] && isfinite(values[k][i]))
                buf_addf(b, ",%.9g", values[k][i]);
            else
                buf_add(b, ",");
        buf_add(b, "\n");
    }
    buf_destroy(&head);
    return b->failed ? mem_fail(e) : 0;
}

char *results_encode_epochs(const struct results *table)
{
    struct buf b = {0};
    struct err e;
    struct epoch_rows rows = {table, mem_zero(table->count + 1, sizeof *rows.texts, &e)};

    buf_add(&b, "run,gpus,seed,epoch,seconds,loss,quality,val_loss,train_quality,units,joules\n");
    b.failed |= !rows.texts || parallel_many(table->count, encode_epochs, &rows, &e) < 0;
    for (size_t row = 0; rows.texts && row < table->count; row++) {
        buf_add_bytes(&b, rows.texts[row].data, rows.texts[row].length);
        buf_destroy(&rows.texts[row]);
    }
    free(rows.texts);
    return buf_steal(&b);
}

static int decode_integer(const char *text, long min, long max, long *value)
{
    char *end;

    errno = 0;
    *value = strtol(text, &end, 10);
    return errno || end == text || *end || *value < min || *value > max ? -1 : 0;
}

static int decode_real(const char *text, double *value)
{
    char *end;

    *value = NAN;
    if (!*text)
        return 0;
    *value = strtod(text, &end);
    return *end || !isfinite(*value) ? -1 : 0;
}

static int decode_state(const char *text, enum result_state *state)
{
    for (int i = 0; i < NSTATES; i++)
        if (strcmp(text, result_state_names[i]) == 0) {
            *state = (enum result_state)i;
            return 0;
        }
    return -1;
}

static int decode_cell(const struct column *c, const char *text, struct result *r)
{
    void *field = (char *)r + c->offset;
    long value;

    switch (c->kind) {
    case TEXT:
        result_set_text(field, c->size, csv_text(text));
        return 0;
    case OWNED:
        text = csv_text(text);
        *(char **)field = *text ? strdup(text) : NULL;
        return *text && !*(char **)field ? -1 : 0;
    case COUNT:
        if (decode_integer(text, 0, 1 << 20, &value))
            return -1;
        *(int *)field = (int)value;
        return 0;
    case SEED:
        return decode_integer(text, LONG_MIN, LONG_MAX, field);
    case STATE:
        return decode_state(text, field);
    case REAL:
        return decode_real(text, field);
    case FLAG:
        if (strcmp(text, "yes") && strcmp(text, "no") && *text)
            return -1;
        *(int *)field = *text ? text[0] == 'y' : -1;
        return 0;
    }
    return -1;
}

/* Finds the columns in the header: place[i] becomes the cell of columns[i], or -1 if an optional
 * column is missing. */
static int decode_results_header(char *line, const char *path, int place[NCOLUMNS], struct err *e)
{
    char *cells[2 * NCOLUMNS];
    int n = csv_split(line, ',', cells, 2 * NCOLUMNS);
    bool optional = false;

    for (int i = 0; i < NCOLUMNS; i++) {
        place[i] = -1;
        optional |= strcmp(columns[i].name, FIRST_OPTIONAL) == 0;
        for (int j = 0; j < n; j++)
            if (strcmp(cells[j], columns[i].name) == 0)
                place[i] = j;
        if (place[i] < 0 && !optional)
            return err_set(e, ERR_DATA,
                           "%s:1: there is no column '%s': this is not a table of unetctl collect; "
                           "run it again, or move the file away",
                           path, columns[i].name);
    }
    return 0;
}

static int decode_result(char *line, const char *path, size_t number, const int place[NCOLUMNS],
                         struct results *table, struct err *e)
{
    char *cells[2 * NCOLUMNS];
    int n = csv_split(line, ',', cells, 2 * NCOLUMNS);
    struct result r;

    result_init(&r);
    for (int i = 0; i < NCOLUMNS; i++) {
        if (place[i] < 0)
            continue;
        if (place[i] >= n)
            err_set(e, ERR_DATA, "%s:%zu: the row is cut off or badly quoted", path, number);
        else if (decode_cell(&columns[i], cells[place[i]], &r))
            err_set(e, ERR_DATA, "%s:%zu: column '%s' can't be '%.60s'", path, number,
                    columns[i].name, cells[place[i]]);
        else
            continue;
        result_destroy(&r);
        return -1;
    }
    if (results_add(table, &r, e) == 0)
        return 0;
    result_destroy(&r);
    return -1;
}

int results_read(struct results *table, const char *path, struct err *e)
{
    int place[NCOLUMNS], rc = -1;
    size_t size, number = 1;
    char *text = atomicfile_read(path, MAX_FILE, &size, e), *next = text;

    if (!text)
        return -1;
    if (strlen(text) != size) {
        err_set(e, ERR_DATA, "%s: holds binary data", path);
        goto out;
    }
    for (char *line = strsep(&next, "\n"); line; line = strsep(&next, "\n"), number++) {
        line[strcspn(line, "\r")] = '\0'; /* a spreadsheet may have saved the file with CR LF */
        if (number == 1 ? decode_results_header(line, path, place, e)
                        : *line && decode_result(line, path, number, place, table, e))
            goto out;
    }
    rc = 0;
out:
    if (rc)
        results_destroy(table);
    free(text);
    return rc;
}

void results_destroy(struct results *table)
{
    for (size_t i = 0; i < table->count; i++)
        result_destroy(&table->rows[i]);
    free(table->rows);
    *table = (struct results){0};
}
