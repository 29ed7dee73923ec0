/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/cmd/cmd.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/script/script_marker.h"
#include "launcher/script/script_template.h"
#include "src/log.h"

static const char *engine_name = "embedded";

static bool as_json;

static int list_json(struct err *e)
{
    json_t *markers = json_array(), *root;
    int rc;

    for (const struct script_marker *m = script_marker_all(); m->name; m++)
        json_array_append_new(markers, json_pack("{s:s, s:s, s:s}", "name", m->name, "required",
                                                 m->required, "help", m->help));
    root = json_pack("{s:i, s:o}", "schema", 1, "markers", markers);
    rc = json_dumpf(root, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(root);
    return rc ? err_set(e, ERR_INTERNAL, "the markers cannot be written as JSON") : 0;
}

static int list(void)
{
    printf("%-16s %-15s %s\n", "MARKER", "REQUIRED IN", "VALUE");
    for (const struct script_marker *m = script_marker_all(); m->name; m++)
        printf("%-16s %-15s %s\n", m->name, *m->required ? m->required : "-", m->help);
    return 0;
}

static int print_template(const char *name, struct err *e)
{
    static const char *const names[] = {"run_file.sh", "submit_file.sh", NULL};
    const struct engine *engine = engine_find(engine_name, e);
    char path[PATH_MAX], *text;
    int i = 0;

    while (names[i] && strcmp(names[i], name) != 0)
        i++;
    if (!engine)
        return -1;
    if (!names[i])
        return err_set(e, ERR_USAGE, "template show %s: there are run_file.sh and submit_file.sh",
                       name);
    text = script_template_read("", engine, i == 0 ? SCRIPT_RUN : SCRIPT_SUBMIT, path, e);
    if (!text)
        return -1;
    fputs(text, stdout);
    log_info("%s; copy it to change it: a folder with a %s of yours is 'templates: ./FOLDER' in "
             "study.yaml", path, name);
    free(text);
    return 0;
}

static int cmd_template_run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    (void)nrest, (void)rest;
    if (strcmp(operands[0], "list") == 0 && noperands == 1)
        return as_json ? list_json(e) : list();
    if (strcmp(operands[0], "show") == 0 && noperands == 2)
        return print_template(operands[1], e);
    return err_set(e, ERR_USAGE, "template: 'list' or 'show run_file.sh|submit_file.sh' is "
                   "expected");
}

static const struct cli_option options[] = {
    {"engine", 0, CLI_STRING, "NAME", "of which engine (embedded)", &engine_name, 0, 0},
    {"json", 0, CLI_FLAG, NULL, "list: print JSON", &as_json, 0, 0},
    {0}};

const struct cli_command cmd_template = {
    .name = "template",
    .args = "list | show run_file.sh|submit_file.sh",
    .summary = "show the templates of job scripts and their markers",
    .details =
        "A template holds {{NAME}}, which becomes a value as it is, or {{NAME|sh}}, which becomes "
        "one word\n"
        "of the shell whatever the value is. list shows the names, and which of them a template "
        "must use;\n"
        "the tag_* words are those of the reference's templates, which may be used as they are. "
        "show\n"
        "prints a built-in template.\n"
        "Example: mkdir my-templates; unetctl template show submit_file.sh "
        ">my-templates/submit_file.sh\n"
        "         unetctl submit --templates ./my-templates --gpus 1..14\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 2,
    .run = cmd_template_run,
};
