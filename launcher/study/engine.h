/* SPDX-License-Identifier: BSD-3-Clause */
/* The engines that train a run. The embedded one is unet-train; any other runs a script, the
 * user's or one that comes with unetctl, that writes log.csv (doc/FORMATS.md, "Engines"). */
#ifndef UNETCTL_LAUNCHER_STUDY_ENGINE_H
#define UNETCTL_LAUNCHER_STUDY_ENGINE_H

#include <stdbool.h>

#include "src/err.h"

struct engine {
    /* also, unless it is embedded, its section in study.yaml, the label of its runs
     * (RUN_ID_FORMAT), and the folder in templates/ of a run_file.sh of its own, if it has one */
    const char *name;
    bool embedded;
    /* needs one process per GPU; the strategy "mirrored", one process for all, is refused */
    bool rank_per_gpu;
    bool always_launched; /* the site's launcher starts even a single rank */
    /* the python of the engine's section runs the script; otherwise the script is a program */
    bool is_python;
    /* shell words between the python and its script: they start the ranks of a node, once per node;
     * NULL: none */
    const char *launcher;
    /* the script that comes with unetctl, relative to the folder of unetctl's own data files
     * (paths_data), the default of the study's; NULL: none */
    const char *script;
};

/* Returns the engine of this name, or NULL with ERR_CONFIG that lists the known ones. */
const struct engine *engine_find(const char *name, struct err *e);

#endif
