/* SPDX-License-Identifier: BSD-3-Clause */
/* Which template is used, and where the lines that sbatch reads end in it. */
#include "src/base.h"
#include "launcher/script/script.h"

#include <sys/stat.h>

#include "src/atomicfile.h"
#include "t/tap.h"

static char dir[] = "/tmp/unetctl-template.XXXXXX";
static const char *const nodes[] = {"{{nodes", "tag_node", NULL};
static struct err e;

static void put(const char *name, const char *text)
{
    char path[128];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (atomicfile_write(path, text, strlen(text), 0666, &e))
        bail_out("%s", e.text);
}

static void is_found(const char *user, const char *engine, enum script_file file, const char *want,
                     const char *what)
{
    char path[PATH_MAX];
    char *text = script_template_read(user, engine_find(engine, &e), file, path, &e);

    is_str(text ? text : e.text, want, "%s", what);
    free(text);
}

static void check_places(void)
{
    char path[160];

    put("submit_file.sh", "plain");
    put("run_file.sh", "run");
    is_found(dir, "pytorch", SCRIPT_SUBMIT, "plain", "the submit_file.sh of the folder is found");
    is_found(dir, "horovod", SCRIPT_SUBMIT, "plain",
             "Horovod without its own file uses the common one");
    put("submit_file_hvd.sh", "hvd");
    is_found(dir, "horovod", SCRIPT_SUBMIT, "hvd", "Horovod's own file is preferred");
    is_found(dir, "pytorch", SCRIPT_SUBMIT, "plain", "other engines do not use Horovod's file");
    snprintf(path, sizeof path, "%s/pytorch", dir);
    mkdir(path, 0777);
    put("pytorch/submit_file.sh", "own");
    is_found(dir, "pytorch", SCRIPT_SUBMIT, "own", "the file in the engine's folder is preferred");
    snprintf(path, sizeof path, "%s/submit_file_hvd.sh", dir);
    is_found(path, "pytorch", SCRIPT_SUBMIT, "hvd", "a path of a file is used as submit_file.sh");
    snprintf(path, sizeof path, "%s/pytorch/none", dir);
    mkdir(path, 0777);
    ok(!script_template_get(path, engine_find("pytorch", &e), SCRIPT_RUN, &e) &&
           strstr(e.text, "has neither run_file.sh nor submit_file.sh"),
       "a folder without templates is refused: %s", e.text);
    ok(!script_template_get("/nonexistent", engine_find("pytorch", &e), SCRIPT_RUN, &e),
       "a folder that does not exist is refused: %s", e.text);
    const struct script_template *t = script_template_get(dir, engine_find("command", &e),
                                                          SCRIPT_RUN, &e);
    ok(t && strcmp(t->text, "run") == 0, "a template is read once");
    put("run_file.sh", "other");
    ok(script_template_get(dir, engine_find("command", &e), SCRIPT_RUN, &e) == t,
       "a template is cached");
}

static void ends_at(const char *text, const char *rest, const char *what)
{
    is_str(text + script_template_end_of_directives(text), rest, "%s", what);
}

static void check_directives(void)
{
    ok(script_template_has_directives("#!/bin/sh\n#SBATCH -n 1\n"), "#SBATCH lines are found");
    ok(!script_template_has_directives("#!/bin/sh\necho '#SBATCH'\n"),
       "#SBATCH within a command is not such a line");
    ok(script_template_find_directive("#SBATCH -N {{nodes}}\n", nodes),
       "a line that uses a marker is found");
    ok(script_template_find_directive("#SBATCH -N tag_node\n", nodes),
       "a line that uses a tag is found");
    ok(!script_template_find_directive("#SBATCH -N 1\necho {{nodes}}\n", nodes),
       "markers in other lines do not count");
    ends_at("#!/bin/sh\necho\n", "echo\n", "without directives they end after the first line");
    ends_at("#!/bin/sh\n#SBATCH -n 1\n# a\n\n#SBATCH -N 1\n# b\necho\n#SBATCH -x\n",
            "# b\necho\n#SBATCH -x\n", "directives end before the first command");
    ends_at("#!/bin/sh\n#SBATCH -n 1", "", "directives may end with the file");
    ends_at("#!/bin/sh", "", "the first line may end the file");
}

int main(void)
{
    char command[96];

    if (!mkdtemp(dir))
        bail_out("no folder in /tmp");
    check_places();
    check_directives();
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command) != 0 || done_testing();
}
