/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/cmd/cmd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/atomicfile.h"
#include "src/buf.h"
#include "src/cluster/nodelist.h"

#define BLOCK 65536
#define TEXT_MAX (64 << 20)

static int print(struct buf *b, struct err *e)
{
    if (b->failed)
        return err_set(e, ERR_INTERNAL, "nodelist: out of memory");
    if (fwrite(b->data, 1, b->length, stdout) != b->length || fflush(stdout))
        return err_errno(e, ERR_INTERNAL, errno, "nodelist: cannot write to standard output");
    return 0;
}

static bool as_json;

/* Both ways at once, whichever was asked for. */
static int print_nodelist_json(const struct nodelist *l, struct err *e)
{
    char *list = nodelist_encode(l, e);
    struct buf b = {0}, name = {0};

    if (!list)
        return -1;
    buf_add(&b, "{\"schema\":1,\"list\":");
    buf_add_json_string(&b, list);
    buf_add(&b, ",\"hosts\":[");
    for (size_t i = 0; i < nodelist_count(l); i++) {
        size_t length;
        const char *text = nodelist_get(l, i, &length);
        name.length = 0;
        buf_add_bytes(&name, text, length);
        buf_add(&b, i ? "," : "");
        buf_add_json_string(&b, name.data ? name.data : "");
    }
    buf_add(&b, "]}\n");
    free(list);
    b.failed |= name.failed;
    int rc = print(&b, e);
    buf_destroy(&name);
    buf_destroy(&b);
    return rc;
}

static int print_expanded(const struct nodelist *l, struct err *e)
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

static int print_compressed(const struct nodelist *l, struct err *e)
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

/* All of standard input; names have no NUL. */
static int add_stdin(struct buf *dst, struct err *e)
{
    size_t n;

    do {
        char *at = buf_reserve(dst, BLOCK);
        if (!at)
            return err_set(e, ERR_INTERNAL, "nodelist: out of memory");
        n = fread(at, 1, BLOCK, stdin);
        at[n] = 0;
        if (memchr(at, 0, n))
            return err_set(e, ERR_USAGE,
                           "nodelist: standard input is not text: it holds a NUL byte");
        dst->length += n;
        if (dst->length > TEXT_MAX)
            return err_set(e, ERR_USAGE, "nodelist: standard input is longer than %d MiB",
                           TEXT_MAX >> 20);
    } while (n > 0);
    if (ferror(stdin))
        return err_errno(e, ERR_INTERNAL, errno, "nodelist: cannot read standard input");
    return 0;
}

/* What one operand stands for: a list, "-", or the absolute path of a file, as for scontrol. */
static int add_operand(struct buf *dst, const char *operand, struct err *e)
{
    if (strcmp(operand, "-") == 0)
        return add_stdin(dst, e);
    if (operand[0] != '/') {
        buf_add(dst, operand);
        return 0;
    }
    size_t n;
    char *text = atomicfile_read(operand, TEXT_MAX, &n, e);
    if (!text)
        return err_prefix(e, "nodelist");
    buf_add(dst, text);
    bool is_text = strlen(text) == n;
    free(text);
    return is_text ? 0 : err_set(e, ERR_USAGE, "nodelist: %s is not text: it holds a NUL byte",
                                 operand);
}

static const char *list_of_job(struct err *e)
{
    static const char *const names[] = {"SLURM_JOB_NODELIST", "SLURM_NODELIST"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return value;
    }
    err_set(e, ERR_USAGE, "nodelist: no list is given, and SLURM_JOB_NODELIST is not in the "
            "environment; give a list, or - to read one from standard input");
    return NULL;
}

/* All operands as one list. */
static struct nodelist *read_lists(int n, char **operands, struct err *e)
{
    struct buf b = {0};
    struct nodelist *l = NULL;
    const char *job = n == 0 ? list_of_job(e) : "";
    int rc = job ? 0 : -1;

    if (rc == 0)
        buf_add(&b, job);
    for (int i = 0; i < n && rc == 0; i++) {
        buf_add(&b, i ? "," : "");
        rc = add_operand(&b, operands[i], e);
    }
    if (rc == 0 && b.failed)
        err_set(e, ERR_INTERNAL, "nodelist: out of memory");
    else if (rc == 0)
        l = nodelist_decode(b.data, NODELIST_LIMIT, e);
    buf_destroy(&b);
    return l;
}

static int cmd_nodelist_run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    static const char *const actions[] = {"expand", "compress", NULL};
    int (*action)(const struct nodelist *, struct err *) = NULL;

    (void)nrest, (void)rest;
    if (strcmp(operands[0], "expand") == 0)
        action = print_expanded;
    else if (strcmp(operands[0], "compress") == 0)
        action = print_compressed;
    if (!action) {
        const char *near = cli_nearest(operands[0], actions);
        return err_set(e, ERR_USAGE, "nodelist: '%s' is neither expand nor compress%s%s%s",
                       operands[0], near ? "; did you mean '" : "", near ? near : "",
                       near ? "'?" : "");
    }
    struct nodelist *l = read_lists(noperands - 1, operands + 1, e);
    if (!l)
        return -1;
    int rc = as_json ? print_nodelist_json(l, e) : action(l, e);
    nodelist_destroy(l);
    return rc;
}

static const struct cli_option options[] = {
    {"json", 0, CLI_FLAG, NULL, "print JSON: the compressed list and the names", &as_json, 0, 0},
    {0}};

const struct cli_command cmd_nodelist = {
    .name = "nodelist",
    .args = "expand|compress [LIST...]",
    .summary = "expand Slurm's node lists to names, or compress names to a list",
    .details =
        "expand prints one name a line, in the order of the list, duplicates kept, as scontrol\n"
        "show hostnames does; compress prints one list, as scontrol show hostlist does. Neither\n"
        "needs Slurm. LIST is names and lists, - for what standard input holds, or the absolute\n"
        "path of a file; without one it is $SLURM_JOB_NODELIST.\n"
        "\n"
        "Unlike Slurm, text may follow a bracket, and what is wrong is an error (exit 2), not a\n"
        "name: an unclosed or stray bracket, a range without end or that goes down, a character\n"
        "that no node name has, a name of more than 255 bytes, no name at all, more than 1048576\n"
        "names. Numbers of any length keep their digits.\n"
        "\n"
        "  unetctl nodelist expand 'node[1-3,5],gpu[001-010]-ib'\n"
        "  unetctl nodelist compress node1 node2 node3 node5        node[1-3,5]\n"
        "  sinfo -hN -o %n | unetctl nodelist compress -\n",
    .options = options,
    .min_operands = 1,
    .max_operands = -1,
    .run = cmd_nodelist_run,
};
