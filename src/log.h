/* SPDX-License-Identifier: BSD-3-Clause */
/* Log messages: lines "PROGRAM: TEXT" on stderr, where TEXT of an error begins with "error: ", of
 * a warning with "warning: ", of log_debug with "debug: ". Results of commands go to stdout.
 * Functions that only compute do not log. */
#pragma once

#include <stdbool.h>

enum log_level { LOG_QUIET, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* Sets the prefix of each line, whose pointer is kept. The default is "unetctl". */
void log_open(const char *name);

/* Sets the level: log_warn writes from LOG_WARN on, log_info from LOG_INFO on, log_debug only with
 * LOG_DEBUG. The default is LOG_INFO. Returns the level before. */
enum log_level log_set_level(enum log_level level);

/* Returns whether messages of this level are written. */
bool log_shows(enum log_level level);

/* Writes a message from this level on, as the macros below do; log_error always. */
void log_write(enum log_level least, const char *kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
#define log_error(...) log_write(LOG_QUIET, "error: ", __VA_ARGS__)
#define log_warn(...) log_write(LOG_WARN, "warning: ", __VA_ARGS__)
#define log_info(...) log_write(LOG_INFO, "", __VA_ARGS__)
#define log_debug(...) log_write(LOG_DEBUG, "debug: ", __VA_ARGS__)
