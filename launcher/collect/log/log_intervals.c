/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/collect/log/log_internal.h"

#include <math.h>

#include "src/stat.h"

#define SURE 5 /* rows that rise like times of day by chance in less than a hundredth of logs */
#define COARSE 0.05 /* of an interval: where a clock counts in larger steps, times are means */
#define EVALUATIONS 2 /* behind the last epoch */
#define PERCENT 20  /* a larger value is not that of a loss or a logarithm */
#define APART 1.1   /* rates that differ by more are not those of one thing */

struct tick { /* a row that ends an interval */
    size_t row;
    double key;  /* its step or epoch; NaN if the log has neither */
    double time; /* a duration or a clock */
    double units;
};

struct reader {
    const struct log_table *t;
    const struct log_form *form;
    struct log_columns c;
    double *keys; /* of all rows; a row without one has that of the row before */
    struct tick *ticks;
    size_t nticks;
    double start;       /* of a clock: when the first interval starts */
    size_t first;       /* the first row of that interval */
    double before;      /* the step that it follows; NaN: unknown */
    double done_before; /* the units that were done by then */
    double training_s;  /* of all intervals; NaN: unknown */
    bool guessed;       /* that times are of rows, from their numbers */
    bool of_day;        /* the clock is a time of day */
    bool whole;         /* it shows all starts of the job */
    double *times;      /* of rows that may end an interval, otherwise NaN; of a clock in the
                         * seconds of the job */
    double step_s;      /* in which the clock counts; 0: unknown */
    bool *undone;       /* rows whose work another start did again, and those of an evaluation */
    struct err *e;
};

static bool is_missing(const char *text)
{
    static const char *const words[] = {"nan", "na", "n/a", "none", "null", "-", "?", NULL};
    int i = 0;

    while (words[i] && strcasecmp(text, words[i]))
        i++;
    return words[i] != NULL;
}

/* Returns whether row i has a loss of a run that diverged: nan or inf, where the log also has a
 * quality, which such a run has lost. */
static bool has_diverged(const struct reader *r, size_t i)
{
    const struct log_cell *cell = log_table_get(r->t, i, r->c.column[LOG_LOSS]);
    const char *text = cell && cell->text ? cell->text : "";

    text += *text == '-' || *text == '+';
    return r->c.column[LOG_QUALITY] >= 0 &&
           (strcasecmp(text, "nan") == 0 || strncasecmp(text, "inf", 3) == 0 ||
            strcmp(text, "?") == 0); /* how NaN in JSON is read */
}

static bool is_with_comma(const char *text)
{
    return strchr(text, ',') && isdigit((unsigned char)*text) &&
           strspn(text, "0123456789.,") == strlen(text);
}

/* Sets *value to the number of row i in a role's column, or NaN if there is none. Only some roles
 * may have NA or nan in its place. Returns 0 or -1. */
static int number_of(const struct reader *r, size_t i, enum log_role role, double *value)
{
    int column = r->c.column[role];
    const struct log_cell *cell = log_table_get(r->t, i, column);

    *value = NAN;
    if (!cell)
        return 0;
    if (cell->text && is_missing(cell->text) &&
        (role == LOG_QUALITY || role == LOG_VAL_LOSS || role == LOG_RATE))
        return 0;
    if (role == LOG_LOSS && has_diverged(r, i))
        return 0;
    if (cell->text && is_with_comma(cell->text))
        return log_table_refuse(r->t, i, r->e, "%s is '%.40s': a comma may separate thousands or "
                                "decimals; let the program print the number without one, decimals "
                                "behind a dot (if these are two numbers, name both in the pattern)",
                                r->t->columns[column].name, cell->text);
    if (cell->text)
        return log_table_refuse(r->t, i, r->e, "%s is '%.40s', not a finite number",
                                r->t->columns[column].name, cell->text);
    *value = cell->value * (r->c.scale[role] > 0 ? r->c.scale[role] : 1);
    return 0;
}

/* Collects the numbers of a column. Returns their count, or -1. */
static long collect(const struct reader *r, enum log_role role, double *dst)
{
    long n = 0;

    for (size_t i = 0; i < r->t->nrows; i++) {
        if (number_of(r, i, role, &dst[n]))
            return -1;
        n += !isnan(dst[n]);
    }
    return n;
}

/* Decides what the numbers of a column count, unless that is known. */
static int decide_count(struct reader *r, enum log_role role, const char *key)
{
    int column = r->c.column[role];
    const char *name = column >= 0 ? r->t->columns[column].name : "";
    double *values = mem_zero(r->t->nrows + 1, sizeof *values, r->e);
    long n = values && column >= 0 ? collect(r, role, values) : -1;
    enum log_clock clock = column >= 0 ? r->t->columns[column].clock : LOG_NUMBER;
    bool of_day = clock == LOG_HOURS && n > 0 && log_clock_is_of_day(values, (size_t)n);

    if (clock == LOG_DATE || (of_day && n >= SURE && r->c.count[role] == LOG_GUESS))
        r->c.count[role] = LOG_TOTAL;
    if (n > 0 && r->c.count[role] == LOG_GUESS) {
        r->c.count[role] = of_day ? LOG_GUESS : log_columns_guess(values, (size_t)n);
        r->guessed |= role == LOG_TIME && r->c.count[role] == LOG_EACH;
    }
    if (n > 0 && role == LOG_TIME && values[0] > 1e11) /* a date in ms */
        r->c.scale[role] *= 1e-3;
    free(values);
    if (!values || (column >= 0 && n < 0))
        return -1;
    if (column < 0 || n == 0 || r->c.count[role] != LOG_GUESS)
        return 0;
    return log_table_ask(r->t, r->e, "'%s' rises: does it count from the start of the run, or "
                         "for each row? type --column %s='%s:total' or '%s:each' (log.%s in "
                         "study.yaml)", name, key, name, name, key);
}

static bool has(const struct reader *r, size_t i, enum log_role role)
{
    return log_table_get(r->t, i, r->c.column[role]) != NULL;
}

/* Returns whether row i has what ends an interval: a time, with a clock also a loss if any row has
 * one; in a log without times a rate or, if the time of the whole run is known, a loss. */
static bool has_end(const struct reader *r, size_t i)
{
    const int *column = r->c.column;
    bool lossless = column[LOG_LOSS] < 0, clock = r->c.count[LOG_TIME] == LOG_TOTAL;

    if (column[LOG_TIME] >= 0)
        return has(r, i, LOG_TIME) && (!clock || lossless || has(r, i, LOG_LOSS));
    return has(r, i, column[LOG_RUN_S] < 0 ? LOG_RATE : lossless ? LOG_RUN_S : LOG_LOSS);
}

/* Reads the steps of all rows, or else their epochs. Iterations that begin anew with each epoch are
 * counted on; a row of a validation, which may have its own, is at the step of the row before. */
static int read_keys(struct reader *r)
{
    bool both = r->c.column[LOG_STEP] >= 0 && r->c.column[LOG_EPOCH] >= 0;
    enum log_role role = r->c.column[LOG_STEP] >= 0 ? LOG_STEP : LOG_EPOCH;
    double last = NAN, value, epoch = NAN, last_epoch = NAN, before = 0;

    for (size_t i = 0; i < r->t->nrows; i++) {
        bool end = has_end(r, i);
        if (number_of(r, i, role, &r->keys[i]) || number_of(r, i, LOG_EPOCH, &value))
            return -1;
        epoch = isnan(value) ? epoch : value; /* it may stand in a row above */
        if (both && end && r->keys[i] + before <= last && epoch > last_epoch)
            before = last + (r->keys[i] == 0); /* its steps count from 0 */
        r->keys[i] += before;
        if (isnan(r->keys[i]) || (both && r->keys[i] < last && epoch >= last_epoch && !end))
            r->keys[i] = last;
        last = r->keys[i];
        last_epoch = end ? epoch : last_epoch;
    }
    return 0;
}

/* Reads the times of all rows that may end an interval, and of a clock when its first begins. */
static int read_times(struct reader *r)
{
    bool clock = r->c.count[LOG_TIME] == LOG_TOTAL;
    int column = r->c.column[LOG_TIME];
    double *values = mem_zero(r->t->nrows + 1, sizeof *values, r->e), time, first = NAN;
    size_t n = 0, k = 0;

    for (size_t i = 0; values && i < r->t->nrows; i++) {
        if (number_of(r, i, LOG_TIME, &time)) {
            free(values);
            return -1;
        }
        first = isnan(first) ? time : first;
        r->times[i] = has_end(r, i) ? time : NAN;
        if (!isnan(r->times[i]))
            values[n++] = time;
    }
    if (!values || !clock || column < 0) {
        free(values);
        return values ? 0 : -1;
    }
    enum log_clock kind = r->t->columns[column].clock;
    r->of_day = kind == LOG_HOURS && log_clock_is_of_day(values, n);
    r->step_s = log_clock_step(values, n);
    int rc = log_clock_to_job(values, n, r->form, r->of_day, kind, r->t,
                              r->t->columns[column].name, r->e);
    for (size_t i = 0; i < r->t->nrows; i++)
        r->times[i] = isnan(r->times[i]) ? NAN : values[k++];
    /* a clock that shows neither a date nor the hours of a day began with the run */
    r->start = first > LOG_DATE_S || r->of_day ? first : 0;
    r->whole = rc > 0;
    free(values);
    return rc < 0 ? -1 : 0;
}

/* Drops the intervals from this step on, which an earlier start did, as they were done again. */
static void undo(struct reader *r, size_t row, double key)
{
    size_t from = row;

    while (r->nticks && r->ticks[r->nticks - 1].key >= key)
        r->nticks--;
    while (from && r->keys[from - 1] >= key)
        r->undone[--from] = true;
}

/* Returns whether the rows behind the last tick are of a few lines, and have no step or epoch of
 * their own, as those of evaluations behind the last epoch. */
static bool is_behind(const struct reader *r)
{
    size_t i = r->ticks[r->nticks - 1].row + 1, lines = 0;

    for (; i < r->t->nrows && !has(r, i, LOG_STEP) && !has(r, i, LOG_EPOCH); i++)
        lines += r->t->rows[i].line != r->t->rows[i - 1].line;
    return i == r->t->nrows && lines <= EVALUATIONS;
}

/* Decides whether a row at the last tick's step or before ends an interval. */
static int find_again(struct reader *r, size_t i, struct tick *tick, bool *found)
{
    struct tick *last = &r->ticks[r->nticks - 1];
    bool clock = r->c.count[LOG_TIME] == LOG_TOTAL, timed = r->c.column[LOG_TIME] >= 0,
         over = r->t->rows[i].line == r->t->rows[last->row].line;

    *found = false;
    if (over && !(tick->key < last->key)) { /* what a terminal shows is the last */
        last->time = tick->time;
        last->row = i;
    } else if (timed && !clock && is_behind(r)) {
        r->undone[i] = true;
    } else if (timed && !clock && !has(r, i, LOG_LOSS) && has(r, last->row, LOG_LOSS)) {
        r->keys[i] = last->key; /* of a validation */
    } else if (r->form->nstarts > 1 && clock) {
        r->undone[i] = tick->key < last->key; /* as it will be, or was, done again */
    } else if (r->form->nstarts > 1) {
        undo(r, i, tick->key);
        *found = true;
    } else if (tick->key < last->key) {
        return log_table_refuse(r->t, i, r->e, "step or epoch %g follows %g: two runs are mixed, "
                                "or several ranks have written",
                                tick->key, last->key);
    } else if (timed && !clock) {
        return log_table_refuse(r->t, i, r->e, "step or epoch %g is there twice: two runs are "
                                "mixed, several ranks have written, or it has several rows and no "
                                "column is named as their step", tick->key);
    }
    return 0;
}

/* Sets *found to whether row i ends an interval, whose tick is then filled. */
static int find_tick(struct reader *r, size_t i, struct tick *tick, bool *found)
{
    const struct tick *last = r->nticks ? &r->ticks[r->nticks - 1] : NULL;
    bool clock = r->c.count[LOG_TIME] == LOG_TOTAL, timed = r->c.column[LOG_TIME] >= 0;

    *tick = (struct tick){.row = i, .key = r->keys[i], .time = r->times[i], .units = NAN};
    *found = timed ? !isnan(tick->time) : has_end(r, i);
    if (timed && !clock && tick->time < 0)
        return log_table_refuse(r->t, i, r->e, "a time is negative");
    if (!*found || !last)
        return 0;
    if (clock && tick->time < last->time)
        return log_table_refuse(r->t, i, r->e, "time runs backwards: %.12g s follows %.12g s",
                                tick->time, last->time);
    bool over = r->t->rows[i].line == r->t->rows[last->row].line;
    if (isnan(last->key) ? !over : tick->key > last->key) {
        *found = !clock || tick->time > last->time;
        return 0;
    }
    return find_again(r, i, tick, found);
}

/* Epochs of a log that has nothing else to count are all there. */
static int check_epochs(const struct reader *r, size_t k)
{
    double epoch = r->ticks[k].key, next = k ? r->ticks[k - 1].key + 1 : 0;

    if (r->c.column[LOG_STEP] >= 0 || r->c.column[LOG_EPOCH] < 0 ||
        r->c.count[LOG_TIME] != LOG_EACH || epoch == next || (k == 0 && epoch == 1))
        return 0;
    return log_table_refuse(r->t, r->ticks[k].row, r->e, "this is epoch %g, not %g: rows are "
                            "missing, or two runs are mixed", epoch, next);
}

static int find_ticks(struct reader *r)
{
    for (size_t i = 0; i < r->t->nrows; i++) {
        struct tick tick;
        bool found;
        if (find_tick(r, i, &tick, &found))
            return -1;
        if (!found)
            continue;
        r->ticks[r->nticks] = tick;
        if (check_epochs(r, r->nticks++))
            return -1;
    }
    if (r->c.count[LOG_TIME] != LOG_TOTAL || !r->nticks)
        return 0;
    if (r->start < r->ticks[0].time)
        return 0;
    r->start = r->ticks[0].time;
    r->before = r->ticks[0].key;
    r->first = r->ticks[0].row + 1;
    if (r->c.count[LOG_UNITS] == LOG_TOTAL &&
        number_of(r, r->ticks[0].row, LOG_UNITS, &r->done_before))
        return -1;
    r->nticks--;
    memmove(r->ticks, r->ticks + 1, r->nticks * sizeof *r->ticks);
    return 0;
}

/* Returns the tick whose interval a row belongs to: the first at its step or a later one; of a log
 * without steps the next one, or with a clock the one before. */
static struct tick *tick_of(const struct reader *r, size_t row)
{
    bool clock = r->c.count[LOG_TIME] == LOG_TOTAL;
    size_t low = 0, high = r->nticks - 1;

    while (low < high) {
        size_t k = (low + high) / 2;
        bool before = isnan(r->keys[row]) || isnan(r->ticks[k].key)
                          ? (clock ? r->ticks[k + 1].row <= row : r->ticks[k].row < row)
                          : r->ticks[k].key < r->keys[row];
        if (before)
            low = k + 1;
        else
            high = k;
    }
    return &r->ticks[low];
}

/* Copies the values of a role to the intervals of their rows; the last one of each counts. */
static int copy_values(const struct reader *r, enum log_role role, double *dst)
{
    double value;

    for (size_t i = r->first; i < r->t->nrows && dst; i++) {
        if (number_of(r, i, role, &value))
            return -1;
        if (!isnan(value) && !(role == LOG_LOSS && r->undone[i]))
            dst[tick_of(r, i) - r->ticks] = value;
    }
    return 0;
}

/* Returns the steps of interval k. The first interval of a run from its start has as many as its
 * step says, and one if that is 0; that of a continued run has as many as the second. */
static double steps_of(const struct reader *r, size_t k)
{
    double key = r->ticks[k].key,
           next = r->nticks > 1 ? r->ticks[1].key - r->ticks[0].key : fmax(key, 1);

    if (k)
        return key - r->ticks[k - 1].key;
    return !isnan(r->before) ? key - r->before : fmin(key > 0 ? key : 1, next);
}

/* Adds up the units of each interval, or takes differences if they count from the start. */
static int read_units(struct reader *r, double *dst)
{
    bool total = r->c.count[LOG_UNITS] == LOG_TOTAL;
    double value, last = isnan(r->done_before) ? 0 : r->done_before;

    for (size_t i = r->first; i < r->t->nrows; i++) {
        if (number_of(r, i, LOG_UNITS, &value))
            return -1;
        struct tick *tick = tick_of(r, i);
        if (!isnan(value) && !r->undone[i])
            tick->units = total || isnan(tick->units) ? value : tick->units + value;
    }
    for (size_t k = 0; k < r->nticks; k++) {
        value = r->ticks[k].units * (r->c.count[LOG_UNITS] == LOG_PER_STEP ? steps_of(r, k) : 1);
        if (isnan(value) || value < last)
            return log_table_refuse(r->t, r->ticks[k].row, r->e, isnan(value) ?
                                    "units are missing: %s has no number" : "%s runs backwards",
                                    r->t->columns[r->c.column[LOG_UNITS]].name);
        dst[k] = value - last;
        last = total ? value : 0;
    }
    return 0;
}

/* Sets the units of each interval to `each` for each of its steps. */
static void count_steps(const struct reader *r, double each, double *dst)
{
    for (size_t k = 0; k < r->nticks; k++)
        dst[k] = each * steps_of(r, k);
}

/* Spreads the work of a whole run over the intervals by their steps, or else evenly. */
static void spread_work(const struct reader *r, double work, double *dst)
{
    bool stepped = r->c.column[LOG_STEP] >= 0;
    double all = 0;

    for (size_t k = 0; k < r->nticks; k++)
        all += dst[k] = stepped ? steps_of(r, k) : 1;
    for (size_t k = 0; k < r->nticks; k++)
        dst[k] *= work / all;
}

/* Fills the curve's units from what is known best: the column that the user names, the work that
 * the study states, a column, a rate, and at last the steps themselves. Returns what they count, or
 * NULL. */
static const char *fill_units(struct reader *r, struct result *run, struct curve *c)
{
    bool stepped = r->c.column[LOG_STEP] >= 0;
    double times = r->form->weak ? fmax(run->gpus, 1) : 1;

    if (r->form->per_step > 0 && !r->form->units) {
        count_steps(r, times * r->form->per_step, c->units);
        return "";
    }
    if (r->form->per_run > 0 && !r->form->units && run->limited != 1) {
        spread_work(r, times * r->form->per_run, c->units);
        return "";
    }
    if (r->c.column[LOG_UNITS] >= 0)
        return read_units(r, c->units) ? NULL : r->c.unit;
    if (r->c.column[LOG_RATE] >= 0) {
        if (copy_values(r, LOG_RATE, c->units))
            return NULL;
        for (size_t k = 0; k < c->n; k++)
            c->units[k] *= c->seconds[k];
        return r->c.unit;
    }
    count_steps(r, run->global_batch ? (double)run->global_batch : times, c->units);
    return stepped && run->global_batch ? "" : "steps";
}

static bool knows_units(const struct reader *r, const struct result *run)
{
    return r->form->per_step > 0 || (r->form->per_run > 0 && run->limited != 1) ||
           r->c.column[LOG_UNITS] >= 0 ||
           (r->c.column[LOG_RATE] >= 0 &&
            (r->c.column[LOG_TIME] >= 0 || r->c.column[LOG_RUN_S] < 0)) ||
           (r->c.column[LOG_STEP] >= 0 && (run->global_batch || r->c.column[LOG_EPOCH] < 0));
}

/* Names what is counted as the user does, or else `unit`. */
static void name_unit(const struct reader *r, const char *unit, struct result *run)
{
    unit = r->form->unit ? r->form->unit : unit;
    if (*unit)
        result_set_text(run->unit, sizeof run->unit, strcmp(unit, "images") ? unit : "");
}

static int set_units(struct reader *r, struct result *run, struct curve *c)
{
    const char *unit = fill_units(r, run, c);

    if (!unit)
        return -1;
    name_unit(r, unit, run);
    return 0;
}

static void set_seconds(const struct reader *r, struct curve *c)
{
    bool clock = r->c.count[LOG_TIME] == LOG_TOTAL;

    for (size_t k = 0; k < c->n && r->c.column[LOG_TIME] >= 0; k++) {
        c->seconds[k] = r->ticks[k].time -
                        (!clock ? 0 : k ? r->ticks[k - 1].time : r->start);
        if (r->c.count[LOG_TIME] == LOG_PER_STEP && r->c.column[LOG_STEP] >= 0)
            c->seconds[k] *= steps_of(r, k);
    }
}

/* Sets the quality of the run to the last one of its intervals; a run whose last loss is not finite
 * has none. An accuracy is in percent if all its values exceed 1 and one of
 * them exceeds PERCENT. */
static int set_quality(const struct reader *r, struct curve *c, struct result *run)
{
    bool iou = strcasecmp(r->c.metric, "iou") == 0,
         accuracy = strcasecmp(r->c.metric, "accuracy") == 0, percent = accuracy;
    double last = NAN, most = 0;

    if (!c->score)
        return 0;
    for (size_t k = 0; k < c->n; k++) {
        percent &= isnan(c->score[k]) || (c->score[k] > 1 && c->score[k] <= 100);
        most = fmax(most, c->score[k]);
    }
    percent &= most > PERCENT;
    for (size_t k = 0; k < c->n; k++) {
        c->score[k] /= percent ? 100 : 1;
        last = isnan(c->score[k]) ? last : c->score[k];
        if ((iou || accuracy) && (c->score[k] < 0 || c->score[k] > 1))
            return log_table_refuse(r->t, r->ticks[k].row, r->e, "the score is %g, outside 0..1: if "
                                    "it is not a share, give it another name (--quality NAME, "
                                    "quality.name)", c->score[k]);
    }
    for (size_t i = r->t->nrows; i-- > 0;)
        if (has(r, i, LOG_LOSS)) {
            last = has_diverged(r, i) ? NAN : last;
            break;
        }
    *(iou ? &run->quality.iou : accuracy ? &run->quality.accuracy : &run->quality.value) = last;
    result_set_text(run->quality.metric, sizeof run->quality.metric,
                    iou ? "iou" : accuracy ? "accuracy" : r->c.metric);
    run->quality.lower = log_form_is_lower(r->form, run->quality.metric);
    return 0;
}

/* Sets the speed of a log that has nothing but rates: one, or at steps or epochs that of each. */
static int set_rates(struct reader *r, struct curve *c, bool alone, struct result *run)
{
    bool keyed = r->c.column[LOG_STEP] >= 0 || r->c.column[LOG_EPOCH] >= 0;
    double *values = mem_zero(r->t->nrows + 1, sizeof *values, r->e), least = INFINITY, most = 0;
    long n = values ? collect(r, LOG_RATE, values) : -1;

    for (long i = 0; i < n; i++) {
        least = fmin(least, values[i]);
        most = fmax(most, values[i]);
    }
    if (n > 0) {
        run->units_per_s = stat_median(values, (size_t)n);
        name_unit(r, r->c.unit, run);
    }
    free(values);
    if (n > 1 && !keyed && most > APART * least)
        return log_table_ask(r->t, r->e, "it has %ld rates '%s', from %.4g to %.4g: let "
                             "log.pattern match the one that counts, or print a step beside each",
                             n, r->t->columns[r->c.column[LOG_RATE]].name,
                             least / r->c.scale[LOG_RATE], most / r->c.scale[LOG_RATE]);
    for (size_t k = 0; alone && k < c->n && n > 0; k++) {
        double rate;
        if (number_of(r, r->ticks[k].row, LOG_RATE, &rate))
            return -1;
        c->seconds[k] = 1 / rate; /* of one unit */
        run->limited = 1;
    }
    return n < 0 ? -1 : 0;
}

/* Sets the times of a log that has one for the whole training only, or nothing but a rate. */
static int set_whole(struct reader *r, struct curve *c, struct result *run)
{
    double *values = mem_zero(r->t->nrows + 1, sizeof *values, r->e), whole = NAN;
    long n = values ? collect(r, LOG_RUN_S, values) : -1;

    if (n > 0)
        whole = values[n - 1];
    free(values);
    if (n < 0)
        return -1;
    if (n > 0 && r->form->nstarts > 1 && r->c.column[LOG_TIME] < 0)
        return log_table_ask(r->t, r->e, "its job started %zu times, and '%s' is the time of the "
                             "last start alone: log the time of each row, or of each epoch as "
                             "epoch_time", r->form->nstarts,
                             r->t->columns[r->c.column[LOG_RUN_S]].name);
    if (n > 0 && r->form->nstarts < 2)
        run->training_time = whole;
    if (n > 0 && c->n == 1 && isnan(c->seconds[0]))
        c->seconds[0] = whole;
    bool rated = r->c.column[LOG_TIME] < 0 && (n == 0 || !c->units);
    return rated ? set_rates(r, c, n == 0, run) : 0;
}

/* Where the clock counts in steps of more than COARSE of an interval, the time of a unit of work is
 * the slope of the clock over the steady intervals. */
static void smooth_times(struct reader *r, struct curve *c, struct result *run)
{
    double *work = calloc(c->n, sizeof *work);
    size_t warmup = curve_warmup(c);

    run->clock_step_s = NAN;
    if (work && c->n > warmup + 1 &&
        r->step_s > COARSE * stat_median(c->seconds + warmup, c->n - warmup)) {
        for (size_t k = 0; k < c->n; k++)
            work[k] = c->units ? c->units[k] : isnan(r->ticks[k].key) ? 1 : steps_of(r, k);
        double slope = log_clock_slope(work + warmup, c->seconds + warmup, c->n - warmup);
        for (size_t k = warmup; k < c->n && slope > 0; k++)
            c->seconds[k] = slope * work[k];
        run->clock_step_s = slope > 0 ? r->step_s : NAN;
    }
    free(work);
}

/* Warns of a program that continues after the steps that it was asked for. */
static void check_steps(const struct reader *r, const struct result *run)
{
    const struct tick *last = &r->ticks[r->nticks - 1];

    struct err why;

    if (run->asked_steps <= 0 || r->c.column[LOG_STEP] < 0 ||
        last->key <= (double)run->asked_steps)
        return;
    log_table_refuse(r->t, last->row, &why, "step %.12g, but limit.steps is %ld: the program "
                     "ignores UNETCTL_STEPS and {{steps}}", last->key, run->asked_steps);
    log_warn("%s", why.text);
}

/* Returns whether the intervals are epochs: each has the next number, or its time is that of an
 * epoch. */
static bool are_epochs(const struct reader *r)
{
    int time = r->c.column[LOG_TIME];
    bool next = r->c.column[LOG_EPOCH] >= 0;
    double epoch, last = NAN;

    for (size_t k = 0; k < r->nticks && next; k++) {
        next = number_of(r, r->ticks[k].row, LOG_EPOCH, &epoch) == 0 &&
               (isnan(epoch)  ? r->c.column[LOG_STEP] < 0
                : isnan(last) ? r->nticks > 1 || epoch <= 1
                              : epoch == last + 1);
        last = epoch;
    }
    return next || (time >= 0 && strstr(r->t->columns[time].name, "epoch"));
}

/* Asks what the times count where a row has several steps and nothing says it. Returns 0, or -1. */
static int check_times(const struct reader *r)
{
    const char *name = r->c.column[LOG_TIME] < 0 ? "" : r->t->columns[r->c.column[LOG_TIME]].name;
    bool unknown = r->c.count[LOG_TIME] == LOG_PER_STEP && r->c.column[LOG_STEP] < 0 &&
                   r->c.column[LOG_EPOCH] >= 0;

    if (unknown)
        return log_table_ask(r->t, r->e, "'%s' is the time of a step, but no column counts the "
                             "steps of an epoch: name it, --column step=NAME (log.step in "
                             "study.yaml), or log the seconds of each epoch as epoch_time", name);
    if (!r->guessed || r->c.column[LOG_STEP] < 0 || r->nticks < 2 ||
        r->ticks[1].key - r->ticks[0].key <= 1 || are_epochs(r))
        return 0;
    return log_table_ask(r->t, r->e, "rows are %g steps apart: is '%s' the time of a step, or of "
                         "all steps since the last row? type --column time='%s:step' or '%s:each' "
                         "(log.time in study.yaml)", r->ticks[1].key - r->ticks[0].key, name, name,
                         name);
}

static struct curve *make_curve(struct reader *r, struct result *run)
{
    int columns = (r->c.column[LOG_QUALITY] >= 0 ? CURVE_SCORE : 0) |
                  (r->c.column[LOG_VAL_LOSS] >= 0 ? CURVE_VAL_LOSS : 0) |
                  (knows_units(r, run) ? CURVE_UNITS : 0);
    struct curve *c = curve_create(r->nticks, columns, r->e);

    if (!c)
        return NULL;
    set_seconds(r, c);
    for (size_t k = 0; k < c->n; k++)
        r->training_s += c->seconds[k];
    if (copy_values(r, LOG_LOSS, c->loss) || copy_values(r, LOG_QUALITY, c->score) ||
        copy_values(r, LOG_VAL_LOSS, c->val_loss) || set_whole(r, c, run) ||
        (c->units && set_units(r, run, c)) || set_quality(r, c, run)) {
        curve_destroy(c);
        return NULL;
    }
    smooth_times(r, c, run);
    return c;
}

static int fill_run(struct reader *r, struct result *run)
{
    double sum = 0, units = 0, rate;

    if (r->nticks == 0)
        return err_set(r->e, ERR_DATA, "%s: it has no interval: %s", r->t->path,
                       r->t->nrows ? "of its rows, none or only the first has a time, or all are "
                                     "at one step or epoch" : "it is empty");
    if (r->form->per_step > 0 && r->c.column[LOG_STEP] < 0)
        return log_table_ask(r->t, r->e, "work.per_step needs the steps of a row: name their column, "
                             "--column step=NAME (log.step in study.yaml)");
    run->curve = check_times(r) ? NULL : make_curve(r, run);
    if (!run->curve)
        return -1;
    rate = run->units_per_s;
    curve_measure(run->curve, run);
    run->stepped = !are_epochs(r) || (r->c.column[LOG_TIME] < 0 && r->c.column[LOG_RUN_S] < 0);
    check_steps(r, run);
    for (size_t k = 0; k < r->nticks; k++) {
        sum += run->curve->seconds[k];
        units += run->curve->units ? run->curve->units[k] : NAN;
    }
    double whole = isnan(sum) ? run->training_time : sum;
    if (isnan(sum) || (run->stepped && r->nticks == 1)) { /* the mean, with warming up */
        run->median_epoch_s = whole / (double)r->nticks;
        run->units_per_s = isnan(units) ? rate : units / whole;
    }
    if (isnan(run->training_time) && run->limited != 1 && (r->whole || r->form->nstarts < 2))
        run->training_time = r->training_s;
    return 0;
}

int log_intervals_fill(const struct log_table *t, const struct log_form *form, struct result *r,
                       struct err *e)
{
    struct reader reader = {.t = t, .form = form, .before = NAN, .done_before = NAN, .e = e};
    int rc = log_columns_find(t, form, r->limited != 1, &reader.c, e);

    enum log_role work = reader.c.column[LOG_UNITS] >= 0 ? LOG_UNITS : LOG_RATE;
    double scale = reader.c.scale[work] > 0 ? reader.c.scale[work] : 1;
    reader.c.scale[work] = reader.c.of_one_gpu && r->gpus > 0 ? scale * r->gpus : scale;
    reader.keys = mem_zero(t->nrows + 1, sizeof *reader.keys, e);
    reader.times = mem_zero(t->nrows + 1, sizeof *reader.times, e);
    reader.undone = mem_zero(t->nrows + 1, sizeof *reader.undone, e);
    reader.ticks = mem_zero(t->nrows + 1, sizeof *reader.ticks, e);
    if (rc || !reader.keys || !reader.times || !reader.undone || !reader.ticks ||
        decide_count(&reader, LOG_TIME, "time") || decide_count(&reader, LOG_UNITS, "units") ||
        read_keys(&reader) || read_times(&reader) || find_ticks(&reader) ||
        fill_run(&reader, r))
        rc = -1;
    free(reader.keys);
    free(reader.times);
    free(reader.undone);
    free(reader.ticks);
    return rc;
}
