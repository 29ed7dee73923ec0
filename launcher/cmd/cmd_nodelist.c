/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/cmd/cmd.h"

#include "launcher/host/jsonio.h"
#include "src/atomicfile.h"
#include "src/cluster/nodelist.h"

#define BLOCK 65536
#define TEXT_MAX (64 << 20)

static struct {
    bool as_json;
} given;

/* Prints both forms of the list: the names and Slurm's short form. */
static int print_json(const struct nodelist *l, const char *list, struct err *e)
{
    json_t *hosts = json_array();

    for (size_t i = 0; i < nodelist_count(l); i++) {
        size_t length;
        const char *text = nodelist_get(l, i, &length);
        json_array_append_new(hosts, json_stringn(text, length));
    }
    return jsonio_print_line(json_pack("{s:i, s:s, s:o}", "schema", 1, "list", list, "hosts",
                                        hosts),
                             "nodelist", e);
}

static int print_list(const struct nodelist *l, bool expanded, struct err *e)
{
    char *list = expanded && !given.as_json ? NULL : nodelist_encode(l, e);
    struct buf b = {0};
    int rc = 0;

    if (!list && (given.as_json || !expanded))
        return -1;
    if (!expanded && !given.as_json)
        buf_addf(&b, "%s\n", list);
    for (size_t i = 0; expanded && !given.as_json && i < nodelist_count(l); i++)
        buf_addf(&b, "%s\n", nodelist_get(l, i, NULL));
    if (given.as_json)
        rc = print_json(l, list, e);
    else if (b.failed)
        rc = err_set(e, ERR_INTERNAL, "nodelist: out of memory");
    else if (fwrite(b.data, 1, b.length, stdout) != b.length)
        rc = err_errno(e, ERR_INTERNAL, errno, "nodelist: cannot write to standard output");
    free(list);
    buf_destroy(&b);
    return rc;
}

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
                           "nodelist: standard input is not text: it has a NUL byte");
        dst->length += n;
        if (dst->length > TEXT_MAX)
            return err_set(e, ERR_USAGE, "nodelist: standard input is longer than %d MiB",
                           TEXT_MAX >> 20);
    } while (n > 0);
    if (ferror(stdin))
        return err_errno(e, ERR_INTERNAL, errno, "nodelist: cannot read standard input");
    return 0;
}

/* Adds an operand: a list, "-" for standard input, or the absolute path of a file, as scontrol
 * accepts. */
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
    return is_text ? 0 : err_set(e, ERR_USAGE, "nodelist: %s is not text: it has a NUL byte",
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
    err_set(e, ERR_USAGE, "nodelist: no list is given, and SLURM_JOB_NODELIST is not set; give a "
            "list, or - to read one from standard input");
    return NULL;
}

/* Reads all operands, or without any the node list of the job, as one list. */
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
    int action = cli_choose(operands[0], actions, "nodelist: unknown word", e);
    struct nodelist *l = action < 0 ? NULL : read_lists(noperands - 1, operands + 1, e);

    if (!l)
        return -1;
    int rc = print_list(l, action == 0, e);
    nodelist_destroy(l);
    return rc;
}

static const struct cli_option options[] = {
    {"json", 0, CLI_FLAG, NULL, "print JSON with the compressed list and the names",
     &given.as_json, 0, 0},
    {0}};

const struct cli_command cmd_nodelist = {
    .name = "nodelist",
    .args = "expand|compress [LIST...]",
    .summary = "expand Slurm node lists to names, or compress names to a list",
    .details =
        "expand prints one name per line, in the order of the list and with duplicates, like\n"
        "'scontrol show hostnames'; compress prints one list, like 'scontrol show hostlist'.\n"
        "Neither needs Slurm. LIST is names and lists, - for standard input, or the absolute path\n"
        "of a file; the default is $SLURM_JOB_NODELIST.\n"
        "\n"
        "Unlike in Slurm, text may follow a bracket, and errors are reported (exit 2) instead of\n"
        "becoming names: an unclosed or stray bracket, a range without end or with a larger\n"
        "start, a character that no node name has, a name of more than 255 bytes, an empty list,\n"
        "more than 1048576 names. Numbers of any length keep their digits.\n"
        "\n"
        "  unetctl nodelist expand 'node[1-3,5],gpu[001-010]-ib'\n"
        "  unetctl nodelist compress node1 node2 node3 node5        node[1-3,5]\n"
        "  sinfo -hN -o %n | unetctl nodelist compress -\n",
    .options = options,
    .min_operands = 1,
    .max_operands = -1,
    .run = cmd_nodelist_run,
};
