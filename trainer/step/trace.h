/* SPDX-License-Identifier: BSD-3-Clause */
/* The timeline of a replica: the file trace-RANK.json in the run's folder, in the Trace Event
 * Format of chrome://tracing and Perfetto, which can open the files of several ranks together. The
 * file is valid JSON after every write. */
#ifndef UNETCTL_TRAINER_STEP_TRACE_H
#define UNETCTL_TRAINER_STEP_TRACE_H

#include "src/err.h"

struct trace;

/* Rows of the timeline. */
enum trace_row { TRACE_STEPS, TRACE_GRADIENTS, TRACE_BATCH_NORM };

/* Replaces an earlier file of that name. NULL on error: ERR_CONFIG if the file cannot be
 * created. */
struct trace *trace_open(const char *dir, int rank, const char *host, struct err *e);
void trace_close(struct trace *t); /* NULL is fine */

/* Adds an event from begin to end, times of clock_now(). name must not need escaping in JSON. t may
 * be NULL. If the file cannot be written, the trace ends with a warning. */
void trace_span(struct trace *t, enum trace_row row, const char *name, double begin, double end);

#endif
