/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/cmd/cmd.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/study/site.h"
#include "src/atomicfile.h"
#include "src/log.h"

#define MAX_SITE (1 << 20)

static char *read_site(const char *name, struct site *site, struct err *e)
{
    char *text;
    size_t n;

    if (site_open(site, name, e))
        return NULL;
    text = atomicfile_read(site->file, MAX_SITE, &n, e);
    if (!text)
        site_close(site);
    return text;
}

/* NAME and the first line of its comment. */
static int print_line(const char *name, struct err *e)
{
    struct site site;
    char *text = read_site(name, &site, e);
    const char *comment = text;

    if (!text)
        return -1;
    comment += strspn(comment, "# ");
    printf("%-14s %.*s\n", name, (int)strcspn(comment, "\n"), comment);
    free(text);
    site_close(&site);
    return 0;
}

static bool as_json;

static json_t *encode_site(const char *name, struct err *e)
{
    struct site site;
    char *text = read_site(name, &site, e);
    const char *comment = text;
    json_t *o;

    if (!text)
        return NULL;
    comment += strspn(comment, "# ");
    o = json_pack("{s:s, s:s, s:o, s:s, s:i}", "name", name, "file", site.file, "summary",
                  json_stringn(comment, strcspn(comment, "\n")), "scheduler", site.scheduler,
                  "gpus_per_node", (int)site.gpus_per_node);
    free(text);
    site_close(&site);
    return o;
}

static int list_json(struct err *e)
{
    char *names[SITE_NAMES_MAX + 1];
    json_t *sites = json_array(), *root;
    size_t n;
    int rc = site_names(names, &n, e);

    for (size_t i = 0; i < n; i++) {
        json_t *o = rc == 0 ? encode_site(names[i], e) : NULL;
        if (!o || json_array_append_new(sites, o))
            rc = -1;
        free(names[i]);
    }
    root = json_pack("{s:i, s:o}", "schema", 1, "sites", sites);
    if (rc == 0 && json_dumpf(root, stdout, JSON_INDENT(2)))
        rc = err_set(e, ERR_INTERNAL, "the sites cannot be written as JSON");
    if (rc == 0)
        putchar('\n');
    json_decref(root);
    return rc;
}

static int list(struct err *e)
{
    char *names[SITE_NAMES_MAX + 1];
    size_t n;
    int rc = site_names(names, &n, e);

    for (size_t i = 0; i < n; i++) {
        if (rc == 0)
            rc = print_line(names[i], e);
        free(names[i]);
    }
    return rc;
}

static int print_site(const char *name, struct err *e)
{
    struct site site;
    char *text = read_site(name, &site, e);

    if (!text)
        return -1;
    fputs(text, stdout);
    log_info("%s; copy it to change it: unetctl site show %s >mysite.yaml, and site: ./mysite.yaml "
             "in study.yaml", site.file, name);
    free(text);
    site_close(&site);
    return 0;
}

static int cmd_site_run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    (void)nrest, (void)rest;
    if (strcmp(operands[0], "list") == 0 && noperands == 1)
        return as_json ? list_json(e) : list(e);
    if (strcmp(operands[0], "show") == 0 && noperands == 2)
        return print_site(operands[1], e);
    return err_set(e, ERR_USAGE, "site: 'list' or 'show SITE' is expected");
}

static const struct cli_option options[] = {
    {"json", 0, CLI_FLAG, NULL, "list: print JSON", &as_json, 0, 0},
    {0}};

const struct cli_command cmd_site = {
    .name = "site",
    .args = "list | show SITE",
    .summary = "show the site profiles that come with unetctl",
    .details = "list has a line for each, show prints one, to be copied and changed. "
    "doc/FORMATS.md in\n"
               "PREFIX/share/doc/unetctl has the keys. A study names its site, or the file of one "
               "with a / in it:\n"
               "site: ./mysite.yaml\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 2,
    .run = cmd_site_run,
};
