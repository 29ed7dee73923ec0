/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/cmd/cmd.h"

#include "launcher/plan/look.h"
#include "launcher/study/study.h"

static struct {
    const char *study_dir;
} given;

static const struct cli_option options[] = {
    {"study", 'C', CLI_STRING, "STUDY",
     "list the runs of the study in this folder (default: as for other verbs)",
     &given.study_dir, 0, 0},
    {0},
};

static int print_runs(struct err *e)
{
    struct study study;
    struct setting_lines ids;
    int rc;

    if (study_open(&study, given.study_dir, NULL, 0, e))
        return -1;
    rc = run_dir_list(study.dir, &ids, e);
    for (size_t i = 0; rc == 0 && i < ids.count; i++)
        puts(ids.lines[i]);
    setting_clear_lines(&ids);
    study_close(&study);
    return rc;
}

static int print_sites(struct err *e)
{
    struct setting_lines names;
    int rc = site_names(&names, e);

    for (size_t i = 0; i < names.count; i++)
        puts(names.lines[i]);
    setting_clear_lines(&names);
    return rc;
}

/* Prints the verbs of `unet-train data`, which are taken from its man page. */
static int print_data_verbs(struct err *e)
{
    static const char *const argv[] = {"--man", NULL};
    static const char head[] = "\n.SS data ";
    char *text;

    if (trainer_program_read(argv, &text, e))
        return -1;
    for (char *p = strstr(text, head); p; p = strstr(p + 1, head))
        printf("%.*s\n", (int)strcspn(p + sizeof head - 1, " \n"), p + sizeof head - 1);
    free(text);
    return 0;
}

static int print_words(const char *kind, struct err *e)
{
    if (strcmp(kind, "runs") == 0)
        return print_runs(e);
    if (strcmp(kind, "sites") == 0)
        return print_sites(e);
    if (strcmp(kind, "engines") == 0)
        for (const char *const *w = setting_find(settings_of_study, "engine")->words; *w; w++)
            puts(*w);
    else if (strcmp(kind, "keys") == 0)
        for (const struct setting *k = settings_of_study; k->path; k++)
            puts(k->path);
    else if (strcmp(kind, "shells") == 0)
        puts("bash\nzsh\nfish");
    else if (strcmp(kind, "schedulers") == 0)
        puts("slurm\nlocal\ndry");
    else if (strcmp(kind, "data") == 0)
        return print_data_verbs(e);
    else
        return err_set(e, ERR_USAGE, "completion words: unknown kind '%s' (known: runs, sites, "
                       "engines, schedulers, keys, shells, data)", kind);
    return 0;
}

/* Prints the script by executing `unetctl --completion`, because only main.c has the table of
 * verbs. */
static int print_script(const char *shell, struct err *e)
{
    execl("/proc/self/exe", "unetctl", "--completion", shell, (char *)NULL);
    return err_errno(e, ERR_INTERNAL, errno, "completion");
}

static int cmd_completion_run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    if (strcmp(operands[0], "words") == 0)
        return noperands == 2 ? print_words(operands[1], e)
                              : err_set(e, ERR_USAGE,
                                        "completion words: a kind is missing (runs, sites, "
                                        "engines, schedulers, keys, shells, data)");
    if (noperands == 2)
        return err_set(e, ERR_USAGE, "completion: unexpected operand '%s'", operands[1]);
    return print_script(operands[0], e);
}

const struct cli_command cmd_completion = {
    .name = "completion",
    .args = "SHELL | words runs|sites|engines|schedulers|keys|shells|data",
    .summary = "print the script that completes command lines in a shell",
    .details =
        "'make install' puts the scripts where the shells look for them. Otherwise add\n"
        "    eval \"$(unetctl completion bash)\"      to ~/.bashrc\n"
        "    eval \"$(unetctl completion zsh)\"       to ~/.zshrc, after compinit\n"
        "    unetctl completion fish | source       to ~/.config/fish/config.fish\n"
        "'completion words KIND' prints what the scripts offer for a kind of words.\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 2,
    .run = cmd_completion_run,
};
