/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/sbatch_help.h"

#include <ctype.h>
#include <string.h>

#include "launcher/scheduler/command_text.h"

enum sbatch_help sbatch_help_parse(const char *text, const char *name)
{
    size_t n = strlen(name);

    for (const char *p = strstr(text, "--"); n && p; p = strstr(p + 2, "--")) {
        const char *end = p + 2 + n;
        if ((p > text && !isspace((unsigned char)p[-1])) || strncmp(p + 2, name, n) != 0)
            continue;
        if (*end == '=')
            return SBATCH_HELP_VALUE;
        if (strncmp(end, "[=", 2) == 0)
            return SBATCH_HELP_OPTIONAL;
        if (!*end || isspace((unsigned char)*end) || *end == ',')
            return SBATCH_HELP_FLAG;
    }
    return SBATCH_HELP_NONE;
}

enum sbatch_help sbatch_help_find(const char *name, bool in_sandbox)
{
    char *argv[] = {"sbatch", "--help", NULL};
    struct buf text = {0};

    command_text(argv, in_sandbox, &text);
    enum sbatch_help found = text.data ? sbatch_help_parse(text.data, name) : SBATCH_HELP_NONE;
    buf_destroy(&text);
    return found;
}
