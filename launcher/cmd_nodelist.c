/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/launcher.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/buf.h"
#include "src/nodelist.h"

static int print(struct buf *b, struct err *e)
{
    if (b->failed)
        return err_set(e, ERR_INTERNAL, "nodelist: out of memory");
    if (fwrite(b->data, 1, b->length, stdout) != b->length || fflush(stdout))
        return err_errno(e, ERR_INTERNAL, errno, "nodelist: cannot write to standard output");
    return 0;
}

static int expand(const struct nodelist *l, struct err *e)
{
    struct buf b = {0};

    for (size_t i = 0; i < nodelist_count(l); i++) {
        size_t length;
        const char *name = nodelist_get(l, i, &length);
        buf_add_bytes(&b, name, length);
        buf_add(&b, "\n");
    }
    int rc = print(&b, e);
    buf_destroy(&b);
    return rc;
}

static int compress(const struct nodelist *l, struct err *e)
{
    struct buf b = {0};
    char *text = nodelist_encode(l, e);

    if (!text)
        return -1;
    buf_addf(&b, "%s\n", text);
    free(text);
    int rc = print(&b, e);
    buf_destroy(&b);
    return rc;
}

/* All lists of the command line as one. */
static struct nodelist *read_lists(int n, char **lists, struct err *e)
{
    struct buf b = {0};

    for (int i = 0; i < n; i++)
        buf_addf(&b, "%s%s", i ? "," : "", lists[i]);
    char *text = buf_steal(&b);
    if (!text) {
        err_set(e, ERR_INTERNAL, "nodelist: out of memory");
        return NULL;
    }
    struct nodelist *l = nodelist_decode(text, NODELIST_LIMIT, e);
    free(text);
    return l;
}

static int run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    static const char *const actions[] = {"expand", "compress", NULL};
    int (*action)(const struct nodelist *, struct err *) = NULL;

    (void)nrest, (void)rest;
    if (strcmp(operands[0], "expand") == 0)
        action = expand;
    else if (strcmp(operands[0], "compress") == 0)
        action = compress;
    if (!action) {
        const char *near = cli_nearest(operands[0], actions);
        return err_set(e, ERR_USAGE, "nodelist: '%s' is neither expand nor compress%s%s%s",
                       operands[0], near ? "; did you mean '" : "", near ? near : "",
                       near ? "'?" : "");
    }
    struct nodelist *l = read_lists(noperands - 1, operands + 1, e);
    if (!l)
        return -1;
    int rc = action(l, e);
    nodelist_destroy(l);
    return rc;
}

static const struct cli_option options[] = {{0}};

const struct cli_command cmd_nodelist = {
    .name = "nodelist",
    .args = "expand|compress LIST...",
    .summary = "expand Slurm's node lists to names, or compress names to a list",
    .details =
        "expand prints one name a line, in the order of the list, duplicates kept, as scontrol\n"
        "show hostnames does; compress prints one list. Neither needs Slurm. Unlike Slurm, text\n"
        "may follow a bracket, and what is wrong is an error (exit 2): an unclosed bracket, a range\n"
        "that goes down, a character that no node name has, more than 1048576 nodes, none at all.\n"
        "\n"
        "  unetctl nodelist expand 'node[1-3,5],gpu[001-010]-ib'\n"
        "  unetctl nodelist compress node1 node2 node3 node5        node[1-3,5]\n",
    .options = options,
    .min_operands = 2,
    .max_operands = -1,
    .run = run,
};
