/* SPDX-License-Identifier: BSD-3-Clause */
/* What a replica does when: trace-RANK.json in the run's folder, in the Trace Event Format that
 * chrome://tracing and Perfetto read. Several ranks' files can be opened together.
 *
 * The file is whole JSON after every write, so a run that is killed leaves one that can be read. */
#ifndef UNETCTL_TRAINER_STEP_TRACE_H
#define UNETCTL_TRAINER_STEP_TRACE_H

#include "src/err.h"

struct trace;

/* Each has a row of its own. */
enum trace_row { TRACE_STEPS, TRACE_GRADIENTS, TRACE_BATCH_NORM };

/* An earlier file of that name goes. NULL on error: ERR_CONFIG. */
struct trace *trace_open(const char *dir, int rank, const char *host, struct err *e);
void trace_close(struct trace *t); /* NULL is fine */

/* In this row the replica did `name` (no quotes in it) from begin to end, both of clock_now(). t
 * NULL: nothing. Written now and then; a disk that is full ends the trace, with a warning, and not
 * the run. */
void trace_span(struct trace *t, enum trace_row row, const char *name, double begin, double end);

#endif
