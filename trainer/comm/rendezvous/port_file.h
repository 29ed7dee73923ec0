/* SPDX-License-Identifier: BSD-3-Clause */
/* DIR/port in the run's folder of results: the port at which rank 0 listens if that of the cluster
 * spec is in use. It only saves a search: what listens there must still prove that it is rank 0. */
#ifndef UNETCTL_TRAINER_COMM_RENDEZVOUS_PORT_FILE_H
#define UNETCTL_TRAINER_COMM_RENDEZVOUS_PORT_FILE_H

#include "src/err.h"

int port_file_write(const char *dir, int port, struct err *e);

/* Returns the port, or 0 without a valid file. */
int port_file_read(const char *dir);

/* Removes what an earlier start has left. */
void port_file_remove(const char *dir);

#endif
