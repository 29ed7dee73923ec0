/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of this room share: a log as a table, the files that become one, and the way from
 * its rows to the intervals of a run. */
#pragma once

#include "src/base.h"

#include "launcher/collect/log/log_file.h"
#include "launcher/collect/results/results.h"

/* A log as a table: rows of named columns, whatever its form. A row may lack cells. */
#define LOG_COLUMNS_MAX 1024

/* What the numbers of a column were printed as: dates, hours, which are those of a duration or of
 * the day, or anything else. */
enum log_clock { LOG_NUMBER, LOG_HOURS, LOG_DATE };

struct log_cell {
    int column;
    double value; /* a date and time of day is in seconds since 1970 */
    char *text;   /* what stands there if it is not a finite number; otherwise NULL */
};

struct log_row {
    size_t line;     /* its number in the file, from 1 */
    size_t first, n; /* its cells */
};

struct log_table {
    const char *path; /* of the file, for errors */
    const char *row_word; /* what line counts: "" lines, otherwise "record " or the like */
    struct log_column {
        char *name;
        enum log_clock clock;
    } *columns;
    struct log_row *rows;
    struct log_cell *cells;
    size_t ncolumns, nrows, ncells;
    size_t column_capacity, row_capacity, cell_capacity;
};

/* Returns the column called name, which is added if it is new, or -1. */
int log_table_column(struct log_table *t, const char *name, struct err *e);

/* Begins a row of the file's line. Returns 0 or -1. */
int log_table_add_row(struct log_table *t, size_t line, struct err *e);

/* Sets a cell of the last row; blanks around text do not count, and an empty text sets nothing.
 * A list of numbers, "[1, 2]", counts as their mean, a clock (clock_forms in log_table.c) as
 * seconds. Both return 0 or -1. */
int log_table_set(struct log_table *t, int column, const char *text, struct err *e);
int log_table_set_number(struct log_table *t, const char *name, double value, struct err *e);

/* Returns the cell, or NULL if row i does not have it. */
const struct log_cell *log_table_get(const struct log_table *t, size_t i, int column);

/* Sets e to "FILE:LINE: REASON" with ERR_DATA: row i is damaged. Returns -1. */
#define log_table_refuse(t, i, e, ...) \
    (err_set(e, ERR_DATA, __VA_ARGS__), \
     err_prefix(e, "%s:%s%zu", (t)->path, (t)->row_word ? (t)->row_word : "", (t)->rows[i].line))

/* Sets e to "FILE: REASON; its columns are ..." with ERR_CONFIG: the file is not damaged, but which
 * columns count has to be said. Returns -1. */
int log_table_ask(const struct log_table *t, struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

void log_table_destroy(struct log_table *t);

/* Which column of a log is what: the one that the user names, otherwise the first of the names that
 * programs are known to use (log_table.c). Upper and lower case, and signs such as / and -, do
 * not matter. */

enum log_role {
    LOG_TIME, LOG_STEP, LOG_EPOCH, LOG_UNITS,
    LOG_RATE,    /* units per second, minute, hour or day */
    LOG_LOSS, LOG_VAL_LOSS, LOG_QUALITY,
    LOG_RUN_S,   /* the time of the whole training */
    LOG_NROLES
};

enum log_count {
    LOG_GUESS,
    LOG_EACH,     /* of the row's interval */
    LOG_PER_STEP, /* of each step of that interval */
    LOG_TOTAL     /* since the start */
};

struct log_columns {
    int column[LOG_NROLES];  /* -1: there is none */
    double scale[LOG_NROLES]; /* from its numbers to seconds or units per second */
    enum log_count count[LOG_NROLES]; /* of LOG_TIME and LOG_UNITS */
    bool of_one_gpu; /* LOG_UNITS or LOG_RATE has the work of one GPU */
    char metric[32]; /* the name of the quality */
    char unit[24];   /* of LOG_UNITS or LOG_RATE */
};

/* Finds the columns. whole: the run was not to end early, so it must have its quality. Returns 0,
 * or -1 with ERR_CONFIG: a column that the user names does not exist, or there is neither a time
 * nor a rate. */
int log_columns_find(const struct log_table *t, const struct log_form *form, bool whole,
                     struct log_columns *dst, struct err *e);

/* Returns whether its name says that it has a rate, such as images/s or ns_per_day. */
bool log_column_is_rate(const char *name);

/* Returns what the numbers count that a column has in n rows: LOG_TOTAL if they always rise and the
 * last is a multiple of the first, LOG_EACH if they do not always rise; LOG_GUESS: unknown, also
 * where most of many rise. */
enum log_count log_columns_guess(const double *values, size_t n);

/* Clocks, of which the differences count (log_clock.c). values are the times of the rows that may
 * end an interval, in their order. */
#define LOG_DATE_S 1e8 /* a larger number of seconds is a date, not a duration */

/* Returns whether hours are those of the day: they rise, but for midnights, and do not begin near
 * 0. */
bool log_clock_is_of_day(const double *values, size_t n);

/* Returns the step in which the clock counts, of which all values are multiples, or 0. */
double log_clock_step(const double *values, size_t n);

/* Turns them into the time of the job: over midnights, without the time between the end of a start
 * and the next (form->starts), and with the time of the starts before where the clock began anew.
 * name: of its column. Returns 1 if several starts are all on it, otherwise 0, or -1 with
 * ERR_CONFIG if that is not known. */
int log_clock_to_job(double *values, size_t n, const struct log_form *form, bool of_day,
                     enum log_clock kind, const struct log_table *t, const char *name,
                     struct err *e);

/* Returns the seconds of a unit of work by the least squares over the sums of n intervals, or
 * NaN. */
double log_clock_slope(const double *work, const double *seconds, size_t n);

/* The forms of files. Each function appends what it finds to t, whose
 * path is set, and returns 0, or -1 with ERR_DATA "FILE:LINE: REASON" for damage. text may be
 * changed. */

/* Returns whether text begins with a header of at least two names, between commas, semicolons or
 * tabs, and a row in which a cell is a number, one word or empty. */
bool log_container_is_csv(const char *text);
int log_container_read_csv(char *text, struct log_table *t, struct err *e);

/* Objects of JSON, one a line, or one document with a list of them, such as the log_history of
 * Hugging Face's trainer_state.json (of several lists the longest). Members of objects inside have
 * names with a dot. */
bool log_container_is_json(const char *text);
int log_container_read_json(char *text, size_t n, struct log_table *t, struct err *e);

/* TensorBoard's event file: the columns wall_time, step, and one for each tag of a scalar. */
bool log_container_is_events(const char *bytes, size_t n);
int log_container_read_events(const char *path, struct log_table *t, struct err *e);

/* What the numbers of a line are, by the words around them (log_words.c). Words are compared in the
 * form that log_words_copy writes. */
#define LOG_NUMBERS_MAX 24 /* of a line */
#define LOG_GROUP_MAX 32   /* bytes of a group's name in PCRE2; of a longer one the end stays */

/* A number in a line: where it is, where the words before it begin that name it, and its name as a
 * column, or "". */
struct log_number {
    size_t after; /* where the number before it and that one's unit end */
    size_t label, at, end, unit_end, others; /* others: later times of the same name, left out */
    bool plain;                              /* its words are those of a whole loss */
    char name[LOG_NAME_SIZE];
};

/* Finds the numbers of a line of n bytes. Returns their number. */
size_t log_words_numbers(const char *line, size_t n, struct log_number dst[LOG_NUMBERS_MAX]);

/* Names a number by the words before it and the unit behind it; "" if they do not show what it is.
 * context: all words behind the number before it. */
void log_words_name(const char *label, const char *context, const char *unit,
                    char dst[LOG_NAME_SIZE]);

/* Copies text[from..to) in small letters, with _ between words; / becomes _per_ if `per`, otherwise
 * it stays. */
void log_words_copy(const char *text, size_t from, size_t to, bool per, char dst[64]);

/* Returns whether text has one of `words`, which blanks separate. */
bool log_words_has(const char *text, const char *words);

/* Returns whether the name of a number is that of a time or a rate; whether the words of a column
 * are those of a time in seconds. */
bool log_words_is_time(const char *name);
bool log_words_is_duration(const char *words);

/* Returns whether a column of this name is a quality, and whether one of validation. */
bool log_words_is_quality(const char *name, bool *validated);

/* Returns the rank of a number of this name as the quality of a run: 3 for one of validation, 2 for
 * the loss of validation, 1 for one of training, 0 if it is none. validates: its line is of a
 * validation. */
int log_words_rank_quality(const char *name, bool validates);

/* Returns whether the number that ends at `end` is Keras's time of an epoch, which may be a clock:
 * that of a step follows it, as in "5s 3ms/step" and "1:12 38ms/step". */
bool log_words_is_before_step(const char *line, size_t end);

/* Returns the pattern for the lines of a known program's output, or NULL. */
const char *log_file_printed(const char *text);

/* Removes what a terminal obeys and does not show: colours and other sequences that begin with
 * ESC. Where the cursor goes up by a line, as below nested progress bars, LOG_UP is left. */
#define LOG_UP '\v'
#define LOG_ENDS "\n\r\b\v" /* each ends what a line shows at one time */
void log_container_strip(char *text);

/* Lines of a text, as a terminal shows it, that a regular expression of PCRE2 matches become rows
 * of t, whose path is set; its named groups are the columns. Rows that were written over each other
 * have one number of a line. A last line without its end is left out with a warning. Returns 0, or
 * -1 with ERR_CONFIG: the pattern is wrong, has no named group, or matches no line. */
int log_pattern_read(char *text, const char *pattern, struct log_table *t, struct err *e);

/* MLPerf's logging lines, :::MLLOG {"key":.., "time_ms":.., "value":.., "metadata":{..}}, among
 * other output, become a table of intervals. What is used of them:
 *   epoch_start, epoch_stop, block_start, block_stop, eval_accuracy
 *                                     The intervals end at epoch_stop, block_stop or eval_accuracy,
 *                                     whichever is most frequent; evaluations do not count
 *   eval_start, eval_stop             evaluation
 *   train_loss, eval_accuracy         loss and score of the interval of their time; the score is an
 *                                     accuracy, or IoU if metadata.metric is "iou"
 *   init_start, run_start             start-up; the training begins at run_start, if there is one
 *   run_stop                          the end; metadata.status, if given, must be "success"
 *   samples_per_epoch, train_samples, metadata.epoch_count
 *                                     the work of an interval; of the benchmark bert, whose
 *                                     epoch_num counts samples, that
 *   number_of_ranks, seed, engine, global_batch_size, eval_samples: what was run. */

/* Returns whether text contains such a line. */
bool mllog_file_matches(const char *text);

/* Appends a row for each interval to t, and sets what r says of the run. If r's gpus is 0, also
 * sets gpus, seed and engine. Refuses, with ERR_DATA, a line that is not JSON, an epoch that does
 * not stop or overlaps the one before, a log without run_stop or with a status other than success,
 * and a log of another number of ranks than r has. */
int mllog_file_read(const char *text, struct log_table *t, struct result *r, struct err *e);

/* The one way from the rows of a log to the intervals of a run.
 *
 * A row ends an interval if it has a time: that of the interval itself, or a clock, of which the
 * differences count. With a clock, the row must also be later than the last one, at a greater step,
 * and have a loss if any row has one. Rows without a time, such as those of a validation, add their
 * values to the interval of their step. Before the first row of a clock with dates nothing is
 * known, so it only starts the first interval. */

/* Sets r's curve, times, loss, quality and work. r's global_batch, if it is known, is the work of a
 * step of a log without units. Sets r's stepped unless its intervals are epochs. Returns 0, or -1:
 * with ERR_DATA "FILE:LINE: REASON" for damage, with ERR_CONFIG if the user has to say more. r's
 * curve is then NULL. */
int log_intervals_fill(const struct log_table *t, const struct log_form *form, struct result *r,
                       struct err *e);
