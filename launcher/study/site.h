/* SPDX-License-Identifier: BSD-3-Clause */
/* Site profiles: the differences between clusters, in templates/sites/NAME.yaml or a file of the
 * user's. doc/FORMATS.md describes the keys. */
#ifndef UNETCTL_LAUNCHER_STUDY_SITE_H
#define UNETCTL_LAUNCHER_STUDY_SITE_H

#include <stdbool.h>

#include "launcher/study/study.h"
#include "launcher/study/yaml_table.h"

struct site {
    char *name, *file;
    const char *scheduler; /* "slurm" or "local" */
    bool sandbox;          /* the Slurm of `unetctl sandbox` */
    int gpus_per_node;    /* 0: one node, any number */
    int max_in_flight;    /* local: jobs at once */
    char *licenses;       /* slurm: the licenses that each job takes */
    int port_base;        /* 0: unetctl spec chooses by the job's number */
    char *launcher;    /* shell words that start several ranks, with {{tasks}} and {{nodes}} */
    char *spec;        /* shell words after `unetctl spec`, likewise */
    char *trainer;     /* program that runs instead of unet-train, or "" */
    char *templates;   /* folder of the site's templates, or "" */
    char *shell;       /* runs submit_file.sh */
    const char *gpu_request; /* "per-task" or "gres" */
    char *gpu_type;    /* such as v100, or "" */
    char *host_suffix; /* behind each host's name in the cluster spec */
    struct setting_lines setup; /* shell lines: modules */
    struct setting_lines env;   /* NAME=VALUE */
    struct settings_slurm slurm;
    struct yaml_origins origins; /* by the row of site_keys */
};

/* launcher and spec where srun has no PMIx. Open MPI 6 changes SLURM_JOB_NODELIST for ranks on
 * other nodes. */
#define SITE_MPIRUN_LAUNCHER "mpirun --bind-to none -np {{tasks}}"
#define SITE_MPIRUN_SPEC                                                                        \
    "--nodelist \"$SLURM_NODELIST\" --tasks-per-node {{task_list|sh}} "                         \
    "--rank \"${OMPI_COMM_WORLD_RANK:-0}\""

extern const struct setting site_keys[];

/* The profile called name; a name with a slash is the path of a file. 0, or -1 with ERR_CONFIG and
 * nothing to destroy; an unknown name lists the known ones. */
int site_open(struct site *s, const char *name, struct err *e);
void site_close(struct site *s);

/* The names of the profiles that come with unetctl, sorted, each to be freed, and NULL. */
#define SITE_NAMES_MAX 64
int site_names(char *names[SITE_NAMES_MAX + 1], size_t *count, struct err *e);

#endif
