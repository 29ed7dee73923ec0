/* SPDX-License-Identifier: BSD-3-Clause */
/* The jobs that the scheduler has of a study. */
#ifndef UNETCTL_LAUNCHER_STATUS_STUDY_JOBS_H
#define UNETCTL_LAUNCHER_STATUS_STUDY_JOBS_H

#include "launcher/study/workspace.h"

/* Stores the jobs of the study that the scheduler of this kind (slurm, local, dry) lists, sorted by
 * tag, then by id; an allocation counts as one job per run. If other users have submitted runs of
 * this study, theirs are included. The caller frees *jobs with free().
 * Returns 0, or -1 and nothing to free. */
int study_jobs_query(struct workspace *w, const char *kind, struct job_state **jobs, size_t *njobs,
                     struct err *e);

/* Returns the job of one attempt among jobs, which are sorted by tag: the one with this id (that
 * of the job which took the attempt's folder, or NULL), otherwise the newest that is active,
 * otherwise the newest; NULL if there is none. */
const struct job_state *study_jobs_find(const struct plan *p, const char *run, int attempt,
                                        const char *id, const struct job_state *jobs, size_t njobs);

#endif
