/* SPDX-License-Identifier: BSD-3-Clause */
/* Derives findings with remedies from the facts of hosts and ranks (facts.h, probe.h). */
#ifndef UNETCTL_LAUNCHER_DOCTOR_DIAGNOSIS_H
#define UNETCTL_LAUNCHER_DOCTOR_DIAGNOSIS_H

#include <jansson.h>

#include "launcher/doctor/findings.h"

/* The environment and limits of hosts: stale variables, proxies, ulimits, network interface. list:
 * array of facts. nranks: the most ranks that one of them will talk to. */
void diagnosis_of_hosts(const json_t *list, size_t nranks, struct findings *dst);

/* Reports where srun does not know the --mpi of the site's launcher. list: what `srun --mpi=list`
 * prints, or NULL. No finding where the launcher has no --mpi, or srun did not answer. file: the
 * site's, to be edited. */
void diagnosis_of_launcher(const char *launcher, const char *list, const char *file,
                           struct findings *dst);

/* The ranks of one rehearsal, by index; a rank that said nothing is null. Names, routes, ports,
 * clocks, numbering, versions, GPUs, data and locks. */
void diagnosis_of_ranks(const json_t *ranks, struct findings *dst);

#endif
