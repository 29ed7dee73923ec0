/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/collect/log/log_file.h"

#include <sys/stat.h>

#include "launcher/collect/log/log_internal.h"
#include "src/atomicfile.h"
#include "src/run/epoch_csv.h"

static int set_column(struct log_form *form, const char *text, struct err *e)
{
    const struct {
        const char *name;
        const char **dst;
    } members[] = {{"time=", &form->time}, {"step=", &form->step}, {"units=", &form->units},
                   {"quality=", &form->quality}, {"pattern=", &form->pattern}};

    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        size_t n = strlen(members[i].name);
        if (strncmp(text, members[i].name, n) == 0 && text[n]) {
            *members[i].dst = text + n;
            return 0;
        }
    }
    return err_set(e, ERR_USAGE, "--column %s: must be time=NAME, step=NAME, units=NAME, "
                   "quality=NAME or pattern=REGEX", text);
}

bool log_form_is_lower(const struct log_form *form, const char *name)
{
    static const char *const errors[] = {"loss", "error", "perplexity", "mse", "mae"};
    static const char *const words[] = {
        "ppl", "wer", "cer", "fid", "nll", "bpc", "bpb", "err", "distance", "epe", "lpips", "kid",
        "mape", "rmsle", "mase", "crps", "brier", "ece", "hd95", "hausdorff", "rms", "residual"};

    if (form->better && strcmp(form->better, "auto") != 0)
        return strcmp(form->better, "lower") == 0;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (strcasestr(name, errors[i]))
            return true;
    for (const char *at = name; *at; at += *at && !isalnum((unsigned char)*at)) {
        size_t n = 0;
        while (isalnum((unsigned char)at[n]))
            n++;
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
            if (strlen(words[i]) == n && strncasecmp(at, words[i], n) == 0)
                return true;
        at += n;
    }
    return false;
}

int log_form_decode(struct log_form_args *args, struct log_form *dst, struct err *e)
{
    *dst = (struct log_form){.unit = args->unit};
    for (size_t i = 0; i < args->columns.count; i++)
        if (set_column(dst, args->columns.values[i], e))
            return -1;
    if (!args->quality)
        return 0;
    const char *colon = strrchr(args->quality, ':');
    bool cut = colon && (strcmp(colon, ":lower") == 0 || strcmp(colon, ":higher") == 0);
    size_t n = cut ? (size_t)(colon - args->quality) : strlen(args->quality);
    if (n == 0 || n >= sizeof args->name)
        return err_set(e, ERR_USAGE, "--quality %s: must be a name of 1 to %zu bytes", args->quality,
                       sizeof args->name - 1);
    snprintf(args->name, sizeof args->name, "%.*s", (int)n, args->quality);
    dst->quality_name = args->name;
    dst->better = cut ? colon + 1 : NULL;
    return 0;
}

/* ---- names of logs ---- */

void log_name_encode(char dst[LOG_NAME_SIZE], const char *engine, int gpus, long seed, bool first)
{
    char part[64] = "", tail[32] = "";

    if (strcmp(engine, "horovod") == 0)
        strcpy(part, "hvd_");
    else if (strcmp(engine, "embedded") && strcmp(engine, "native"))
        snprintf(part, sizeof part, "%.60s_", engine);
    if (!first)
        snprintf(tail, sizeof tail, "_s%ld", seed);
    snprintf(dst, LOG_NAME_SIZE, "log_%s%d%s.csv", part, gpus, tail);
}

/* Reads a positive number of at most 7 digits at *p and advances *p past it. Returns 0 if there
 * is none. */
static int take_number(const char **p)
{
    int value = 0;

    for (int digits = 0; isdigit((unsigned char)**p); (*p)++) {
        if (++digits > 7)
            return 0;
        value = 10 * value + (**p - '0');
    }
    return value;
}

const char *log_name_end(int i)
{
    static const char *const ends[] = {".csv", ".log", ".txt", ".json", ".jsonl", ".tfevents",
                                       NULL};

    return ends[i];
}

bool log_name_ends(const char *name)
{
    const char *dot = strrchr(name, '.'), *end;

    for (int i = 0; dot && (end = log_name_end(i)); i++)
        if (strcmp(dot, end) == 0)
            return true;
    return false;
}

void log_name_set_end(char name[LOG_NAME_SIZE], const char *path)
{
    const char *own = strstr(path, ".tfevents") ? ".tfevents"
                      : log_name_ends(path)     ? strrchr(path, '.')
                                                : ".txt";
    size_t n = (size_t)(strrchr(name, '.') - name);

    snprintf(name + n, LOG_NAME_SIZE - n, "%s", own);
}

bool log_name_decode(const char *name, char *engine, size_t engine_size, int *gpus, long *seed)
{
    const char *p = name + 4, *end;

    if (strncmp(name, "log_", 4))
        return false;
    snprintf(engine, engine_size, "native");
    if (!isdigit((unsigned char)*p)) {
        for (end = p; *end && !(*end == '_' && isdigit((unsigned char)end[1])); end++)
            if (!isalnum((unsigned char)*end) && !strchr("._-", *end))
                return false;
        if (!*end)
            return false;
        snprintf(engine, engine_size, "%.*s", (int)(end - p), p);
        if (strcmp(engine, "hvd") == 0)
            snprintf(engine, engine_size, "horovod");
        p = end + 1;
    }
    *gpus = take_number(&p);
    *seed = 1;
    if (strncmp(p, "_s", 2) == 0) {
        p += 2;
        *seed = take_number(&p);
    }
    return *gpus > 0 && *seed > 0 && *p == '.' && p == strrchr(p, '.') && log_name_ends(p);
}

/* ---- reading a log ---- */

char *log_file_load(const char *path, size_t *n, struct err *e)
{
    char *text = atomicfile_read(path, LOG_FILE_MAX, n, e);
    struct stat st;

    if (!text && stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > (off_t)LOG_FILE_MAX)
        e->code = ERR_CONFIG;
    return text;
}

/* The tolerance between the clock of the training and the sum of its epochs: different clocks,
 * and rounding to six decimals. */
#define CLOCK_SHARE 0.01
#define CLOCK_S 0.01

static int check_clocks(const struct result *r, const char *path, struct err *e)
{
    const double *seconds = r->curve->seconds;

    if (r->training_time > CURVE_LONGEST_S || r->test_time > CURVE_LONGEST_S)
        return err_set(e, ERR_DATA, "%s: training takes %g s, evaluation %g s: a time is wrong",
                       path, r->training_time, r->test_time);
    for (size_t i = 0; i < r->curve->n; i++)
        if (seconds[i] <= 0 || seconds[i] > CURVE_LONGEST_S)
            return err_set(e, ERR_DATA, "%s: epoch %zu takes %g s: a time is wrong", path, i,
                           seconds[i]);
    return 0;
}

/* Decodes n bytes, which a NUL follows. Checks that the training did not take less time than its
 * epochs together, apart from rounding (CLOCK_SHARE, CLOCK_S). */
static int decode_reference(const char *text, size_t n, const char *path, struct result *r,
                            struct err *e)
{
    struct epoch_csv log;
    double sum = 0;

    if (epoch_csv_decode(text, n, path, &log, e))
        return -1;
    r->training_time = log.rows[0].training_time;
    r->test_time = log.rows[0].test_time;
    r->quality.iou = log.rows[0].iou;
    r->curve = curve_create(log.count, 0, e);
    for (size_t i = 0; r->curve && i < log.count; i++) {
        r->curve->seconds[i] = log.rows[i].time_per_epoch;
        r->curve->loss[i] = log.rows[i].loss;
        sum += log.rows[i].time_per_epoch;
    }
    epoch_csv_destroy(&log);
    int rc = !r->curve ? -1
             : sum > (1 + CLOCK_SHARE) * r->training_time + CLOCK_S
                 ? err_set(e, ERR_DATA, "%s: its epochs take %.6g s together, but training_time is "
                           "%.6g s: a time is wrong", path, sum, r->training_time)
                 : check_clocks(r, path, e);
    if (rc) {
        curve_destroy(r->curve);
        r->curve = NULL;
        return -1;
    }
    curve_measure(r->curve, r);
    return 0;
}

int log_file_read_reference(const char *path, struct result *r, struct err *e)
{
    size_t n;
    char *text = log_file_load(path, &n, e);
    int rc = text ? decode_reference(text, n, path, r, e) : -1;

    free(text);
    return rc;
}

/* Texts of programs that are known: both words are in each of them, and the pattern's named groups
 * are columns that log_table.c knows. */
static const struct line_form {
    const char *words[2], *pattern;
    bool printed; /* it is the program's output, not a file that it writes */
} line_forms[] = {
    /* nnU-Net */
    {{"Epoch time: ", "train_loss "},
     "Epoch (?<epoch>\\d+) *$|train_loss (?<loss>\\S+)|val_loss (?<val_loss>\\S+)|"
     "Pseudo dice (?<pseudo_dice>\\[.*\\])|Epoch time: (?<epoch_time>[0-9.]+)", false},
    /* GROMACS, VASP, WRF, OpenFOAM and Quantum ESPRESSO */
    {{"(ns/day)", "Performance:"}, "^Performance: +(?<ns_per_day>[0-9.]+)", false},
    {{"LOOP+:", ": real time"}, "LOOP\\+: .*: real time +(?<step_time>[0-9.]+)", false},
    {{"Timing for main: time ", " elapsed seconds"},
     "Timing for main: .* domain +1: +(?<step_time>[0-9.]+) elapsed seconds", false},
    {{"ExecutionTime = ", "ClockTime = "}, "^ExecutionTime = .*ClockTime = (?<elapsed>[0-9.]+) s",
     true},
    {{"Program PWSCF", "s WALL"}, "^ +PWSCF +:.* CPU +(?<elapsed>[0-9dhm. ]+)s? WALL", true},
    /* HPL, HPCG and Ultralytics */
    {{"HPLinpack ", "Gflops"}, "^W\\S+ +(?:\\d+ +){4}[0-9.]+ +(?<gflop_per_s>[0-9.]+e[-+]\\d+)",
     true},
    {{"HPCG", "GFLOP/s rating of="}, "VALID with a GFLOP/s rating of=(?<gflop_per_s>[0-9.]+)",
     true},
    {{"GPU_mem ", "100%"},
     "^ +(?<epoch>\\d+)/\\d+ +[0-9.]+G .*100%[^0-9]+(?<step>\\d+)/\\d+ (?:\\[[^]]*?)?"
     "(?<step_time>[0-9.]+)(?:it/s|s/it)|^ +all +\\d+ +\\d+ .* (?<quality>[0-9.]+) *$", true},
};

static const struct line_form *find_line_form(const char *text)
{
    for (size_t i = 0; i < sizeof line_forms / sizeof *line_forms; i++)
        if (strstr(text, line_forms[i].words[0]) && strstr(text, line_forms[i].words[1]))
            return &line_forms[i];
    return NULL;
}

const char *log_file_printed(const char *text)
{
    const struct line_form *form = find_line_form(text);

    return form && form->printed ? form->pattern : NULL;
}

enum form { UNKNOWN, EVENTS, MLLOG, REFERENCE, LINES, JSON, CSV };

/* Returns whether the text begins like the reference's table. Its header may be damaged. */
static bool is_reference(const char *text)
{
    char begin[256];
    int found = 0;

    snprintf(begin, sizeof begin, "%s", text);
    found += strcasestr(begin, "time_per_epoch") != NULL;
    found += strcasestr(begin, "training_time") != NULL;
    found += strcasestr(begin, "test_time") != NULL;
    return found >= 2 || !*begin;
}

/* Recognises the form of a file by its bytes, which a NUL follows. */
static enum form find_form(const char *text, size_t n)
{
    if (log_container_is_events(text, n))
        return EVENTS;
    if (memchr(text, '\0', n))
        return UNKNOWN;
    if (mllog_file_matches(text))
        return MLLOG;
    if (log_container_is_json(text))
        return JSON;
    if (is_reference(text))
        return REFERENCE;
    if (find_line_form(text))
        return LINES;
    return log_container_is_csv(text) ? CSV : UNKNOWN;
}

bool log_file_is_known(const char *path, bool *stated)
{
    struct err ignored;
    size_t n;
    char *text = atomicfile_read(path, LOG_FILE_MAX, &n, &ignored);
    enum form form = text ? find_form(text, n) : UNKNOWN;

    free(text);
    if (stated)
        *stated = form == MLLOG;
    return form != UNKNOWN;
}

/* Reads the rows of text, which is changed. */
static int read_rows(char *text, size_t n, enum form form, const char *pattern,
                     struct log_table *t, struct result *r, struct err *e)
{
    if (pattern && memchr(text, '\0', n))
        return err_set(e, ERR_DATA, "%s: it has a byte 0, of which a text has none", t->path);
    if (pattern)
        return log_pattern_read(text, pattern, t, e);
    switch (form) {
    case EVENTS: return log_container_read_events(t->path, t, e);
    case MLLOG: return mllog_file_read(text, t, r, e);
    case LINES: return log_pattern_read(text, find_line_form(text)->pattern, t, e);
    case JSON: return log_container_read_json(text, n, t, e);
    case REFERENCE:
    case CSV: return log_container_read_csv(text, t, e);
    case UNKNOWN: break;
    }
    if (memchr(text, '\0', n))
        return err_set(e, ERR_DATA, "%s: %s", t->path, memcmp(text, "\xff\xfe", 2) == 0
                       ? "it is UTF-16: save it as UTF-8 (iconv -f UTF-16 -t UTF-8)"
                       : "it is not a log: it has binary data");
    return err_set(e, ERR_CONFIG, "%s: its form is not known (a table with a header, JSON, events of "
                   "TensorBoard, MLLOG); for other lines give a pattern, such as --column "
                   "pattern='epoch (?<epoch>[0-9]+) took (?<epoch_time>[0-9.]+)' (log.pattern in "
                   "study.yaml)", t->path);
}

/* Returns whether anything is said about columns that the reference's table does not have. */
static bool asks_more(const struct log_form *form)
{
    return form->pattern || form->time || form->units || form->quality || form->per_step > 0 ||
           form->per_run > 0 || (form->quality_name && strcasecmp(form->quality_name, "iou"));
}

/* Decodes n bytes of a file, which a NUL follows. */
static int decode_log(char *text, size_t n, const char *path, const struct log_form *form,
                      struct result *r, struct err *e)
{
    struct log_table t = {.path = path};
    enum form found = find_form(text, n);
    int rc;

    if (found == REFERENCE && !form->pattern) {
        struct result checked = *r;
        if (decode_reference(text, n, path, &checked, e))
            return -1;
        if (!asks_more(form)) {
            *r = checked;
            return 0;
        }
        curve_destroy(checked.curve);
    }
    rc = read_rows(text, n, found, form->pattern, &t, r, e);
    if (rc == 0)
        rc = log_intervals_fill(&t, form, r, e);
    log_table_destroy(&t);
    if (rc && form->pattern && e->code == ERR_DATA) /* what it matched may be something else */
        e->code = ERR_CONFIG;
    return rc;
}

int log_file_read(const char *path, const struct log_form *form, struct result *r, struct err *e)
{
    static const struct log_form none;
    size_t n;
    char *text = log_file_load(path, &n, e);
    struct result filled = *r;
    int rc;

    if (!text)
        return -1;
    filled.curve = NULL;
    filled.stepped = 0;
    rc = decode_log(text, n, path, form ? form : &none, &filled, e);
    free(text);
    if (rc == 0 && check_clocks(&filled, path, e)) {
        curve_destroy(filled.curve);
        rc = -1;
    }
    if (rc == 0)
        *r = filled;
    return rc;
}
