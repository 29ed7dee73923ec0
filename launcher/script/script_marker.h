/* SPDX-License-Identifier: BSD-3-Clause */
/* The markers {{NAME}} that templates of scripts may use. */
#ifndef UNETCTL_LAUNCHER_SCRIPT_SCRIPT_MARKER_H
#define UNETCTL_LAUNCHER_SCRIPT_SCRIPT_MARKER_H

/* required: the script that must use the marker ("submit_file.sh", "run_file.sh" or "both"), or
 * ""; the help of this or another marker names exceptions. A NULL name ends the list. */
struct script_marker {
    const char *name, *required, *help;
};
const struct script_marker *script_marker_all(void);

#endif
