/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/sbatch_help.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

#include "launcher/host/child.h"
#include "launcher/host/jobenv.h"
#include "launcher/sandbox/sandbox.h"

#define PATIENCE_S 10
#define MAX_TEXT ((size_t)1 << 20)

/* Runs in the child. in_sandbox: NULL for the commands of this machine. */
static void enter(void *in_sandbox, char *const argv[])
{
    struct sandbox sandbox;
    struct err ignored;

    jobenv_clean();
    if (!in_sandbox)
        return;
    if (sandbox_find(NULL, &sandbox, &ignored) == 0)
        sandbox_exec(&sandbox, NULL, argv, &ignored);
    _exit(127);
}

void sbatch_help_ask(char *const argv[], bool in_sandbox, struct buf *dst)
{
    struct child c = {.argv = (const char *const *)argv, .in = CHILD_NULL, .out = CHILD_READ,
                      .err = CHILD_NULL, .limit_s = PATIENCE_S, .most = MAX_TEXT, .enter = enter};
    struct child_end end;
    struct err ignored;

    c.arg = in_sandbox ? &c : NULL;
    if (child_run(&c, &end, &ignored) == 0)
        buf_add_bytes(dst, end.out.data, end.out.length);
    child_destroy(&end);
}

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

    sbatch_help_ask(argv, in_sandbox, &text);
    enum sbatch_help found = text.data ? sbatch_help_parse(text.data, name) : SBATCH_HELP_NONE;
    buf_destroy(&text);
    return found;
}
