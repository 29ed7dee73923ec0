/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/collect/log/log_internal.h"

#include <math.h>
#include <time.h>

#define NAMES_SHOWN 600 /* bytes of the list of columns in an error */

int log_table_column(struct log_table *t, const char *name, struct err *e)
{
    for (size_t i = 0; i < t->ncolumns; i++)
        if (strcmp(t->columns[i].name, name) == 0)
            return (int)i;
    if (t->ncolumns == LOG_COLUMNS_MAX)
        return err_set(e, ERR_DATA, "%s: more than %d columns", t->path, LOG_COLUMNS_MAX);
    if (mem_grow(&t->columns, t->ncolumns, &t->column_capacity, sizeof *t->columns, e))
        return -1;
    char *copy = mem_text(name, e);
    if (!copy)
        return -1;
    t->columns[t->ncolumns] = (struct log_column){.name = copy};
    return (int)t->ncolumns++;
}

int log_table_add_row(struct log_table *t, size_t line, struct err *e)
{
    if (mem_grow(&t->rows, t->nrows, &t->row_capacity, sizeof *t->rows, e))
        return -1;
    t->rows[t->nrows++] = (struct log_row){.line = line, .first = t->ncells};
    return 0;
}

static int add_cell(struct log_table *t, struct log_cell cell, struct err *e)
{
    if (mem_grow(&t->cells, t->ncells, &t->cell_capacity, sizeof *t->cells, e)) {
        free(cell.text);
        return -1;
    }
    t->cells[t->ncells++] = cell;
    t->rows[t->nrows - 1].n++;
    return 0;
}

/* Returns the length of text[0..n) without its commas, in dst, if they are between thousands, as in
 * 1,234.5, or n. Three digits behind a single comma may also be decimals. */
static size_t drop_commas(const char *text, size_t n, char dst[32])
{
    const char *point = memchr(text, '.', n);
    size_t whole = point ? (size_t)(point - text) : n, length = 0, commas = 0;

    for (size_t i = 0; i < n && length < 31; i++) {
        bool comma = text[i] == ',';
        if (comma && (i == 0 || i >= whole || (whole - i) % 4))
            return n;
        if (!comma)
            dst[length++] = text[i];
        commas += comma;
    }
    dst[length] = 0;
    return commas > (point ? 0 : 1) && strspn(dst, "0123456789.") == length &&
                   commas == (whole - commas - 1) / 3
               ? length : n;
}

/* Returns whether text[0..n) is a finite decimal number. strtod alone would also accept blanks,
 * hexadecimal, "nan" and "inf". */
static bool decode_number(const char *text, size_t n, double *value)
{
    char *end, plain[32];
    size_t length = drop_commas(text, n, plain);

    if (length < n) {
        text = plain;
        n = length;
    }
    if (!n || strspn(text, "0123456789+-.eE") < n)
        return false;
    *value = strtod(text, &end);
    return end == text + n && isfinite(*value);
}

/* Decodes "SS", "SS.sss" or "SS,sss", and what may follow: nothing, Z or +HH:MM. */
static bool decode_seconds(const char *text, double *seconds, double *zone)
{
    char digits[32], sign[2];
    size_t n = strspn(text, "0123456789.,"), hours, minutes = 0;
    int end = 0;

    *zone = 0;
    if (n == 0 || n >= sizeof digits)
        return false;
    memcpy(digits, text, n);
    digits[n] = 0;
    if (strchr(digits, ','))
        *strchr(digits, ',') = '.';
    if (!decode_number(digits, n, seconds) || *seconds > 61)
        return false;
    text += n;
    if (sscanf(text, "%1[+-]%2zu:%2zu%n", sign, &hours, &minutes, &end) == 3 && !text[end]) {
        *zone = (double)(hours * 3600 + minutes * 60) * (*sign == '-' ? -1 : 1);
        return true;
    }
    return !*text || strcmp(text, "Z") == 0;
}

/* Clocks as programs print them: a capital stands for a number, and a blank also for T. */
static const char *const clock_forms[] = {
    "Y-M-D H:N:S", "Y/M/D H:N:S", "H:N:S", "N:S", "D-H:N:S", "D day, H:N:S", "D days, H:N:S", NULL};

/* Decodes a text of one form; behind the seconds there may be a fraction and a zone. */
static bool decode_form(const char *form, const char *text, double *value)
{
    static const char letters[] = "YMDHN";
    int n[5] = {0};
    double seconds, zone;
    bool dated = *form == 'Y';

    for (const char *f = form; *f != 'S'; f++) {
        const char *letter = strchr(letters, *f);
        size_t digits = strspn(text, "0123456789");
        if (letter && (!digits || digits > 7))
            return false;
        if (!letter && *text != *f && !(*f == ' ' && strchr("T,", *text)))
            return false;
        if (letter)
            n[letter - letters] = atoi(text);
        text += letter ? digits : 1;
    }
    if (!decode_seconds(text, &seconds, &zone) || (*form != 'N' && n[4] > 59) ||
        (dated && (n[1] < 1 || n[1] > 12 || n[2] < 1 || n[2] > 31 || n[3] > 24)))
        return false;
    struct tm t = {.tm_year = n[0] - 1900, .tm_mon = n[1] - 1, .tm_mday = n[2]};
    *value = (dated ? (double)timegm(&t) - zone : n[2] * 86400.) + n[3] * 3600. + n[4] * 60. +
             seconds;
    return true;
}

/* Decodes a duration such as "1h 2m 3.5s", also without the last letter. */
static bool decode_duration(const char *text, double *value)
{
    static const struct {
        char letter;
        double seconds;
    } units[] = {{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}};
    size_t unit = 0, parts = 0;

    for (*value = 0; *text; parts++) {
        double number;
        size_t n = strspn(text, "0123456789.");
        if (!decode_number(text, n, &number))
            return false;
        text += n;
        while (unit < 3 && *text && *text != units[unit].letter)
            unit++;
        if (unit > 3 || (*text && *text != units[unit].letter) || (!*text && parts == 0))
            return false;
        *value += number * (*text ? units[unit++].seconds : 1);
        text += *text ? 1 + strspn(text + 1, " ") : 0;
    }
    return parts > 1;
}

static bool decode_clock(const char *text, double *value, enum log_clock *kind)
{
    int i = 0;

    if (decode_duration(text, value))
        return true;

    while (clock_forms[i] && !decode_form(clock_forms[i], text, value))
        i++;
    if (clock_forms[i])
        *kind = *clock_forms[i] == 'Y' ? LOG_DATE : *clock_forms[i] == 'H' ? LOG_HOURS : LOG_NUMBER;
    return clock_forms[i] != NULL;
}

/* Decodes the mean of "[0.9, 0.8]"; numpy's "np.float32(0.9)" is a number, too. */
static bool decode_list(const char *text, double *value)
{
    double sum = 0, one;
    size_t count = 0;

    if (*text != '[')
        return false;
    while (*++text) {
        size_t n = strspn(text, "0123456789+-.eE");
        if (n && strchr(",]) ", text[n]) && !isalnum((unsigned char)text[-1]) &&
            decode_number(text, n, &one)) {
            sum += one;
            count++;
        }
        text += n ? n - 1 : 0;
    }
    *value = sum / (double)count;
    return count > 0;
}

int log_table_set(struct log_table *t, int column, const char *text, struct err *e)
{
    struct log_cell cell = {.column = column};
    char word[256];

    text += strspn(text, " \t");
    size_t n = strlen(text);
    while (n && strchr(" \t\r", text[n - 1]))
        n--;
    n -= n > 1 && strchr(".,", text[n - 1]) ? 1 : 0; /* of a sentence */
    if (!n)
        return 0;
    snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word - 1), text);
    enum log_clock *kind = &t->columns[column].clock;
    if (decode_number(text, n, &cell.value) || decode_clock(word, &cell.value, kind) ||
        decode_list(text, &cell.value))
        return add_cell(t, cell, e);
    cell.text = mem_text(word, e);
    return cell.text ? add_cell(t, cell, e) : -1;
}

int log_table_set_number(struct log_table *t, const char *name, double value, struct err *e)
{
    int column = log_table_column(t, name, e);

    if (column < 0)
        return -1;
    return isfinite(value) ? add_cell(t, (struct log_cell){.column = column, .value = value}, e)
                           : log_table_set(t, column, isnan(value) ? "nan" : "inf", e);
}

const struct log_cell *log_table_get(const struct log_table *t, size_t i, int column)
{
    const struct log_row *row = &t->rows[i];

    for (size_t k = row->first; column >= 0 && k < row->first + row->n; k++)
        if (t->cells[k].column == column)
            return &t->cells[k];
    return NULL;
}

int log_table_ask(const struct log_table *t, struct err *e, const char *fmt, ...)
{
    struct buf names = {0};
    char why[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    for (size_t i = 0; i < t->ncolumns && names.length < NAMES_SHOWN; i++)
        buf_addf(&names, "%s%s", i ? ", " : "", t->columns[i].name);
    err_set(e, ERR_CONFIG, "%s: %s; its columns are %.*s", t->path, why, NAMES_SHOWN,
            names.data ? names.data : "none");
    buf_destroy(&names);
    return -1;
}

void log_table_destroy(struct log_table *t)
{
    for (size_t i = 0; i < t->ncolumns; i++)
        free(t->columns[i].name);
    for (size_t i = 0; i < t->ncells; i++)
        free(t->cells[i].text);
    free(t->columns);
    free(t->rows);
    free(t->cells);
    *t = (struct log_table){0};
}

/* ---- which column is what ---- */

#define NAME_SIZE 128
#define MANY 8 /* rows, of which most rise by chance in less than a hundredth of logs */

static const struct {
    enum log_role role;
    enum log_count count;
    const char *names; /* the first that a log has */
} known[] = {
    {LOG_TIME, LOG_EACH, "interval_s time_per_epoch epoch_time epoch_s epoch_seconds epoch_duration"},
    {LOG_TIME, LOG_PER_STEP, "step_time step_s iter_time iteration_time time_per_step"},
    {LOG_TIME, LOG_TOTAL, "wall_time timestamp datetime created_at date elapsed elapsed_s"
                          " elapsed_time time_elapsed"},
    {LOG_TIME, LOG_GUESS, "seconds duration time time_s"},
    {LOG_STEP, LOG_GUESS, "step global_step steps iteration iterations iter"},
    {LOG_EPOCH, LOG_GUESS, "epoch epochs"},
    {LOG_UNITS, LOG_EACH, "interval_units"},
    {LOG_UNITS, LOG_GUESS, "units samples num_samples images tokens num_tokens cells"},
    {LOG_UNITS, LOG_TOTAL, "num_input_tokens_seen"},
    {LOG_LOSS, LOG_GUESS, "loss train_loss train_loss_epoch training_loss epoch_loss"
                          " train_loss_step"},
    {LOG_VAL_LOSS, LOG_GUESS, "val_loss eval_loss valid_loss validation_loss"},
    {LOG_RUN_S, LOG_GUESS, "train_runtime training_time"}};

/* Writes name in small letters, with _ for everything but letters and digits. */
static void plain_name(const char *name, char dst[NAME_SIZE])
{
    snprintf(dst, NAME_SIZE, "%s", name);
    for (char *c = dst; *c; c++)
        *c = isalnum((unsigned char)*c) ? (char)tolower((unsigned char)*c) : '_';
}

static bool cut_end(char *text, const char *ending)
{
    size_t n = strlen(text), m = strlen(ending);

    if (n <= m || strcmp(text + n - m, ending))
        return false;
    text[n - m] = 0;
    return true;
}

static int find_column(const struct log_table *t, const char *name)
{
    char plain[NAME_SIZE], wanted[NAME_SIZE];

    plain_name(name, wanted);
    for (size_t i = 0; i < t->ncolumns; i++)
        if (strcmp(t->columns[i].name, name) == 0)
            return (int)i;
    for (size_t i = 0; i < t->ncolumns; i++) {
        plain_name(t->columns[i].name, plain);
        if (strcmp(plain, wanted) == 0)
            return (int)i;
    }
    return -1;
}

/* Finds the column of a role by a list of names between blanks; times may also be in ms. */
static bool find_names(const struct log_table *t, enum log_role role, const char *names,
                       struct log_columns *dst)
{
    char name[NAME_SIZE];

    for (size_t n; *names; names += n + (names[n] == ' ')) {
        n = strcspn(names, " ");
        for (int ms = 0; ms < (role == LOG_TIME ? 2 : 1); ms++) {
            snprintf(name, sizeof name, "%.*s%s", (int)n, names, ms ? "_ms" : "");
            dst->column[role] = find_column(t, name);
            dst->scale[role] = ms ? 1e-3 : 1;
            if (dst->column[role] >= 0)
                return true;
        }
    }
    return false;
}

/* Returns the seconds of the unit of a column of times: minutes or hours in brackets, as in
 * "time (min)", or ms. */
static double unit_of(const char *name)
{
    char plain[NAME_SIZE];
    const char *bracket = strpbrk(name, "([");

    plain_name(name, plain);
    const char *unit = bracket ? plain + (bracket - name) : "";
    return log_words_has(plain, "ms") ? 1e-3 : log_words_has(unit, "min minutes") ? 60
           : log_words_has(unit, "h hours") ? 3600 : 1;
}

/* Finds the column that the user names, which may end in :each, :step or :total, and behind or
 * without that in :gpu. */
static int find_named(const struct log_table *t, enum log_role role, const char *text,
                      const char *key, struct log_columns *dst, struct err *e)
{
    char name[NAME_SIZE];

    snprintf(name, sizeof name, "%s", text);
    dst->of_one_gpu |= role == LOG_UNITS && cut_end(name, ":gpu");
    dst->count[role] = cut_end(name, ":each")    ? LOG_EACH
                       : cut_end(name, ":step")  ? LOG_PER_STEP
                       : cut_end(name, ":total") ? LOG_TOTAL
                                                 : LOG_GUESS;
    dst->column[role] = find_column(t, name);
    dst->scale[role] = role == LOG_TIME ? unit_of(name) : 1;
    if (dst->column[role] >= 0)
        return 0;
    return log_table_ask(t, e, "there is no column '%s' (--column %s=NAME, or log.%s in study.yaml)",
                         name, key, key);
}

/* Returns the name of a quality that programs measure on validation images, or NULL. */
static const char *quality_of(const char *column)
{
    static const char *const before[] = {"val_", "valid_", "validation_", "eval_", NULL};
    char plain[NAME_SIZE];

    plain_name(column, plain);
    if (strcmp(plain, "quality") == 0 || strcmp(plain, "pseudo_dice") == 0)
        return column;
    for (int i = 0; before[i]; i++) {
        const char *rest = plain + strlen(before[i]);
        if (!text_begins(plain, before[i]))
            continue;
        if (strstr(rest, "iou") || strstr(rest, "io_u") || strstr(rest, "jaccard"))
            return "iou";
        if (strcmp(rest, "accuracy") == 0 || strcmp(rest, "acc") == 0)
            return "accuracy";
        return strstr(rest, "dice") ? column : NULL;
    }
    return NULL;
}

/* Returns how good a known quality is as the measure of a run: IoU before all others. */
static int rank_quality(const char *name)
{
    return !name ? 0 : strcmp(name, "iou") == 0 ? 3 : strcmp(name, "accuracy") == 0 ? 1 : 2;
}

static int find_quality(const struct log_table *t, const struct log_form *form, bool whole,
                        struct log_columns *dst, struct err *e)
{
    const char *named = form->quality ? form->quality : form->quality_name, *found = NULL;

    for (size_t i = 0; i < t->ncolumns; i++) {
        const char *name = quality_of(t->columns[i].name);
        if (rank_quality(name) > rank_quality(found) &&
            (!named || strcasecmp(name, named) == 0 || strcasecmp(name, "quality") == 0)) {
            found = name;
            dst->column[LOG_QUALITY] = (int)i;
        }
    }
    if (named && !found && (whole || find_column(t, named) >= 0) &&
        find_named(t, LOG_QUALITY, named, "quality", dst, e))
        return -1;
    snprintf(dst->metric, sizeof dst->metric, "%s",
             form->quality_name ? form->quality_name : named ? named : found ? found : "");
    return 0;
}

/* Returns whether the column is a rate, such as tokens_per_second, images/s or ns_per_day. Sets its
 * scale to units per second, the unit, "tokens" or "ns", and *one if it is the rate of one GPU. */
static bool decode_rate(const char *column, double *scale, char unit[24], bool *one)
{
    static const struct {
        const char *name;
        double seconds;
    } times[] = {{"_per_second", 1}, {"_per_sec", 1}, {"_per_s", 1}, {"_per_minute", 60},
                 {"_per_min", 60}, {"_per_hour", 3600}, {"_per_day", 86400}};
    char plain[NAME_SIZE], text[NAME_SIZE];
    const char *slash = strrchr(column, '/');

    snprintf(text, sizeof text, "%.*s%s%s", slash ? (int)(slash - column) : 0, column,
             slash ? "_per_" : "", slash ? slash + 1 : column);
    plain_name(text, plain);
    *one = cut_end(plain, "_per_gpu") || cut_end(plain, "_per_device");
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        if (!cut_end(plain, times[i].name))
            continue;
        const char *last = strrchr(plain, '_') ? strrchr(plain, '_') + 1 : plain;
        *scale = 1 / times[i].seconds;
        snprintf(unit, 24, "%s", last);
        return strncmp(plain, "eval_", 5) && strncmp(plain, "val_", 4) &&
               strncmp(plain, "test_", 5) && strcmp(last, "steps") && strcmp(last, "iterations");
    }
    return false;
}

bool log_column_is_rate(const char *name)
{
    double scale;
    char unit[24];
    bool one;

    return decode_rate(name, &scale, unit, &one);
}

/* Names the unit after its column: "tokens" if that speaks of tokens. */
static void name_unit(const char *column, char dst[24])
{
    static const char *const units[] = {"token", "sample", "image", "cell", NULL};
    char plain[NAME_SIZE];

    plain_name(column, plain);
    snprintf(dst, 24, "%.23s", strcmp(plain, "interval_units") ? plain : "");
    for (int i = 0; units[i]; i++)
        if (strstr(plain, units[i]))
            snprintf(dst, 24, "%ss", units[i]);
}

int log_columns_find(const struct log_table *t, const struct log_form *form, bool whole,
                     struct log_columns *dst, struct err *e)
{
    const struct {
        enum log_role role;
        const char *key, *name;
    } named[] = {{LOG_TIME, "time", form->time}, {LOG_STEP, "step", form->step},
                 {LOG_UNITS, "units", form->units}};

    *dst = (struct log_columns){0};
    for (int i = 0; i < LOG_NROLES; i++)
        dst->column[i] = -1;
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
        if (named[i].name && find_named(t, named[i].role, named[i].name, named[i].key, dst, e))
            return -1;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (dst->column[known[i].role] < 0 && find_names(t, known[i].role, known[i].names, dst))
            dst->count[known[i].role] = known[i].count;
    if (dst->count[LOG_TIME] == LOG_GUESS && find_column(t, "dt") >= 0 &&
        find_column(t, "time") == dst->column[LOG_TIME] && !form->time)
        dst->column[LOG_TIME] = -1; /* a simulation's */
    if (dst->count[LOG_TIME] == LOG_GUESS && find_column(t, "data_time") >= 0 &&
        find_column(t, "time") == dst->column[LOG_TIME])
        dst->count[LOG_TIME] = LOG_PER_STEP; /* OpenMMLab's, which has both of each iteration */
    int units = dst->column[LOG_UNITS];
    bool one = false;
    if (form->units &&
        decode_rate(t->columns[units].name, &dst->scale[LOG_RATE], dst->unit, &one)) {
        dst->of_one_gpu |= one;
        dst->column[LOG_RATE] = units;
        dst->column[LOG_UNITS] = -1;
    } else if (units >= 0)
        name_unit(t->columns[units].name, dst->unit);
    for (size_t i = 0; units < 0 && i < t->ncolumns && dst->column[LOG_RATE] < 0; i++)
        if (decode_rate(t->columns[i].name, &dst->scale[LOG_RATE], dst->unit, &dst->of_one_gpu))
            dst->column[LOG_RATE] = (int)i;
    if (find_quality(t, form, whole, dst, e))
        return -1;
    if (dst->column[LOG_TIME] < 0 && dst->column[LOG_RUN_S] < 0 && dst->column[LOG_RATE] < 0)
        return log_table_ask(t, e, "none of its columns is known as a time: let the program log the "
                             "seconds of each epoch as epoch_time, or name a column, --column "
                             "time=NAME (log.time in study.yaml)");
    return 0;
}

/* Returns whether few values that do not always rise may be a clock that was set back: most rise,
 * and by a part of themselves or by equal amounts, as times of rows hardly do. */
static bool may_be_set_back(const double *values, size_t n)
{
    double least = INFINITY, most = 0, share = INFINITY;
    size_t rises = 0;

    for (size_t i = 1; i < n; i++) {
        double rise = values[i] - values[i - 1];
        if (rise <= 0)
            continue;
        rises++;
        least = fmin(least, rise);
        most = fmax(most, rise);
        share = fmin(share, rise / values[i - 1]);
    }
    return 2 * rises >= n - 1 && rises > 1 && (share > 0.2 || (rises > 2 && most < 1.5 * least));
}

enum log_count log_columns_guess(const double *values, size_t n)
{
    size_t rises = 0;

    for (size_t i = 1; i < n; i++)
        rises += values[i] > values[i - 1];
    if (n && values[0] > LOG_DATE_S)
        return LOG_TOTAL;
    if (rises + 1 < n && (n >= MANY ? rises > (n - 1) * 3 / 4 : may_be_set_back(values, n)))
        return LOG_GUESS; /* a clock that was set back, or times of rows that happen to rise */
    if (rises + 1 < n || n < 2)
        return LOG_EACH;
    return values[0] <= 0 || values[n - 1] >= values[0] * (n < 5 ? 2.5 : (double)n / 2)
               ? LOG_TOTAL
               : LOG_GUESS;
}
