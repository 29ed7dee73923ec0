/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/cmd/cmd.h"

#include "launcher/host/jsonio.h"
#include "launcher/script/script.h"

static struct {
    const char *engine_name;
    bool as_json;
} given = {.engine_name = "embedded"};

static int list_markers(struct err *e)
{
    json_t *markers = json_array();

    if (!given.as_json)
        printf("%-16s %-15s %s\n", "MARKER", "REQUIRED IN", "VALUE");
    for (const struct script_marker *m = script_marker_all(); m->name; m++)
        if (given.as_json)
            json_array_append_new(markers, json_pack("{s:s, s:s, s:s}", "name", m->name, "required",
                                                     m->required, "help", m->help));
        else
            printf("%-16s %-15s %s\n", m->name, *m->required ? m->required : "-", m->help);
    if (given.as_json)
        return jsonio_print(json_pack("{s:i, s:o}", "schema", 1, "markers", markers), 15,
                            "the markers", e);
    json_decref(markers);
    return 0;
}

static int print_template(const char *name, struct err *e)
{
    static const char *const names[] = {"run_file.sh", "submit_file.sh", NULL};
    const struct engine *engine = engine_find(given.engine_name, e);
    char path[PATH_MAX], *text;
    int i = engine ? cli_choose(name, names, "template show: unknown template", e) : -1;

    if (i < 0)
        return -1;
    text = script_template_read("", engine, i == 0 ? SCRIPT_RUN : SCRIPT_SUBMIT, path, e);
    if (!text)
        return -1;
    fputs(text, stdout);
    log_info("this is %s; to change it, copy it to a folder and set templates: ./FOLDER in "
             "study.yaml", path);
    free(text);
    return 0;
}

static int cmd_template_run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    if (strcmp(operands[0], "list") == 0 && noperands == 1)
        return list_markers(e);
    if (strcmp(operands[0], "show") == 0 && noperands == 2)
        return print_template(operands[1], e);
    return err_set(e, ERR_USAGE,
                   "template: type 'unetctl template list' or 'unetctl template show run_file.sh'");
}

static const struct cli_option options[] = {
    {"engine", 0, CLI_STRING, "NAME",
     "show the template of this engine (default: embedded)", &given.engine_name, 0, 0},
    {"json", 0, CLI_FLAG, NULL, "list: print JSON", &given.as_json, 0, 0},
    {0}};

const struct cli_command cmd_template = {
    .name = "template",
    .args = "list | show run_file.sh|submit_file.sh",
    .summary = "show the templates of job scripts and their markers",
    .details =
        "In a template {{NAME}} becomes a value as it is, and {{NAME|sh}} becomes one quoted word\n"
        "of the shell. list prints the names and where a template must use them; the tag_* words\n"
        "are those of the reference's templates, which work unchanged. show prints a built-in\n"
        "template.\n"
        "Example: mkdir my-templates\n"
        "         unetctl template show submit_file.sh >my-templates/submit_file.sh\n"
        "         unetctl submit --templates ./my-templates --gpus 1..14\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 2,
    .run = cmd_template_run,
};
