/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/slurm/library/refusal.h"

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdbool.h>

#include "launcher/scheduler/slurm/message.h"

/* Does the controller not understand this library? One of 26.05 answers what it cannot read in
 * HTTP. */
static bool is_incompatible(int code)
{
    return code == SLURM_PROTOCOL_VERSION_ERROR || code == SLURM_PROTOCOL_INSANE_MSG_LENGTH;
}

json_t *refusal_of_slurm(int code)
{
    json_t *refusal;

    if (is_incompatible(code)) {
        refusal = message_refuse("the cluster does not understand libslurm of release %d.%02d (%s)",
                                 SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER),
                                 SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER), slurm_strerror(code));
        json_object_set_new(refusal, "incompatible", json_true());
    } else {
        refusal = message_refuse("%s", slurm_strerror(code));
    }
    json_object_set_new(refusal, "code", json_integer(code));
    return refusal;
}
