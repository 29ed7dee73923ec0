/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UNETCTL_SRC_CLUSTER_TIME_LIMIT_H
#define UNETCTL_SRC_CLUSTER_TIME_LIMIT_H

/* Returns the minutes, rounded up, of a Slurm time limit (M, M:S, H:M:S, D-H, D-H:M, D-H:M:S), or
 * -1 if text is not one, or is one of no time. */
int time_limit_decode(const char *text);

#endif
