/* SPDX-License-Identifier: BSD-3-Clause */
/* The markers that templates of scripts may use. */
#ifndef UNETCTL_LAUNCHER_SCRIPT_SCRIPT_MARKER_H
#define UNETCTL_LAUNCHER_SCRIPT_SCRIPT_MARKER_H

/* A NULL name ends the list. required: the script that must use it, or "". */
struct script_marker {
    const char *name, *required, *help;
};
const struct script_marker *script_marker_all(void);

#endif
