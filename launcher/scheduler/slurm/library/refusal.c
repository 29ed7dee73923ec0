/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/slurm/library/refusal.h"

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "launcher/scheduler/slurm/command.h"
#include "launcher/scheduler/slurm/message.h"

#define RELEASE_MAJOR SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER)
#define RELEASE_MINOR SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER)

/* Is the release of Slurm's commands, which is the cluster's, different from this library's? */
static bool differs_from_commands(void)
{
    static const char *const argv[] = {"scontrol", "--version", NULL};
    struct command c;
    int major, minor;

    json_t *refusal = command_run(argv, &c);
    bool differs = !refusal && c.out.data &&
                   sscanf(c.out.data, "slurm%*[^0-9]%d.%d", &major, &minor) == 2 &&
                   (major != RELEASE_MAJOR || minor != RELEASE_MINOR);
    json_decref(refusal);
    command_destroy(&c);
    return differs;
}

/* Does the code mean that the controller does not understand this library? A controller of 26.05
 * answers in HTTP what it cannot read (SLURM_UNEXPECTED_MSG_ERROR). If one of 24.11 answers an
 * older library, the code is SLURM_ERROR, which can mean any failure. */
static bool is_incompatible(int code)
{
    switch (code) {
    case SLURM_PROTOCOL_VERSION_ERROR:
    case SLURM_PROTOCOL_INSANE_MSG_LENGTH:
        return true;
    case SLURM_ERROR:
    case SLURM_UNEXPECTED_MSG_ERROR:
        return differs_from_commands();
    default:
        return false;
    }
}

json_t *refusal_of_slurm(int code)
{
    json_t *refusal;

    if (is_incompatible(code)) {
        refusal = message_refuse("the cluster does not understand libslurm of release %d.%02d (%s)",
                                 RELEASE_MAJOR, RELEASE_MINOR, slurm_strerror(code));
        json_object_set_new(refusal, "incompatible", json_true());
    } else {
        refusal = message_refuse("%s", slurm_strerror(code));
    }
    json_object_set_new(refusal, "code", json_integer(code));
    return refusal;
}
