/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole steps in the queue of a device: sums over the replicas, parts of train.accumulate, the update.
 * The host is up to DEVICE_SLOTS runs ahead (struct linked, session.h). */
#ifndef UNETCTL_TRAINER_STEP_DEVICE_STEP_H
#define UNETCTL_TRAINER_STEP_DEVICE_STEP_H

#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"
#include "trainer/core/network.h"
#include "trainer/step/step.h"

/* Has the replica a device, and do gradients stay there? */
bool device_step_is_possible(const struct session *s);

/* From now on steps are queued: s->linked.steps. */
void device_step_link(struct session *s);

/* Gradients to where their sums cost least. Of communicators with queue_place. */
int device_step_place_gradients(struct session *s, struct err *e);

/* n images of this replica, items of all. */
int device_step_queue(struct session *s, size_t n, size_t items, struct network_step step,
                      struct step_reduction *reduction, struct err *e);

#endif
