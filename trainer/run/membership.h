/* SPDX-License-Identifier: BSD-3-Clause */
/* How this rank gets from its role (rank_identity.h) to a communicator: it opens its device, meets
 * the other ranks, keeps a lifeline to them, and connects. */
#ifndef UNETCTL_TRAINER_RUN_MEMBERSHIP_H
#define UNETCTL_TRAINER_RUN_MEMBERSHIP_H

#include "trainer/comm/comm_open.h"
#include "trainer/comm/rendezvous/rendezvous.h"
#include "trainer/run/ranks/rank_identity.h"

struct membership {
    struct rank_identity identity;
    struct device_comm device; /* of a rank whose GPU NCCL connects to others */
    struct lifeline *lifeline; /* after a rendezvous, else NULL */
    /* Called by the lifeline's thread when a rank is lost. */
    lifeline_lost_f lost;
    void *arg;
    struct err error; /* why this rank cannot compute; reported to all ranks after they have met */
};

/* Opens the device, if NCCL connects it to others, or sets k->error. */
void membership_prepare(struct membership *k, const struct settings *c);

/* Meets the other ranks and opens the lifeline. folder: of the results. *relayed is set if rank 0
 * reports the error. */
int membership_meet(struct membership *k, const struct settings *c, const char *folder,
                    bool *relayed, struct err *e);

/* Returns the communicator, which the caller closes before membership_close, or NULL with *e. */
struct comm *membership_connect(const struct membership *k, const struct settings *c,
                                struct err *e);

void membership_close(struct membership *k); /* a zeroed one is allowed */

#endif
