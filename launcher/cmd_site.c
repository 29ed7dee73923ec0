/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/launcher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/site.h"
#include "src/atomicfile.h"
#include "src/log.h"

#define MAX_SITE (1 << 20)

static char *read_site(const char *name, struct site *site, struct err *e)
{
    char *text;
    size_t n;

    if (site_open(site, name, ".", e))
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
    printf("%-12s %.*s\n", name, (int)strcspn(comment, "\n"), comment);
    free(text);
    site_close(&site);
    return 0;
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

static int show(const char *name, struct err *e)
{
    struct site site;
    char *text = read_site(name, &site, e);

    if (!text)
        return -1;
    fputs(text, stdout);
    log_info("%s; copy it to change it: unetctl site show %s >mysite.yaml, and site: ./mysite.yaml in "
             "study.yaml", site.file, name);
    free(text);
    site_close(&site);
    return 0;
}

static int run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    (void)nrest, (void)rest;
    if (strcmp(operands[0], "list") == 0 && noperands == 1)
        return list(e);
    if (strcmp(operands[0], "show") == 0 && noperands == 2)
        return show(operands[1], e);
    return err_set(e, ERR_USAGE, "site: 'list' or 'show NAME' is expected");
}

static const struct cli_option options[] = {{0}};

const struct cli_command cmd_site = {
    .name = "site",
    .args = "list | show NAME",
    .summary = "show the site profiles that come with unetctl",
    .details = "list has a line for each, show prints one, to be copied and changed. doc/FORMATS.md has the\n"
               "keys. A study names its site, or the file of one with a / in it: site: ./mysite.yaml\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 2,
    .run = run,
};
