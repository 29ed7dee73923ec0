/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/cli.h"

/* What kind of words a placeholder of the help stands for. Other placeholders have no
 * completions. */
static const struct {
    const char *arg, *kind;
} kinds[] = {{"SITE", "sites"},  {"ENGINE", "engines"}, {"RUN", "runs"}, {"KEY", "keys"},
             {"KEY=VALUE", "keys"}, {"DIR", "files"},   {"STUDY", "files"}, {"PATH", "files"},
             {"FILE", "files"},  {"SHELL", "shells"},   {"FOLDER", "files"}, {"KIND", "schedulers"},
             {"VERB", "data"}, {NULL, NULL}};

static const char *kind_of(const char *arg, size_t length)
{
    for (size_t i = 0; kinds[i].arg; i++)
        if (strlen(kinds[i].arg) == length && strncmp(kinds[i].arg, arg, length) == 0)
            return kinds[i].kind;
    return "";
}

/* Returns the kind of an option's value. NAME alone is ambiguous: "--engine NAME" and "--model
 * NAME". */
static const char *kind_of_option(const struct cli_option *o)
{
    return strcmp(o->name, "engine") == 0 ? "engines" : kind_of(o->arg, strlen(o->arg));
}

/* The command line to complete. */
struct completion {
    const struct cli_program *program;
    const struct cli_command *verb;
    const char *study; /* the folder given by -C, or NULL */
};

/* Prints the keys of the settings that the verb's help lists in lines of "  KEY=PRESET ...". */
static void print_setting_keys(const struct cli_command *verb)
{
    struct buf list = {0};

    verb->settings(&list);
    for (char *line = strtok(list.data, "\n"); line; line = strtok(NULL, "\n"))
        printf("%.*s\n", (int)strcspn(line, "=") - 2, line + 2);
    buf_destroy(&list);
}

/* Prints the run-time words of a kind, as the program's own verb "completion words KIND" does;
 * for files, a line that asks the shell to complete paths. */
static void print_kind(const struct completion *c, const char *kind)
{
    char *argv[] = {(char *)"words", (char *)kind, (char *)"-C", (char *)c->study};
    struct err ignored;
    int noperands, nrest;
    char **rest;

    if (strcmp(kind, "files") == 0)
        puts(":files");
    if (strcmp(kind, "keys") == 0 && c->verb->settings)
        print_setting_keys(c->verb);
    for (const struct cli_command *const *v = c->program->commands; *kind && *v; v++)
        if (strcmp((*v)->name, "completion") == 0 &&
            cli_decode(*v, NULL, c->study ? 4 : 2, argv, &noperands, &nrest, &rest, &ignored) == 0)
            (*v)->run(noperands, argv, nrest, rest, &ignored);
}

/* Finds the next alternative of the operands, text[0..n): of "up|down [-- CMD]" first up, then
 * down; of "list | show SITE" first list, then "show SITE". *rest starts as the verb's args.
 * Returns false when there are no more, and at once for operands without "|". */
static bool next_alternative(const struct cli_command *c, const char **rest, const char **text,
                             size_t *n)
{
    const char *end = c->args + strcspn(c->args, "[");
    bool spaced = strstr(c->args, " | ") != NULL;

    if (!memchr(c->args, '|', (size_t)(end - c->args)) || *rest >= end)
        return false;
    *text = *rest + strspn(*rest, " |");
    const char *bar = spaced ? strstr(*text, " | ") : strchr(*text, '|');
    *rest = bar && bar < end ? bar + (spaced ? 3 : 1) : end;
    *n = (size_t)((bar && bar < end ? bar : end) - *text);
    return true;
}

/* Prints what may follow the operand previous: words, or the words of a kind. Returns false if
 * nothing may. */
static bool print_followers(const struct completion *c, const char *previous)
{
    const char *rest = c->verb->args, *text;
    size_t n;

    while (next_alternative(c->verb, &rest, &text, &n)) {
        size_t first = strcspn(text, " |");
        const char *word = text + first + 1;
        if (first >= n || strlen(previous) != first || strncmp(previous, text, first) != 0)
            continue;
        if (!islower((unsigned char)*word))
            print_kind(c, kind_of(word, n - first - 1));
        for (; word < text + n && islower((unsigned char)*word); word += strcspn(word, "|") + 1)
            printf("%.*s\n", (int)strcspn(word, "| "), word);
        return true;
    }
    return false;
}

/* Prints the first word of each alternative (words in capitals are placeholders), and the words
 * of the first operand's kind, as for "[RUN ...]". */
static void print_operands(const struct completion *c)
{
    const char *rest = c->verb->args, *text, *word = rest + strspn(rest, "[");
    size_t n;

    while (next_alternative(c->verb, &rest, &text, &n))
        if (islower((unsigned char)*text))
            printf("%.*s\n", (int)strcspn(text, " |"), text);
    print_kind(c, kind_of(word, strcspn(word, " ].")));
}

static void print_options(const struct cli_option *o)
{
    for (; o && o->name; o++)
        printf("--%s\t%s\n", o->name, o->help);
}

/* Returns the option that word names if its value is a separate word, or NULL. */
static const struct cli_option *find_valued(const struct cli_command *verb, const char *word)
{
    const char *value = NULL;
    const struct cli_option *o =
        word[0] == '-' && word[1] ? cli_find_option(verb->options, word, &value) : NULL;

    return o && o->type != CLI_FLAG && !value ? o : NULL;
}

/* Prints the verbs, of those of two words the first word. If `first` is given, prints only the
 * second words of the verbs that begin with it, and returns whether there are any. */
static bool print_verbs(const struct cli_program *p, const char *first)
{
    const char *last = "";
    bool any = false;

    for (const struct cli_command *const *c = p->commands; *c; c++) {
        size_t n = strcspn((*c)->name, " ");
        bool is_second = first && (*c)->name[n] && strlen(first) == n &&
                         strncmp((*c)->name, first, n) == 0;
        if (is_second)
            printf("%s\t%s\n", (*c)->name + n + 1, (*c)->summary);
        if (!first && (strncmp((*c)->name, last, n) != 0 || last[n] != ' '))
            printf("%.*s\t%s\n", (int)n, (*c)->name, (*c)->name[n] ? "" : (*c)->summary);
        any |= is_second;
        last = (*c)->name;
    }
    return any;
}

void completion_print_words(const struct cli_program *program, int nwords, char **words)
{
    struct completion c = {.program = program};
    const char *current = nwords ? words[nwords - 1] : "", *previous = "";
    const struct cli_option *valued;
    int n = 0;

    for (int i = 0; i + 1 < nwords; i++) { /* readline makes three words of --option=value */
        if (strcmp(words[i], "--") == 0)
            return;
        if (strcmp(previous, "-C") == 0 || strcmp(previous, "--study") == 0)
            c.study = words[i];
        if (strcmp(words[i], "=") != 0)
            previous = words[i];
        n += strcmp(words[i], "=") != 0;
    }
    if (n == 0) {
        print_verbs(program, NULL);
        puts("--help\n--version");
        return;
    }
    if (n == 1 && print_verbs(program, words[0]))
        return;
    for (const struct cli_command *const *v = program->commands; *v && !c.verb; v++)
        c.verb = cli_match_verb(*v, n, words) ? *v : NULL;
    if (!c.verb)
        return;
    valued = find_valued(c.verb, previous);
    if (valued && strcmp(kind_of_option(valued), "keys") == 0)
        puts(":nospace");
    if (valued)
        print_kind(&c, kind_of_option(valued));
    else if (*current == '-') {
        puts("--help\tshow the help");
        print_options(c.verb->options);
        print_options(cli_common_options);
    } else if (!print_followers(&c, previous))
        print_operands(&c);
}

/* The scripts ask the program what may replace the last word. The program prints lines of
 * "WORD", or of "WORD", a tab and a description; ":files" asks for paths, and ":nospace" says
 * that more may follow the word without a space. */
static const char bash[] =
    "_%1$s() {\n"
    "    local IFS=$'\\n' cur=${COMP_WORDS[COMP_CWORD]} words\n"
    "    [ \"$cur\" != = ] || cur=''\n"
    "    words=$(\"${COMP_WORDS[0]}\" --complete \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null |\n"
    "        cut -f1)\n"
    "    case $words in\n"
    "    :files*) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n"
    "    :nospace*) compopt -o nospace 2>/dev/null; words=${words#:nospace} ;;&\n"
    "    *) COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")) ;;\n"
    "    esac\n"
    "}\n"
    "complete -F _%1$s %2$s\n";

static const char zsh[] =
    "#compdef %2$s\n"
    "_%1$s() {\n"
    "    emulate -L zsh\n"
    "    local -a found\n"
    "    found=(${(f)\"$($words[1] --complete \"${(@)words[2,CURRENT]}\" 2>/dev/null |\n"
    "        cut -f1)\"})\n"
    "    if [[ $found[1] = :files ]]; then _files; else compadd -- ${found:#:*}; fi\n"
    "}\n"
    "if [[ $zsh_eval_context[-1] = loadautofunc ]]; then _%1$s \"$@\"; else compdef _%1$s %2$s; "
    "fi\n";

static const char fish[] =
    "function __%1$s_words\n"
    "    set -l found (%2$s --complete (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)\n"
    "    if test \"$found[1]\" = :files\n"
    "        __fish_complete_path (commandline -ct)\n"
    "    else\n"
    "        string match -v ':*' -- $found\n"
    "    end\n"
    "end\n"
    "complete -c %2$s -f -a '(__%1$s_words)'\n";

int completion_print(const struct cli_program *program, const char *shell, struct err *e)
{
    static const struct {
        const char *name, *script;
    } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    char identifier[64];

    snprintf(identifier, sizeof identifier, "%s", program->name);
    for (char *c = identifier; *c; c++)
        *c = *c == '-' ? '_' : *c;
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(shell, shells[i].name) == 0) {
            printf(shells[i].script, identifier, program->name);
            return 0;
        }
    return err_set(e, ERR_USAGE, "completion: unknown shell '%s' (bash, zsh, fish)", shell);
}
