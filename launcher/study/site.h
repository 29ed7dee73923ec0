/* SPDX-License-Identifier: BSD-3-Clause */
/* Site profiles describe the differences between clusters. They are templates/sites/NAME.yaml or
 * files of the user's; doc/SETTINGS.md lists the keys. */
#ifndef UNETCTL_LAUNCHER_STUDY_SITE_H
#define UNETCTL_LAUNCHER_STUDY_SITE_H

#include <stdbool.h>

#include "launcher/study/study.h"
#include "launcher/study/yaml_table.h"

struct site {
    char *name, *file;
    const char *scheduler; /* "slurm" or "local" */
    bool sandbox;          /* the site is the Slurm of `unetctl sandbox` */
    int gpus_per_node;    /* 0: a node has as many as a run needs */
    int max_in_flight;    /* local: the most jobs at a time */
    char *licenses;       /* slurm: the licenses that each job requests */
    int port_base, port_count; /* the range of ports, of which the job's number selects those of
                                * its ranks; port_base 0: the preset of unetctl spec */
    int poll_s;           /* the most seconds between two polls of the scheduler by watch */
    /* shell words that start several ranks; markers such as {{tasks}} are replaced */
    char *launcher;
    char *spec;        /* shell words after `unetctl spec`, with the same replacements */
    char *trainer;     /* program to run instead of unet-train, or "" */
    char *templates;   /* folder of the site's job templates, or "" */
    char *container;   /* the image that programs run in, or "" */
    const char *container_runtime; /* what starts it */
    char *shell;       /* the shell that runs submit_file.sh */
    const char *gpu_request; /* "per-task" or "gres" */
    char *gpu_type;    /* such as v100, or "" */
    char *host_suffix; /* appended to each host's name in the cluster spec */
    struct setting_lines setup; /* lines of shell, such as "module load" */
    struct setting_lines env;   /* lines NAME=VALUE */
    struct settings_slurm slurm;
    struct yaml_origins origins; /* indexed by the row of site_keys */
};

/* launcher and spec of sites whose srun has no PMIx. The node list is $SLURM_NODELIST because
 * Open MPI 6 changes SLURM_JOB_NODELIST for ranks on other nodes. */
#define SITE_MPIRUN_LAUNCHER "mpirun --bind-to none -np {{tasks}}"
#define SITE_MPIRUN_SPEC                                                                        \
    "--nodelist \"$SLURM_NODELIST\" --tasks-per-node {{task_list|sh}} "                         \
    "--rank \"${OMPI_COMM_WORLD_RANK:-0}\""

extern const struct setting site_keys[];

/* Opens the profile of this name; a name with a slash is the path of a file. Returns 0, or -1
 * with ERR_CONFIG, which for an unknown name lists the known ones; then there is nothing to
 * close. */
int site_open(struct site *s, const char *name, struct err *e);
void site_close(struct site *s);

/* Returns whether the site says that its GPUs are fake, or not NVIDIA's. */
bool site_has_fake_gpus(const struct site *s);
bool site_has_foreign_gpus(const struct site *s);

/* Lists the names of the profiles that come with unetctl, sorted. Returns 0 or -1; the caller
 * clears the list in either case. */
int site_names(struct setting_lines *names, struct err *e);

#endif
