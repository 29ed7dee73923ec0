/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/slurm/request.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/scheduler/slurm/message.h"
#include "src/atomicfile.h"

#define SCRIPT_LIMIT ((size_t)4 << 20)

json_t *request_check_job(const json_t *job)
{
    static const char *const texts[] = {"tag", "name", "work_dir", "output", NULL};
    static const char *const numbers[] = {"nodes", "tasks", "gpus_per_task", "cpus_per_task", NULL};

    for (const char *const *s = texts; *s; s++)
        if (!message_text(job, *s))
            return message_refuse("the job has no \"%s\"", *s);
    for (const char *const *s = numbers; *s; s++)
        if (message_number(job, *s) < 1 || message_number(job, *s) > UINT16_MAX)
            return message_refuse("the job's \"%s\" is not between 1 and %d", *s, UINT16_MAX);
    return NULL;
}

json_t *request_read_script(const json_t *job, char **dst)
{
    const char *file = message_text(job, "script");
    struct err e = {.text = "out of memory"};
    size_t n;

    *dst = NULL;
    if (!file)
        return message_refuse("the job has no \"script\"");
    char *script = atomicfile_read(file, SCRIPT_LIMIT, &n, &e);
    if (!script)
        return message_refuse("%s", e.text);
    /* Slurm would accept a script without "#!", and the job would fail with "Exec format error". */
    if (strncmp(script, "#!", 2) != 0) {
        free(script);
        return message_refuse("%s does not start with #!", file);
    }
    *dst = script;
    return NULL;
}
