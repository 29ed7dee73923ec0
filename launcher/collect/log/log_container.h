/* SPDX-License-Identifier: BSD-3-Clause */
/* The forms of files that log_table.h can hold. Each function appends what it finds to t, whose
 * path is set, and returns 0, or -1 with ERR_DATA "FILE:LINE: REASON" for damage. text may be
 * changed. */
#ifndef UNETCTL_LAUNCHER_COLLECT_LOG_LOG_CONTAINER_H
#define UNETCTL_LAUNCHER_COLLECT_LOG_LOG_CONTAINER_H

#include <stdbool.h>

#include "launcher/collect/log/log_table.h"

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

#endif
