/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of collected logs, as the reference systems have them: log_4.csv, log_hvd_4.csv; further
 * seeds of a count are log_4_s2.csv; other engines log_ENGINE_4.csv. */
#ifndef UNETCTL_LAUNCHER_COLLECT_LOG_LOG_NAME_H
#define UNETCTL_LAUNCHER_COLLECT_LOG_LOG_NAME_H

#include <stdbool.h>
#include <stddef.h>

#define LOG_NAME_SIZE 128

/* first: seed is the first of its count. */
void log_name_encode(char dst[LOG_NAME_SIZE], const char *engine, int gpus, long seed, bool first);

/* Is name that of a log (.csv, .log or .txt)? Without an engine it is "native", hvd is "horovod";
 * without a seed, 1. */
bool log_name_decode(const char *name, char *engine, size_t engine_size, int *gpus, long *seed);

/* Does name end as that of a log: .csv, .log, .txt? */
bool log_name_ends(const char *name);

#endif
