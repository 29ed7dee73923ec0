/* SPDX-License-Identifier: BSD-3-Clause */
/* Engines train a run. The embedded one is unet-train; any other runs a script of the user's, which
 * writes log.csv (doc/FORMATS.md, "Engines"). */
#ifndef UNETCTL_LAUNCHER_STUDY_ENGINE_H
#define UNETCTL_LAUNCHER_STUDY_ENGINE_H

#include <stdbool.h>

#include "src/err.h"

struct engine {
    const char *name; /* also its section in study.yaml, its folder in templates/, and the label of
                       * its runs (the embedded engine's label is the model) */
    bool embedded;
    bool rank_per_gpu;    /* needs a process per GPU: it has no strategy "mirrored" */
    bool always_launched; /* the site's launcher starts even a single rank */
    bool is_python;       /* the script is run by the section's python, not by itself */
    const char *script;   /* below the data folder: the preset of the study's script, or NULL */
};

/* The engine of this name, or NULL with ERR_CONFIG that lists the known ones. */
const struct engine *engine_find(const char *name, struct err *e);

#endif
