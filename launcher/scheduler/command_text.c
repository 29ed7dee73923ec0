/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/command_text.h"

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

void command_text(char *const argv[], bool in_sandbox, struct buf *dst)
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
