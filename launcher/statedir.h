/* SPDX-License-Identifier: BSD-3-Clause */
/* What unetctl remembers for a user between two runs, apart from any study:
 * $XDG_STATE_HOME/unetctl, or ~/.local/state/unetctl. */
#ifndef UNETCTL_LAUNCHER_STATEDIR_H
#define UNETCTL_LAUNCHER_STATEDIR_H

#include <limits.h>

#include "src/err.h"

/* The absolute path of name in it, which need not exist. ERR_USAGE when the environment names no
 * such folder. */
int statedir_path(const char *name, char dst[PATH_MAX], struct err *e);

/* Make a folder and its parents, where they do not exist. ERR_INTERNAL. */
int statedir_make(const char *folder, struct err *e);

#endif
