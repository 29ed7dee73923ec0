/* SPDX-License-Identifier: BSD-3-Clause */
/* The variables that sbatch reads as options (INPUT ENVIRONMENT VARIABLES of sbatch(1), Slurm 22.05
 * to 26.05), and what unetctl does with each. doc/SLURM.md has the same table. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SBATCH_ENVIRONMENT_H
#define UNETCTL_LAUNCHER_SCHEDULER_SBATCH_ENVIRONMENT_H

#include "launcher/scheduler/job.h"

enum sbatch_rule {
    SBATCH_SETTING,  /* is the setting slurm.TO unless another layer sets that */
    SBATCH_VALUE,    /* is --TO=VALUE */
    SBATCH_LATER,    /* likewise, if sbatch has that option; it is newer than Slurm 22.05 */
    SBATCH_FLAG,     /* is --TO if the value is empty, "yes" or a number other than 0 */
    SBATCH_OPTIONAL, /* likewise; any other value except "0" and "no" is --TO=VALUE */
    SBATCH_DECIDED,  /* is not used, and named: unetctl decides on this, for the reason TO */
    SBATCH_IGNORED   /* is not used: it concerns sbatch itself and not its jobs */
};

struct sbatch_variable {
    const char *name; /* NULL ends the table */
    enum sbatch_rule rule;
    const char *to;
};

extern const struct sbatch_variable sbatch_environment_variables[];

/* Returns the value of the variable, or NULL if it is unset or belongs to the job in which this
 * process runs. */
const char *sbatch_environment_get(const struct sbatch_variable *v);

/* Words of sbatch that stand for variables, and the variables' names. Those of settings come
 * first. */
struct sbatch_words {
    char *words[JOB_EXTRA_MAX];
    const char *names[JOB_EXTRA_MAX];
    size_t count, nsettings;
};

/* Adds the word --TO=VALUE for the variable v. Returns the word, or NULL with an error. */
const char *sbatch_environment_add(const struct sbatch_variable *v, const char *value,
                                   struct sbatch_words *dst, struct err *e);

/* Decodes the variables that are options, but not settings, into o, and adds their words to dst,
 * which must outlive o. Returns 0, or -1 with ERR_USAGE that names the variable. */
int sbatch_environment_decode(struct job_options *o, struct sbatch_words *dst, struct err *e);

/* Removes memory that variables (words) ask for from o if an option asks for memory in another way,
 * as --mem, --mem-per-cpu and --mem-per-gpu exclude each other. is_mem_option: o->mem comes from an
 * option and not from a variable. */
void sbatch_environment_yield(struct job_options *o, const struct sbatch_words *words,
                              bool is_mem_option);

/* Adds the variables of sbatch that are set and not used, each with its reason. */
void sbatch_environment_unused(struct buf *dst);

void sbatch_environment_destroy(struct sbatch_words *w);

#endif
