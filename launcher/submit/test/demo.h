/* SPDX-License-Identifier: BSD-3-Clause */
/* A study of its own for a test, in a new folder, with the local queue. */
#pragma once

#include "src/base.h"
#include <sys/stat.h>

#include "launcher/study/workspace.h"
#include "t/tap.h"

static char demo_dir[64] = "/tmp/unetctl-demo.XXXXXX";
static struct plan_args demo_args;

static inline void demo_write(const char *name, const char *text)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", demo_dir, name);
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f))
        bail_out("%s cannot be written", path);
}

static inline bool demo_has(const char *name)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", demo_dir, name);
    return access(path, F_OK) == 0;
}

/* Removes the folder, in which runners of jobs that were cancelled may still write. */
static inline void demo_remove(void)
{
    char command[160];

    snprintf(command, sizeof command, "for i in 1 2 3 4 5 6 7 8 9; do rm -rf %s 2>/dev/null && "
             "exit; sleep 0.2; done; exit 1", demo_dir);
    if (system(command) != 0)
        printf("# %s is left\n", demo_dir);
}

/* Makes the folder. */
static inline void demo_make(void)
{
    if (!mkdtemp(demo_dir))
        bail_out("no folder");
    atexit(demo_remove);
    setenv("XDG_STATE_HOME", demo_dir, 1);
    demo_write("study.yaml", "name: demo\nsite: local\ngpus: 1,2,3\nseeds: 1\n"
               "data:\n  dir: .\n  height: 96\n  width: 128\n");
    demo_write("split.json", "{\"schema\":1}\n");
    demo_args.dir = demo_dir;
}

/* Opens the study; words are options of sbatch. */
static inline void demo_open(struct workspace *w, int nwords, char **words)
{
    struct err e;

    if (workspace_open_jobs(w, &demo_args, nwords, words, &e))
        bail_out("%s", e.text);
}

/* Plans the runs unet-g01-s1 to unet-g03-s1. */
static inline struct plan demo_plan(const struct workspace *w)
{
    struct plan plan;
    struct err e;

    if (workspace_plan(w, &plan, &e))
        bail_out("%s", e.text);
    return plan;
}
