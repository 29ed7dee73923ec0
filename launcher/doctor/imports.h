/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether the container starts here, and Python has what the script of an engine imports. */
#ifndef UNETCTL_LAUNCHER_DOCTOR_IMPORTS_H
#define UNETCTL_LAUNCHER_DOCTOR_IMPORTS_H

#include "launcher/doctor/findings.h"
#include "launcher/study/workspace.h"

/* Starts the interpreter of the study's engine as run_file.sh does, after the lines of setup and
 * env, in the container, and imports the modules that the script imports at its top level, outside
 * of try. For engines that do not run Python only the container is checked. */
void imports_check(const struct workspace *w, struct findings *f);

#endif
