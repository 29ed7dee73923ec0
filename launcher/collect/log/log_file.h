/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads one log of a run in any form. A log is a table of rows: its container (CSV, JSON, lines
 * that a pattern matches, TensorBoard's events, MLPerf's lines) gives the rows, and one mapping of
 * columns gives the intervals (log_intervals.c). The reference systems' table of epochs
 * (src/run/epoch_csv.h) is checked more strictly.
 *
 * A table that ends inside a line, an MLPerf log without run_stop, and any log with an invalid
 * number are refused as a whole. That whole rows at the end of a table are missing is not noticed
 * here; a comparison with other logs may show it (logs_folder.c).
 *
 * Collecting calls log_file_read for each run, and knows from log_name_decode which run a file is
 * of. What a user says of the logs (struct log_form) comes from study.yaml or the command line. The
 * room knows neither studies nor schedulers: it fills struct result from one file.
 *
 * Read log_file.c (which form a file has), log_container.c and mllog_file.c (from its bytes to
 * rows), log_table.c (rows, and which column is what), log_clock.c (clocks), log_intervals.c (from
 * rows to intervals), log_words.c (what the numbers of a line are), and log_try.c (what
 * `unetctl init --try` proposes to read of a log). */
#pragma once

#include "src/base.h"

#include "launcher/collect/results/results.h"
#include "src/cli.h"
#include "src/clock.h"

/* What a user says about the logs of a program, in study.yaml (log, work, quality) or to `unetctl
 * report --logs`. Everything may be absent. */
struct log_form {
    const char *file; /* in the folder of an attempt */
    /* Names of columns. NAME:total says that the times or units are counted from the start of the
     * run, NAME:each that they are those of the row's interval, NAME:step of each of its steps.
     * Units or a rate NAME:gpu are those of one GPU. */
    const char *time, *step, *units, *quality;
    const char *pattern; /* a regular expression with named groups */
    double per_step, per_run; /* units of work; 0: what the log says */
    bool weak; /* these, and steps that are the only work known, are those of one GPU */
    const char *unit, *quality_name;
    /* "higher" or "lower", which quality is better; otherwise its name says it
     * (log_form_is_lower) */
    const char *better;
    /* when the job of the run ran, all its starts in their order; an end may be NaN, unknown. NULL:
     * all are unknown, as of logs without a job */
    const struct clock_span *starts;
    size_t nstarts, nearlier; /* of all starts, those of attempts before the one of the log */
};

/* The same on a command line, and its options. */
struct log_form_args {
    struct cli_list columns;
    const char *unit, *quality;
    char name[32]; /* of the quality */
};
#define LOG_FORM_OPTIONS(args)                                                                  \
    {"column", 0, CLI_LIST, "ROLE=NAME",                                                        \
     "--logs: this is the time, step, units or quality",                                         \
     &(args).columns, 0, 0},                                                                    \
    {"unit", 0, CLI_STRING, "WORD", "--logs: what the units of work are, such as tokens",       \
     &(args).unit, 0, 0},                                                                       \
    {"quality", 0, CLI_STRING, "NAME",                                                          \
     "--logs: the quality; NAME:lower or NAME:higher is better",                                  \
     &(args).quality, 0, 0}

/* Returns whether a smaller quality of this name is better: as the user says, otherwise lower for
 * names that contain loss, error, perplexity, mse or mae, or of which a word, between signs such as
 * '_', is a usual name of such a quality. */
bool log_form_is_lower(const struct log_form *form, const char *name);

/* Decodes them: columns are "time=NAME", "step=NAME", "units=NAME", "quality=NAME" or
 * "pattern=REGEX". dst points into args. Returns 0, or -1 with ERR_USAGE. */
int log_form_decode(struct log_form_args *args, struct log_form *dst, struct err *e);

/* Names of collected logs. Those of the reference systems on 4 GPUs are log_4.csv and log_hvd_4.csv
 * (Horovod); a further seed is log_4_s2.csv, and another engine log_ENGINE_4.csv. Those of the
 * embedded engine are named log_4.csv too. */

#define LOG_NAME_SIZE 128

/* Writes the name of a log. first: seed is the first one with this number of GPUs, and is not in
 * the name. */
void log_name_encode(char dst[LOG_NAME_SIZE], const char *engine, int gpus, long seed, bool first);

/* Decodes the name of a log (log_name_end). Returns false if it is not one; the values may
 * be changed then. The engine is "native" if the name has none, and "horovod" for hvd; the seed
 * is 1 if the name has none. */
bool log_name_decode(const char *name, char *engine, size_t engine_size, int *gpus, long *seed);

/* Returns the ending ".csv" or another one of logs, i from 0, or NULL. */
const char *log_name_end(int i);

/* Returns whether name has such an ending. */
bool log_name_ends(const char *name);

/* Replaces the ending of a log's name by that of path, or by .txt if path has none of a log. */
void log_name_set_end(char name[LOG_NAME_SIZE], const char *path);

#define LOG_FILE_MAX ((size_t)64 << 20)

/* Reads a whole log or record as atomicfile_read does, but with ERR_CONFIG if it has more than
 * LOG_FILE_MAX bytes, as it is not damaged then. */
char *log_file_load(const char *path, size_t *n, struct err *e);

/* Fills r's curve and measurements from path; what the log lacks remains unchanged. form may be
 * NULL. If r's gpus is 0, MLPerf's lines also set gpus, seed and engine; otherwise a log whose
 * lines give another number of GPUs is refused. Returns 0, or -1 and r is unchanged: with ERR_DATA
 * "FILE:LINE: REASON" the log is damaged, with ERR_CONFIG it is of a form that is not known, and
 * the text says what to type. */
int log_file_read(const char *path, const struct log_form *form, struct result *r, struct err *e);

/* Returns whether the file is a log of a known form, by its first bytes. Sets *stated, unless that
 * is NULL, to whether it may itself say on how many GPUs it ran. */
bool log_file_is_known(const char *path, bool *stated);

/* What study.yaml should say of a program's logs, as far as one of them shows it; "" is nothing. */
struct log_proposal {
    const struct log_form *said; /* by the user, who is believed first; NULL after log_propose */
    char file[LOG_NAME_SIZE], pattern[1024], time[LOG_NAME_SIZE]; /* log.file ... */
    char quality[32], unit[24];                                   /* quality.name, work.unit */
    size_t intervals;                                             /* that it reads in this log */
    double first_s, last_s;                                       /* of the first, and the last */
    bool stepped;                                                 /* they are not epochs */
    struct buf rows;                                              /* the first three, one a line */
};

/* Proposes a form by the names of columns, or by the words around the numbers of lines, and reads
 * the log so, with what the user said already. The caller destroys dst->rows. Returns 0, or -1 with
 * an error as log_file_read. */
int log_propose(const char *path, const struct log_form *said, struct log_proposal *dst,
                struct err *e);

/* Does the same for a table in the reference's form, and refuses any other. */
int log_file_read_reference(const char *path, struct result *r, struct err *e);
