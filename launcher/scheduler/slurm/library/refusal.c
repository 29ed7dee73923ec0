/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/slurm/library/refusal.h"

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include "launcher/scheduler/slurm/message.h"

json_t *refusal_of_slurm(int code)
{
    json_t *refusal = message_refuse("%s", slurm_strerror(code));

    json_object_set_new(refusal, "code", json_integer(code));
    if (code == SLURM_PROTOCOL_VERSION_ERROR)
        json_object_set_new(refusal, "incompatible", json_true());
    return refusal;
}
