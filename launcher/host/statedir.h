/* SPDX-License-Identifier: BSD-3-Clause */
/* What belongs to a user, apart from any study. What unetctl remembers between two runs:
 * $XDG_STATE_HOME/unetctl, or ~/.local/state/unetctl. What the user writes:
 * $XDG_CONFIG_HOME/unetctl, or ~/.config/unetctl. */
#ifndef UNETCTL_LAUNCHER_HOST_STATEDIR_H
#define UNETCTL_LAUNCHER_HOST_STATEDIR_H

#include <limits.h>

#include "src/err.h"

/* The absolute path of name in it, which need not exist. ERR_USAGE when the environment names no
 * such folder. */
int statedir_path(const char *name, char dst[PATH_MAX], struct err *e);

/* The absolute path of name in the folder of what the user writes. */
int statedir_config_path(const char *name, char dst[PATH_MAX], struct err *e);

/* Make a folder and its parents, where they do not exist. ERR_INTERNAL. */
int statedir_make(const char *folder, struct err *e);

#endif
