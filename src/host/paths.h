/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the parts of unetctl, in a build tree and in an installation that was moved anywhere.
 *
 *                     libexec (programs)               data (templates)
 *   build tree        the build folder, then the       the same
 *                     source folder
 *   installed         BINDIR/../libexec/unetctl        BINDIR/../share/unetctl
 *   variable, wins    UNETCTL_LIBEXECDIR               UNETCTL_DATADIR
 *
 * BINDIR is the folder of the running executable; it is a build tree if it has the file
 * source-folder, in which configure names the source folder.
 * Names are relative to the top of the source: "unetctl-slurm", "launcher/sandbox/NAME",
 * "templates/sites/generic.yaml"; installing keeps the folders (nobase_ in the Makefile). */
#ifndef UNETCTL_SRC_HOST_PATHS_H
#define UNETCTL_SRC_HOST_PATHS_H

#include <stddef.h>

#include "src/err.h"

/* The folder of the running executable, with links resolved. Returns 0, or -1 if /proc is
 * missing or dst is too small. */
int paths_bindir(char *dst, size_t size);

/* The path of an executable, and of a data file or folder; it is absolute unless the variable's
 * folder is relative. PATH_MAX bytes are enough for dst. Returns 0, or -1 with ERR_INTERNAL that
 * names the folders searched. */
int paths_libexec(const char *name, char *dst, size_t size, struct err *e);
int paths_data(const char *name, char *dst, size_t size, struct err *e);

#endif
