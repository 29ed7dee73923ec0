/* SPDX-License-Identifier: BSD-3-Clause */
/* Folders of a user. State of unetctl: $XDG_STATE_HOME/unetctl, or ~/.local/state/unetctl. Files
 * that the user writes: $XDG_CONFIG_HOME/unetctl, or ~/.config/unetctl. */
#ifndef UNETCTL_LAUNCHER_HOST_STATEDIR_H
#define UNETCTL_LAUNCHER_HOST_STATEDIR_H

#include <limits.h>

#include "src/err.h"

/* The absolute path of name in the folder of the state; it need not exist. ERR_USAGE if the
 * environment has no such folder. */
int statedir_path(const char *name, char dst[PATH_MAX], struct err *e);

/* The same in the folder of files that the user writes. */
int statedir_config_path(const char *name, char dst[PATH_MAX], struct err *e);

/* Makes a folder and its parents if they do not exist. ERR_INTERNAL. */
int statedir_make(const char *folder, struct err *e);

#endif
