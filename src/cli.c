/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/cli.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/stat.h>

#define HELP_WIDTH 96
#define HELP_AT 32 /* after the option, or the setting */
#define MAX_WORD 64

static bool quiet, verbose;

const struct cli_option cli_common_options[] = {
    {"quiet", 'q', CLI_FLAG, NULL, "write no notes and no progress to stderr, only warnings and errors",
     &quiet, 0, 0},
    {"verbose", 'v', CLI_FLAG, NULL,
     "write each step to stderr: programs started, requests to the scheduler, files written",
     &verbose, 0, 0},
    {0}};

static int min3(int a, int b, int c)
{
    int m = a < b ? a : b;
    return m < c ? m : c;
}

/* Returns the least number of letters to add, leave out, change, or swap with the next one to make
 * b of a. Words of more than MAX_WORD letters count as far apart. */
static int edit_distance(const char *a, const char *b)
{
    int rows[3][MAX_WORD + 1];
    size_t na = strlen(a), nb = strlen(b);

    if (na > MAX_WORD || nb > MAX_WORD)
        return MAX_WORD;
    for (size_t j = 0; j <= nb; j++)
        rows[0][j] = (int)j;
    for (size_t i = 1; i <= na; i++) {
        const int *above = rows[(i - 1) % 3], *second = rows[(i + 1) % 3];
        int *row = rows[i % 3];
        row[0] = (int)i;
        for (size_t j = 1; j <= nb; j++) {
            row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = min3(row[j], row[j], second[j - 2] + 1);
        }
    }
    return rows[na % 3][nb];
}

const char *cli_nearest(const char *word, const char *const *names)
{
    const char *best = NULL;
    int best_distance = ((int)strlen(word) + 1) / 3;

    for (; names && *names; names++) {
        int d = edit_distance(word, *names);
        if (strncmp(word, *names, strlen(word)) == 0 && strlen(word) >= 3)
            d = 1;
        if (d <= best_distance) {
            best_distance = d - 1;
            best = *names;
        }
    }
    return best;
}

const char *cli_suggest(const char *word, const char *const *names, char dst[CLI_SUGGESTION])
{
    const char *near = cli_nearest(word, names);

    *dst = 0;
    if (near)
        snprintf(dst, CLI_SUGGESTION, "; did you mean '%.100s'?", near);
    return dst;
}

int cli_choose(const char *word, const char *const *names, const char *what, struct err *e)
{
    char all[512] = "", near[CLI_SUGGESTION];

    for (int i = 0; names && names[i]; i++) {
        size_t n = strlen(all);
        if (strcmp(names[i], word) == 0)
            return i;
        snprintf(all + n, sizeof all - n, "%s%s", i ? ", " : "", names[i]);
    }
    return err_set(e, ERR_USAGE, "%s '%.200s'%s (known: %s)", what, word,
                   cli_suggest(word, names, near), all);
}

static const struct cli_option *find_long(const struct cli_option *options, const char *name,
                                          size_t length)
{
    for (const struct cli_option *o = options; o && o->name; o++)
        if (strlen(o->name) == length && strncmp(o->name, name, length) == 0)
            return o;
    return NULL;
}

static const struct cli_option *find_letter(const struct cli_option *options, char letter)
{
    for (const struct cli_option *o = options; o && o->name; o++)
        if (o->letter == letter)
            return o;
    return NULL;
}

const struct cli_option *cli_find_option(const struct cli_option *options, const char *word,
                                         const char **value)
{
    const struct cli_option *o;

    *value = NULL;
    if (word[1] == '-') {
        size_t length = strcspn(word + 2, "=");
        o = find_long(options, word + 2, length);
        if (o && word[2 + length] == '=')
            *value = word + 2 + length + 1;
        return o;
    }
    o = find_letter(options, word[1]);
    if (o && word[2])
        *value = word + 2;
    return o && *value && o->type == CLI_FLAG ? NULL : o;
}

/* Returns what the command takes after "--", such as "SBATCH OPTIONS]", or NULL. */
static const char *words_after(const struct cli_command *c)
{
    const char *at = c->args ? strstr(c->args, "-- ") : NULL;

    return at ? at + strlen("-- ") : NULL;
}

static int unknown_option(const struct cli_command *c, const char *word, struct err *e)
{
    const char *names[128];
    char bare[MAX_WORD + 1];
    size_t n = 0;

    for (const struct cli_option *o = c->options; o && o->name && n < 124; o++)
        names[n++] = o->name;
    for (const struct cli_option *o = cli_common_options; o->name; o++)
        names[n++] = o->name;
    names[n++] = "help";
    names[n] = NULL;
    snprintf(bare, sizeof bare, "%.*s", (int)strcspn(word, "="), word);
    const char *near = cli_nearest(bare + strspn(bare, "-"), names), *after = words_after(c);
    if (near)
        return err_set(e, ERR_USAGE, "%s: unknown option '%s'; did you mean '--%s'? (%s --help)",
                       c->name, bare, near, c->name);
    if (after)
        return err_set(e, ERR_USAGE, "%s: unknown option '%s' (%s --help lists them); %.*s come "
                       "after '--': %s -- %s", c->name, bare, c->name, (int)strcspn(after, "]."),
                       after, c->name, word);
    return err_set(e, ERR_USAGE, "%s: unknown option '%s' (%s --help lists them)", c->name, bare,
                   c->name);
}

static int check_bounds(const struct cli_option *o, double v, const char *text, struct err *e)
{
    if (!(o->min == 0 && o->max == 0) && !(v >= o->min && v <= o->max))
        return err_set(e, ERR_USAGE, "--%s %s: must be from %g to %g", o->name, text, o->min,
                       o->max);
    return 0;
}

static int store_value(const struct cli_option *o, const char *text, struct err *e)
{
    char *end;

    switch (o->type & ~CLI_TYPED) {
    case CLI_FLAG:
        *(bool *)o->dst = true;
        return 0;
    case CLI_STRING:
        *(const char **)o->dst = text;
        return 0;
    case CLI_INT: {
        errno = 0;
        long v = strtol(text, &end, 10);
        if (end == text || *end || errno)
            return err_set(e, ERR_USAGE, "--%s %s: not a whole number", o->name, text);
        if (check_bounds(o, (double)v, text, e))
            return -1;
        *(long *)o->dst = v;
        return 0;
    }
    case CLI_DOUBLE: {
        double v = strtod(text, &end);
        if (end == text || *end || !isfinite(v))
            return err_set(e, ERR_USAGE, "--%s %s: not a number", o->name, text);
        if (check_bounds(o, v, text, e))
            return -1;
        *(double *)o->dst = v;
        return 0;
    }
    case CLI_LIST: {
        struct cli_list *list = o->dst;
        if (list->count == CLI_LIST_MAX)
            return err_set(e, ERR_USAGE, "--%s is given more than %d times", o->name, CLI_LIST_MAX);
        list->values[list->count++] = text;
        return 0;
    }
    }
    return err_set(e, ERR_INTERNAL, "--%s: option of unknown type", o->name);
}

static void env_name(char *dst, size_t size, const char *prefix, const char *option)
{
    size_t n = (size_t)snprintf(dst, size, "%s%s", prefix, option);
    for (size_t i = strlen(prefix); i < n && i + 1 < size; i++)
        dst[i] = dst[i] == '-' ? '_' : (char)toupper((unsigned char)dst[i]);
}

/* Sets options that are not on the command line from the environment: `--port-base` with the
 * prefix "UNETCTL_" from $UNETCTL_PORT_BASE. An empty variable counts as unset, and "0" leaves a
 * flag unset. */
static int decode_environment(const char *verb, const struct cli_option *options,
                              const char *prefix, const bool *seen, struct err *e)
{
    char name[128];

    for (int i = 0; options && options[i].name; i++) {
        const struct cli_option *o = &options[i];
        env_name(name, sizeof name, prefix, o->name);
        const char *v = seen[i] || o->type == CLI_LIST || o->type & CLI_TYPED ? NULL : getenv(name);
        if (!v || !*v || (o->type == CLI_FLAG && strcmp(v, "0") == 0))
            continue;
        if (store_value(o, v, e))
            return err_prefix(e, "%s: from the environment variable %s", verb, name);
    }
    return 0;
}

const struct cli_option *cli_take_option(const struct cli_command *c, int argc, char **argv,
                                         int *at, const char **value, struct err *e)
{
    char *word = argv[*at];
    const struct cli_option *o = cli_find_option(c->options, word, value);

    if (!o)
        o = cli_find_option(cli_common_options, word, value);
    if (!o)
        unknown_option(c, word, e);
    else if (o->type == CLI_FLAG && *value)
        err_set(e, ERR_USAGE, "%s: --%s takes no value", c->name, o->name);
    else if (o->type != CLI_FLAG && !*value && *at + 1 == argc)
        err_set(e, ERR_USAGE, "%s: --%s needs a value: --%s %s", c->name, o->name, o->name, o->arg);
    else if (o->type == CLI_FLAG || *value || (*value = argv[++*at]))
        return o;
    return NULL;
}

/* Applies --quiet and --verbose. Their variables count only without either option. */
static int set_log_level(const char *verb, const char *env_prefix, struct err *e)
{
    const bool seen[] = {quiet || verbose, quiet || verbose};

    if (decode_environment(verb, cli_common_options, env_prefix, seen, e))
        return -1;
    if (quiet && verbose)
        return err_set(e, ERR_USAGE, "%s: --quiet and --verbose exclude each other", verb);
    log_set_level(quiet ? LOG_WARN : verbose ? LOG_DEBUG : LOG_INFO);
    return 0;
}

int cli_decode(const struct cli_command *c, const char *env_prefix, int argc, char **argv,
               int *noperands, int *nrest, char ***rest, struct err *e)
{
    bool seen[128] = {false};
    int n = 0, i;

    quiet = verbose = false;
    *nrest = 0;
    *rest = argv + argc;
    for (i = 0; i < argc; i++) {
        const struct cli_option *o;
        const char *value;

        if (strcmp(argv[i], "--") == 0) {
            i++;
            if (!words_after(c)) /* only a sign that no option follows */
                while (i < argc)
                    argv[n++] = argv[i++];
            *rest = argv + i;
            *nrest = argc - i;
            break;
        }
        if (argv[i][0] != '-' || argv[i][1] == 0) {
            argv[n++] = argv[i];
            continue;
        }
        o = cli_take_option(c, argc, argv, &i, &value, e);
        if (!o)
            return -1;
        if (store_value(o, value, e))
            return err_prefix(e, "%s", c->name);
        for (size_t k = 0; c->options && c->options[k].name; k++)
            seen[k] |= &c->options[k] == o;
    }
    *noperands = n;
    if (n < c->min_operands)
        return err_set(e, ERR_USAGE, "%s: an operand is missing; usage: %s %s", c->name, c->name,
                       c->args);
    if (c->max_operands >= 0 && n > c->max_operands)
        return err_set(e, ERR_USAGE, "%s: unexpected operand '%s' (%s --help)", c->name,
                       argv[c->max_operands], c->name);
    if (!env_prefix)
        return 0;
    return decode_environment(c->name, c->options, env_prefix, seen, e) ||
                   set_log_level(c->name, env_prefix, e)
               ? -1
               : 0;
}

/* Returns the heading of the group that begins with verb c, or NULL. */
static const char *find_heading(const struct cli_program *p, const struct cli_command *c)
{
    for (const struct cli_group *g = p->groups; g && g->heading; g++)
        if (g->first == c)
            return g->heading;
    return NULL;
}

/* Prints lines. What does not fit into HELP_WIDTH columns continues below the help, which begins
 * at column HELP_AT. */
static void print_wrapped(const char *text)
{
    while (*text) {
        size_t room = HELP_WIDTH, n = strcspn(text, "\n"), at = HELP_AT;
        while (n > room) {
            size_t fits = room;
            while (fits > at && text[fits] != ' ')
                fits--;
            if (fits <= at) /* a word that is longer */
                break;
            printf("%.*s\n%*s", (int)fits, text, HELP_AT, "");
            text += fits + 1;
            n -= fits + 1;
            room = HELP_WIDTH - HELP_AT;
            at = 0;
        }
        printf("%.*s\n", (int)n, text);
        text += n + (text[n] == '\n');
    }
}

static void print_options_help(const struct cli_option *o)
{
    char left[64], line[512];

    for (; o && o->name; o++) {
        snprintf(left, sizeof left, "%s%c%s--%s%s%s", o->letter ? "-" : "",
                 o->letter ? o->letter : ' ',
                 o->letter ? ", " : "   ", o->name, o->arg ? " " : "", o->arg ? o->arg : "");
        snprintf(line, sizeof line, "  %-29s %s", left, o->help);
        print_wrapped(line);
    }
}

static void print_program_help(const struct cli_program *p)
{
    printf("%s - %s\n\nUsage: %s VERB [OPTIONS]\n%s", p->name, p->summary, p->name,
           p->groups ? "" : "\n");
    for (const struct cli_command *const *c = p->commands; *c; c++) {
        const char *heading = find_heading(p, *c);
        if (heading)
            printf("\n%s\n", heading);
        printf("  %-11s %s\n", (*c)->name, (*c)->summary);
    }
    printf("\nOptions of every verb\n");
    print_options_help(cli_common_options);
    printf("\n'%s VERB --help' describes one verb, 'man %s' all of them.\n", p->name, p->name);
}

static void print_group_help(const struct cli_program *p, const char *group)
{
    size_t n = strlen(group);

    printf("Usage: %s %s VERB [OPTIONS]\n\n", p->name, group);
    for (const struct cli_command *const *c = p->commands; *c; c++)
        if (strncmp((*c)->name, group, n) == 0 && (*c)->name[n] == ' ')
            printf("  %-11s %s\n", (*c)->name, (*c)->summary);
}

/* Passes a heading, and then the verb's list of settings, to print. */
static void print_settings(const struct cli_command *c, void (*print)(const char *text))
{
    struct buf b = {0};

    c->settings(&b);
    print("\nSettings, with their presets:\n");
    print(b.data ? b.data : "");
    buf_destroy(&b);
}

static void print_command_help(const struct cli_program *p, const struct cli_command *c)
{
    printf("Usage: %s %s [-qv] %s%s\n\n%s.\n", p->name, c->name,
           c->options && c->options->name ? "[OPTIONS] " : "", c->args, c->summary);
    if (c->options && c->options->name)
        printf("\nOptions:\n");
    print_options_help(c->options);
    if (c->details)
        printf("\n%s", c->details);
    if (c->settings)
        print_settings(c, print_wrapped);
}

/* Prints text for roff, where a backslash, a hyphen, and a dot or quote at the start of a line
 * must be escaped, and ends the last line. */
static void print_roff(const char *text)
{
    bool start = true;

    for (; *text; text++) {
        if (start && (*text == '.' || *text == '\''))
            fputs("\\&", stdout);
        if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '-')
            fputs("\\-", stdout);
        else
            putchar(*text);
        start = *text == '\n';
    }
    if (!start)
        putchar('\n');
}

static void print_options_roff(const struct cli_option *o)
{
    for (; o && o->name; o++) {
        printf(".TP\n.B ");
        if (o->letter)
            printf("\\-%c, ", o->letter);
        fputs("\\-\\-", stdout);
        for (const char *s = o->name; *s; s++)
            fputs(*s == '-' ? "\\-" : (char[]){*s, 0}, stdout);
        printf("%s%s\n", o->arg ? " " : "", o->arg ? o->arg : "");
        print_roff(o->help);
    }
}

static void print_man(const struct cli_program *p)
{
    static const char *const codes[] = {
        "0", "success", "1", "internal error, or some runs failed", "2", "usage",
        "3", "configuration or template", "4", "scheduler or host unreachable or refusing",
        "5", "peer lost, rendezvous or preflight failed", "6", "timed out",
        "7", "data missing or corrupt", "8", "not enough data for the asked statistics",
        "9", "checkpoint unusable", "75", "stopped with a checkpoint; resume it",
        "130", "interrupted", "128+n", "ended by signal n", NULL};

    printf(".TH %s 1 \"\" \"unetctl %s\" \"User Commands\"\n.SH NAME\n", p->name, p->version);
    printf("%s \\- %s\n.SH SYNOPSIS\n", p->name, p->summary);
    for (const struct cli_command *const *c = p->commands; *c; c++) {
        const char *heading = find_heading(p, *c);
        if (heading)
            printf(".SS %s\n", heading);
        printf(".B %s %s\n[OPTIONS] %s\n.br\n", p->name, (*c)->name, (*c)->args);
    }
    printf(".SH DESCRIPTION\n");
    print_roff(p->description);
    printf(".SH OPTIONS\nEvery verb has these besides its own.\n");
    print_options_roff(cli_common_options);
    printf(".SH VERBS\n");
    for (const struct cli_command *const *c = p->commands; *c; c++) {
        printf(".SS %s %s\n", (*c)->name, (*c)->args);
        print_roff((*c)->summary);
        print_options_roff((*c)->options);
        printf(".PP\n.nf\n");
        if ((*c)->details)
            print_roff((*c)->details);
        if ((*c)->settings)
            print_settings(*c, print_roff);
        printf(".fi\n");
    }
    printf(".SH ENVIRONMENT\nThe variable %s and an option's name in capitals, with _ for -, sets "
           "an option that is not on the command line.\n.SH EXIT STATUS\n", p->env_prefix);
    for (const char *const *s = codes; *s; s += 2)
        printf(".TP\n.B %s\n%s\n", s[0], s[1]);
    if (p->files) {
        printf(".SH FILES\n.nf\n");
        print_roff(p->files);
        printf(".fi\n");
    }
}

static int unknown_verb(const struct cli_program *p, const char *word)
{
    const char *names[64];
    size_t n = 0;

    for (const struct cli_command *const *c = p->commands; *c && n < 63; c++)
        names[n++] = (*c)->name;
    names[n] = NULL;
    const char *near = cli_nearest(word + strspn(word, "-"), names);
    if (near)
        log_error("unknown verb '%s'; did you mean '%s %s'?", word, p->name, near);
    else
        log_error("unknown verb '%s' (%s --help lists them)", word, p->name);
    return ERR_USAGE;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static bool wants_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (is_help(argv[i]))
            return true;
    return false;
}

int cli_match_verb(const struct cli_command *c, int argc, char **argv)
{
    size_t first = strcspn(c->name, " ");

    if (strlen(argv[0]) != first || strncmp(c->name, argv[0], first) != 0)
        return 0;
    if (c->name[first] == 0)
        return 1;
    return argc > 1 && strcmp(c->name + first + 1, argv[1]) == 0 ? 2 : 0;
}

/* Returns whether word is the first word of verbs that have two ("data split"). `data --help` lists
 * those. */
static bool is_group(const struct cli_program *p, const char *word)
{
    size_t n = strlen(word);

    for (const struct cli_command *const *c = p->commands; *c; c++)
        if (strncmp((*c)->name, word, n) == 0 && (*c)->name[n] == ' ')
            return true;
    return false;
}

static int run_group(const struct cli_program *p, int argc, char **argv)
{
    char verb[2 * MAX_WORD];

    if (argc > 1 && argv[1][0] == '-' && !is_help(argv[1])) {
        log_error("%s: unknown option '%s'; a second verb is missing ('%s %s --help' lists them)",
                  argv[0], argv[1], p->name, argv[0]);
        return ERR_USAGE;
    }
    if (argc > 1 && !is_help(argv[1])) {
        snprintf(verb, sizeof verb, "%s %s", argv[0], argv[1]);
        return unknown_verb(p, verb);
    }
    if (argc == 1)
        log_error("%s: a second verb is missing ('%s %s --help' lists them)", argv[0], p->name,
                  argv[0]);
    else
        print_group_help(p, argv[0]);
    return argc == 1 ? ERR_USAGE : 0;
}

/* Decodes the words of a verb and runs it, here or elsewhere. typed: room for the words as they
 * are before operands are moved to the front. */
static int decode_and_run(const struct cli_program *p, const struct cli_command *c, int argc,
                          char **argv, char **typed, struct err *e)
{
    int noperands, nrest, rc;
    char **rest;

    memcpy(typed, argv, (size_t)argc * sizeof *typed);
    if (cli_decode(c, p->env_prefix, argc, argv, &noperands, &nrest, &rest, e))
        return -1;
    if (p->elsewhere && p->elsewhere(c, argc, typed, &rc, e))
        return rc;
    return c->run(noperands, argv, nrest, rest, e);
}

static int run_verb(const struct cli_program *p, const struct cli_command *c, int argc, char **argv)
{
    struct err e = {0};

    if (!c->verbatim && wants_help(argc, argv))
        return print_command_help(p, c), 0;
    char **typed = mem_alloc((size_t)argc + 1, sizeof *typed, &e);
    int rc = !typed ? -1
             : c->verbatim ? c->run(0, argv, argc, argv, &e)
                           : decode_and_run(p, c, argc, argv, typed, &e);
    free(typed);
    if (rc >= 0)
        return rc;
    if (e.code == ERR_RESUMABLE)
        log_warn("%s", e.text);
    else
        log_error("%s", e.text);
    return e.code ? e.code : ERR_INTERNAL;
}

static int print_completion(const struct cli_program *p, const char *shell)
{
    struct err e;

    if (completion_print(p, shell, &e) == 0)
        return 0;
    log_error("%s", e.text);
    return e.code;
}

static int run_program(const struct cli_program *p, int argc, char **argv)
{
    static char help[] = "--help";

    if (argc < 2) {
        log_error("a verb is missing (%s --help lists them)", p->name);
        return ERR_USAGE;
    }
    if (strcmp(argv[1], "help") == 0 && argc > 2) { /* as VERB --help */
        memmove(argv + 1, argv + 2, (size_t)(argc - 2) * sizeof *argv);
        argv[argc - 1] = help;
    }
    if (is_help(argv[1]) || strcmp(argv[1], "help") == 0)
        return print_program_help(p), 0;
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
        return printf("%s %s\n", p->name, p->version), 0;
    if (strcmp(argv[1], "--man") == 0)
        return print_man(p), 0;
    if (strcmp(argv[1], "--completion") == 0)
        return print_completion(p, argc > 2 ? argv[2] : "");
    if (strcmp(argv[1], "--complete") == 0)
        return completion_print_words(p, argc - 2, argv + 2), 0;
    for (const struct cli_command *const *c = p->commands; *c; c++) {
        int nwords = cli_match_verb(*c, argc - 1, argv + 1);
        if (nwords)
            return run_verb(p, *c, argc - 1 - nwords, argv + 1 + nwords);
    }
    if (is_group(p, argv[1]))
        return run_group(p, argc - 1, argv + 1);
    return unknown_verb(p, argv[1]);
}

/* Opens standard streams that are closed. Otherwise the next file that is opened would become
 * one of them. */
static void fill_streams(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0)
            return;
}

static void ignore(int signal)
{
    (void)signal;
}

/* Lets a write beyond the limit of a file's size (ulimit -f) fail with EFBIG instead of ending the
 * process; the programs that it starts have the default again, as of any caught signal. Nothing
 * that is written is writable for others: scripts are executed. */
static void set_up_process(void)
{
    struct sigaction was, catch = {.sa_handler = ignore, .sa_flags = SA_RESTART};

    if (sigaction(SIGXFSZ, NULL, &was) == 0 && was.sa_handler != SIG_IGN)
        sigaction(SIGXFSZ, &catch, NULL);
    umask(umask(S_IWOTH) | S_IWOTH);
}

int cli_run(const struct cli_program *p, int argc, char **argv)
{
    fill_streams();
    set_up_process();
    log_open(p->name);
    int rc = run_program(p, argc, argv);
    errno = 0;
    if ((fflush(stdout) || ferror(stdout)) && rc == 0) {
        log_error("cannot write to standard output%s%s", errno ? ": " : "",
                  errno ? strerror(errno) : "");
        rc = ERR_INTERNAL;
    }
    return rc;
}
