/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/cmd/cmd.h"

#include "launcher/host/jsonio.h"
#include "launcher/study/study.h"
#include "src/atomicfile.h"

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

static struct {
    bool as_json;
} given;

/* Prints NAME and the first line of the profile's comment, or with --json adds the profile to
 * sites. */
static int list_site(const char *name, json_t *sites, struct err *e)
{
    struct site site;
    char *text = read_site(name, &site, e);

    if (!text)
        return -1;
    const char *comment = text + strspn(text, "# ");
    int n = (int)strcspn(comment, "\n");
    if (given.as_json)
        json_array_append_new(sites, json_pack("{s:s, s:s, s:s#, s:s, s:i}", "name", name, "file",
                                               site.file, "summary", comment, n, "scheduler",
                                               site.scheduler, "gpus_per_node",
                                               site.gpus_per_node));
    else
        printf("%-14s %.*s\n", name, n, comment);
    free(text);
    site_close(&site);
    return 0;
}

static int list_sites(struct err *e)
{
    struct setting_lines names;
    json_t *sites = json_array();
    int rc = site_names(&names, e);

    for (size_t i = 0; rc == 0 && i < names.count; i++)
        rc = list_site(names.lines[i], sites, e);
    setting_clear_lines(&names);
    json_t *root = json_pack("{s:i, s:o}", "schema", 1, "sites", sites);
    if (rc == 0 && given.as_json)
        return jsonio_print(root, 15, "the sites", e);
    json_decref(root);
    return rc;
}

static int print_site(const char *name, struct err *e)
{
    struct site site;
    char *text = read_site(name, &site, e);

    if (!text)
        return -1;
    fputs(text, stdout);
    log_info("this is %s; to change it, type: unetctl site show %s >mysite.yaml, and set site: "
             "./mysite.yaml in study.yaml", site.file, name);
    free(text);
    site_close(&site);
    return 0;
}

static int cmd_site_run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    if (strcmp(operands[0], "list") == 0 && noperands == 1)
        return list_sites(e);
    if (strcmp(operands[0], "show") == 0 && noperands == 2)
        return print_site(operands[1], e);
    return err_set(e, ERR_USAGE, "site: type 'unetctl site list' or 'unetctl site show SITE'");
}

static const struct cli_option options[] = {
    {"json", 0, CLI_FLAG, NULL, "list: print JSON", &given.as_json, 0, 0},
    {0}};

const struct cli_command cmd_site = {
    .name = "site",
    .args = "list | show SITE",
    .summary = "show the site profiles that come with unetctl",
    .details =
        "list prints a line for each profile; show prints one, to be copied and changed. The keys\n"
        "are described in doc/SETTINGS.md below PREFIX/share/doc/unetctl. A study names its site,\n"
        "or a file with a / in its path: site: ./mysite.yaml\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 2,
    .run = cmd_site_run,
};
