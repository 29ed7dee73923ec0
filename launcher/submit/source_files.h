/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run executes: the container and, unless its engine is the embedded one, its script and the
 * files beside it. unetctl lists them in RUN/source.list when it writes an attempt:
 *
 *     folder /home/me/work
 *     file train.py
 *     file model/unet.py
 *     container /images/torch.sif
 *
 * The job hashes and copies them when it starts (templates/source.sh); collect makes runs with
 * another hash another series. */
#ifndef UNETCTL_LAUNCHER_SUBMIT_SOURCE_FILES_H
#define UNETCTL_LAUNCHER_SUBMIT_SOURCE_FILES_H

#include "launcher/study/workspace.h"
#include "src/atomicfile.h"

/* Files are listed up to these bounds. */
#define SOURCE_FILES_MAX 500
#define SOURCE_FILES_ONE_MAX ((size_t)1 << 20)
#define SOURCE_FILES_ALL_MAX ((size_t)8 << 20)

/* Adds source.list to the batch: the script and the tracked files of its folder and below, or
 * the *.py files of a folder without Git. If the script is an interpreter in a folder of the
 * system, the first argument that is a file takes its place. Warns once of files beyond the bounds.
 * For the embedded engine there is only the container. Returns 0 or -1. */
int source_files_add(const struct plan *p, const struct run *run, struct atomicfile_batch *files,
                     struct err *e);

/* Checks that run would now execute what another run's attempt executed, unless that is unknown.
 * Returns 1 if it would, 0 if it is unknown, or -1 with ERR_CONFIG that names both hashes. An image
 * of a container that is neither a file nor a folder here does not count. */
int source_files_compare(const struct plan *p, const struct run *run, const char *other,
                         int attempt, struct err *e);

#endif
