/* SPDX-License-Identifier: BSD-3-Clause */
/* The container that a run's program is started in (study.yaml: container, container_runtime).
 * templates/container.sh starts it on the node, around the program of each rank alone. Pyxis, a
 * plugin of Slurm, starts it by options of srun: then all of run_file.sh is inside. */
#pragma once

#include "src/base.h"

#include "launcher/study/study.h"

/* Returns whether the study has a container; container_is_pyxis returns whether Pyxis starts it. */
bool container_is_set(const struct study *s);
bool container_is_pyxis(const struct study *s);

/* Checks what is known before a job is submitted: that an image that is a file exists, that Pyxis
 * can start it, and that nothing else names a container. Returns 0, or -1 with ERR_CONFIG. */
int container_check(const struct study *s, const struct site *site, struct err *e);

/* Adds the shell words before the program of a run; none without a container and with Pyxis.
 * Returns 0, or -1 if a path has a comma or colon. */
int container_add_words(const struct study *s, const struct site *site, struct buf *dst,
                        struct err *e);

/* Likewise the options of srun for Pyxis, each behind a blank; with the marker {{run_dir}}. */
int container_add_options(const struct study *s, const struct site *site, struct buf *dst,
                          struct err *e);
