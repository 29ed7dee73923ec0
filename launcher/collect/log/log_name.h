/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of collected logs. Those of the reference systems on 4 GPUs are log_4.csv and log_hvd_4.csv
 * (Horovod); a further seed is log_4_s2.csv, and another engine log_ENGINE_4.csv. Those of the
 * embedded engine are named log_4.csv too. */
#ifndef UNETCTL_LAUNCHER_COLLECT_LOG_LOG_NAME_H
#define UNETCTL_LAUNCHER_COLLECT_LOG_LOG_NAME_H

#include <stdbool.h>
#include <stddef.h>

#define LOG_NAME_SIZE 128

/* Writes the name of a log. first: seed is the first one with this number of GPUs, and is not in
 * the name. */
void log_name_encode(char dst[LOG_NAME_SIZE], const char *engine, int gpus, long seed, bool first);

/* Decodes the name of a log (log_name_end). Returns false if it is not one; the values may
 * be changed then. The engine is "native" if the name has none, and "horovod" for hvd; the seed
 * is 1 if the name has none. */
bool log_name_decode(const char *name, char *engine, size_t engine_size, int *gpus, long *seed);

/* Returns the ending ".csv" or another one of logs, i from 0, or NULL. */
const char *log_name_end(int i);

/* Returns whether name has such an ending. */
bool log_name_ends(const char *name);

/* Replaces the ending of a log's name by that of path, or by .txt if path has none of a log. */
void log_name_set_end(char name[LOG_NAME_SIZE], const char *path);

#endif
