/* SPDX-License-Identifier: BSD-3-Clause */
/* Scalars over time for TensorBoard: the file DIR/events.out.tfevents.SECONDS.HOST.PID of TFRecord
 * frames with tensorflow.Event messages. */
#ifndef UNETCTL_TRAINER_EXPORT_EVENTS_H
#define UNETCTL_TRAINER_EXPORT_EVENTS_H

#include <stdint.h>

#include "src/err.h"

struct events;

struct events *events_open(const char *dir, const char *host, struct err *e);
void events_close(struct events *v); /* NULL is fine */

/* Appends a scalar with the present time, as a single write. */
int events_add(struct events *v, int64_t step, const char *tag, double value, struct err *e);

#endif
