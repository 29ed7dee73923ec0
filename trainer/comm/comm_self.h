/* SPDX-License-Identifier: BSD-3-Clause */
/* The communicator of a run with one replica. Collectives leave their values as they are. */
#ifndef UNETCTL_TRAINER_COMM_COMM_SELF_H
#define UNETCTL_TRAINER_COMM_COMM_SELF_H

#include "trainer/comm/comm.h"

/* Returns NULL if memory is short. ops->close frees the result. */
struct comm *comm_self_open(struct err *e);

#endif
