/* SPDX-License-Identifier: BSD-3-Clause */
/* The differences between the releases of Slurm from 22.05 to 26.05. No other file is compiled
 * differently for another release; library.c reports the release, and refusal.c compares it with
 * the cluster's. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIBRARY_VERSION_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIBRARY_VERSION_H

#include <slurm/slurm.h>

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(22, 5, 0)
#error "unetctl-slurm needs Slurm 22.05 or later; configure --without-slurm leaves it out"
#endif

/* From 23.11, one list describes the resources of a task, including its CPUs. It is also in a
 * job's environment, with variables that keep mpirun's own srun from applying the list to its
 * daemons. */
#define VERSION_TASK_LIST (SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0))

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 11, 0)
#define VERSION_GRES "gres:"
#else
#define VERSION_GRES "gres/"
#endif

/* The sign between a resource's name and its number. */
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(24, 5, 0)
#define VERSION_EQUALS ":"
#else
#define VERSION_EQUALS "="
#endif

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(25, 11, 0)
#define VERSION_JOB_ID(response) ((response)->job_id)
#else
#define VERSION_JOB_ID(response) ((response)->step_id.job_id)
#endif

/* slurm_free_conf has this name from 26.05. VERSION_FULL is the answer of a controller when
 * MaxJobCount jobs exist. */
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(26, 5, 0)
#define slurm_free_conf slurm_free_ctl_conf
#define VERSION_FULL EAGAIN
#else
#define VERSION_FULL ESLURM_MAX_JOB_COUNT
#endif

#endif
