/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers over time for TensorBoard: DIR/events.out.tfevents.SECONDS.HOST.PID, TFRecord frames of
 * tensorflow.Event messages with simple values. */
#ifndef UNETCTL_TRAINER_EXPORT_EVENTS_H
#define UNETCTL_TRAINER_EXPORT_EVENTS_H

#include <stdint.h>

#include "src/err.h"

struct events;

struct events *events_open(const char *dir, const char *host, struct err *e);
void events_close(struct events *v); /* NULL is fine */

/* One number; whole records only ever reach the file. */
int events_add(struct events *v, int64_t step, const char *tag, double value, struct err *e);

#endif
