/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "src/completion.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Kinds of words by their name in the help; what is not here completes to nothing. */
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

/* The kind of an option's value. "--engine NAME" and "--model NAME" are told apart by the
 * option. */
static const char *kind_of_option(const struct cli_option *o)
{
    if (!o->arg)
        return "";
    return strcmp(o->name, "engine") == 0 ? "engines" : kind_of(o->arg, strlen(o->arg));
}

/* The kind of the first operand: "[RUN ...]" or "RUN". */
static const char *kind_of_operand(const struct cli_command *c)
{
    const char *word = c->args + strspn(c->args, "[");

    return kind_of(word, strcspn(word, " ]."));
}

/* The operands' alternatives, as their text in the help: of "up|down [-- CMD]" up and down, of
 * "list | show SITE" list and "show SITE". *rest begins at c->args; false when there are no
 * more. */
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

/* Their first words. What is in capitals stands for something. */
static void print_choices(const struct cli_command *c)
{
    const char *rest = c->args, *text;
    size_t n;

    while (next_alternative(c, &rest, &text, &n))
        if (islower((unsigned char)*text))
            printf("%.*s ", (int)strcspn(text, " |"), text);
}

/* What follows a choice: " show=sites", or the words themselves,
 * " show=run_file.sh|submit_file.sh". */
static void print_followers(const struct cli_command *c)
{
    const char *rest = c->args, *text;
    size_t n;

    while (next_alternative(c, &rest, &text, &n)) {
        size_t first = strcspn(text, " |"), second = first < n ? n - first - 1 : 0;
        const char *word = text + first + 1;
        if (!second || !islower((unsigned char)*text))
            continue;
        printf(" %.*s=", (int)first, text);
        if (islower((unsigned char)*word))
            printf("%.*s", (int)second, word);
        else
            printf("%s", *kind_of(word, second) ? kind_of(word, second) : "none");
    }
}

/* In single quotes of a shell; fish wants another escape than the others. */
static void print_quoted(const char *text, bool fish)
{
    putchar('\'');
    for (; *text; text++) {
        if (*text == '\'')
            fputs(fish ? "\\'" : "'\\''", stdout);
        else if (*text == '\\' && fish)
            fputs("\\\\", stdout);
        else
            putchar(*text);
    }
    putchar('\'');
}

static void print_identifier(const char *name)
{
    for (; *name; name++)
        putchar(*name == '-' ? '_' : *name);
}

/* ---- bash and zsh ---- */

/* "case VERB in VERB) options=...; values=...; operand=... ;;" lines; both shells read them. */
static void print_cases(const struct cli_program *p)
{
    for (const struct cli_command *const *c = p->commands; *c; c++) {
        printf("    '%s')\n        options='--help", (*c)->name);
        for (const struct cli_option *o = (*c)->options; o && o->name; o++)
            printf(" --%s", o->name);
        printf("'\n        values='");
        for (const struct cli_option *o = (*c)->options; o && o->name; o++) {
            if (o->type == CLI_FLAG)
                continue;
            const char *kind = *kind_of_option(o) ? kind_of_option(o) : "none";
            printf(" --%s=%s", o->name, kind);
            if (o->letter)
                printf(" -%c=%s", o->letter, kind);
        }
        printf(" '\n        operand='%s' choices='", kind_of_operand(*c));
        print_choices(*c);
        printf("' followers='");
        print_followers(*c);
        printf(" ' ;;\n");
    }
}

/* The verbs, and the first words of those that have two. */
static void print_verbs(const struct cli_program *p)
{
    const char *last = "";

    for (const struct cli_command *const *c = p->commands; *c; c++) {
        size_t n = strcspn((*c)->name, " ");
        if (strncmp((*c)->name, last, n) != 0 || last[n] != ' ')
            printf("%.*s ", (int)n, (*c)->name);
        last = (*c)->name;
    }
    printf("--help --version");
}

static void print_seconds(const struct cli_program *p)
{
    for (const struct cli_command *const *c = p->commands; *c; c++) {
        const char *blank = strchr((*c)->name, ' ');
        if (blank)
            printf("    %.*s) seconds=\"$seconds %s\" ;;&\n", (int)(blank - (*c)->name), (*c)->name,
                   blank + 1);
    }
}

static void print_bash(const struct cli_program *p)
{
    printf("# bash completion of %s, made by: %s --completion bash\n_", p->name, p->name);
    print_identifier(p->name);
    printf("() {\n    local cur prev verb='' second='' seconds='' study='' i word\n"
           "    local options='' values='' operand='' choices='' followers='' kind=''\n"
           "    cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
           "    COMPREPLY=()\n"
           "    # readline takes --option=value for three words\n"
           "    if [ \"$cur\" = = ]; then cur=''\n"
           "    elif [ \"$prev\" = = ]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
           "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
           "        word=${COMP_WORDS[i]}\n"
           "        case $word in\n"
           "        --) return ;;\n"
           "        -C | --study) study=${COMP_WORDS[i+1]} ;;\n"
           "        -*) ;;\n"
           "        *)  if [ -z \"$verb\" ]; then verb=$word\n"
           "            elif [ -z \"$second\" ] && [ \"$i\" = 2 ]; then second=$word; fi ;;\n"
           "        esac\n"
           "    done\n    case $verb in\n");
    print_seconds(p);
    printf("    *) ;;\n    esac\n"
           "    case \" $seconds \" in *\" $second \"*) [ -z \"$second\" ] || verb=\"$verb "
           "$second\" ;; esac\n"
           "    if [ -z \"$verb\" ]; then\n"
           "        COMPREPLY=($(compgen -W '");
    print_verbs(p);
    printf("' -- \"$cur\"))\n        return\n    fi\n"
           "    if [ -n \"$seconds\" ] && [ \"$COMP_CWORD\" = 2 ]; then\n"
           "        COMPREPLY=($(compgen -W \"$seconds\" -- \"$cur\"))\n        return\n    fi\n"
           "    case $verb in\n");
    print_cases(p);
    printf("    esac\n"
           "    case $values in *\" $prev=\"*) kind=${values#*\" $prev=\"} kind=${kind%%%% *} "
           "choices='' ;;\n"
           "    *) if [[ $cur == -* ]]; then\n"
           "            COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n            return\n"
           "        fi\n"
           "        kind=$operand\n"
           "        case $followers in *\" $prev=\"*)\n"
           "            kind=${followers#*\" $prev=\"} kind=${kind%%%% *} choices=''\n"
           "            case $kind in *'|'*) choices=${kind//'|'/ } kind='' ;; esac ;;\n"
           "        esac ;;\n    esac\n"
           "    case $kind in\n    '' | none) COMPREPLY=($(compgen -W \"$choices\" -- \"$cur\")) "
           ";;\n"
           "    files) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n"
           "    *)  if [ \"$kind\" = keys ] && [ \"$prev\" != config ]; then compopt -o nospace "
           "2>/dev/null; fi\n"
           "        COMPREPLY=($(compgen -W \"$choices $(\"${COMP_WORDS[0]}\" completion words "
           "\"$kind\" \\\n"
           "            ${study:+-C \"$study\"} 2>/dev/null)\" -- \"$cur\")) ;;\n    esac\n}\n"
           "complete -F _");
    print_identifier(p->name);
    printf(" %s\n", p->name);
}

static void print_zsh(const struct cli_program *p)
{
    printf("#compdef %s\n# zsh completion of %s, made by: %s --completion zsh\n_", p->name, p->name,
           p->name);
    print_identifier(p->name);
    printf("() {\n    emulate -L zsh\n    local cur=$words[CURRENT] prev=$words[CURRENT-1] verb='' "
           "second='' seconds=''\n"
           "    local study='' options='' values='' operand='' choices='' followers='' kind='' i "
           "word\n"
           "    for ((i = 2; i < CURRENT; i++)); do\n"
           "        word=$words[i]\n"
           "        case $word in\n"
           "        --) return ;;\n"
           "        -C | --study) study=$words[i+1] ;;\n"
           "        -*) ;;\n"
           "        *)  if [[ -z $verb ]]; then verb=$word\n"
           "            elif [[ -z $second && $i = 3 ]]; then second=$word; fi ;;\n"
           "        esac\n    done\n");
    for (const struct cli_command *const *c = p->commands; *c; c++) {
        const char *blank = strchr((*c)->name, ' ');
        if (blank)
            printf("    [[ $verb = %.*s ]] && seconds+=' %s'\n", (int)(blank - (*c)->name),
                   (*c)->name, blank + 1);
    }
    printf("    [[ -n $second && \" $seconds \" = *\" $second \"* ]] && verb=\"$verb $second\"\n"
           "    if [[ -z $verb ]]; then\n        compadd -- ");
    print_verbs(p);
    printf("\n        return\n    fi\n"
           "    if [[ -n $seconds && $CURRENT = 3 ]]; then\n        compadd -- ${=seconds}\n       "
           " return\n    fi\n"
           "    case $verb in\n");
    print_cases(p);
    printf("    esac\n"
           "    if [[ $values = *\" $prev=\"* ]]; then\n"
           "        kind=${values#*\" $prev=\"} kind=${kind%%%% *} choices=''\n"
           "    elif [[ $cur = -* ]]; then\n        compadd -- ${=options}\n        return\n"
           "    elif [[ $followers = *\" $prev=\"* ]]; then\n"
           "        kind=${followers#*\" $prev=\"} kind=${kind%%%% *} choices=''\n"
           "        if [[ $kind = *'|'* ]]; then choices=${kind//'|'/ } kind=''; fi\n"
           "    else\n        kind=$operand\n    fi\n"
           "    case $kind in\n    '' | none) compadd -- ${=choices} ;;\n    files) _files ;;\n"
           "    *) compadd -- ${=choices} $($words[1] completion words $kind ${study:+-C} $study "
           "2>/dev/null) ;;\n    esac\n}\n"
           "if [[ $zsh_eval_context[-1] = loadautofunc ]]; then _");
    print_identifier(p->name);
    printf(" \"$@\"; else compdef _");
    print_identifier(p->name);
    printf(" %s; fi\n", p->name);
}

/* ---- fish ---- */

static void print_fish_values(const struct cli_program *p, const char *kind)
{
    if (strcmp(kind, "files") == 0)
        printf(" -F");
    else if (*kind)
        printf(" -f -a '(%s completion words %s 2>/dev/null)'", p->name, kind);
}

static void print_fish_followers(const struct cli_program *p, const struct cli_command *c,
                                 const char *condition)
{
    const char *rest = c->args, *text;
    size_t n;

    while (next_alternative(c, &rest, &text, &n)) {
        size_t first = strcspn(text, " |");
        const char *word = text + first + 1;
        if (first >= n || !islower((unsigned char)*text))
            continue;
        printf("complete -c %s -n '%s; and __fish_seen_subcommand_from %.*s'", p->name, condition,
               (int)first, text);
        if (islower((unsigned char)*word)) {
            printf(" -a '");
            for (size_t i = first + 1; i < n; i++)
                putchar(text[i] == '|' ? ' ' : text[i]);
            putchar('\'');
        } else {
            print_fish_values(p, kind_of(word, n - first - 1));
        }
        putchar('\n');
    }
}

static void print_fish_command(const struct cli_program *p, const struct cli_command *c)
{
    size_t n = strcspn(c->name, " ");
    char condition[160];

    if (c->name[n])
        snprintf(condition, sizeof condition,
                 "__fish_seen_subcommand_from %.*s; and __fish_seen_subcommand_from %s",
                 (int)n, c->name, c->name + n + 1);
    else
        snprintf(condition, sizeof condition, "__fish_seen_subcommand_from %s", c->name);
    for (const struct cli_option *o = c->options; o && o->name; o++) {
        printf("complete -c %s -n '%s' -l %s", p->name, condition, o->name);
        if (o->letter)
            printf(" -s %c", o->letter);
        if (o->type != CLI_FLAG) {
            printf(" -r");
            print_fish_values(p, kind_of_option(o));
        }
        printf(" -d ");
        print_quoted(o->help, true);
        putchar('\n');
    }
    if (*kind_of_operand(c)) {
        printf("complete -c %s -n '%s'", p->name, condition);
        print_fish_values(p, kind_of_operand(c));
        putchar('\n');
    }
    if (memchr(c->args, '|', strcspn(c->args, "["))) {
        printf("complete -c %s -n '%s; and not __fish_seen_subcommand_from ", p->name, condition);
        print_choices(c);
        printf("' -a '");
        print_choices(c);
        printf("'\n");
    }
    print_fish_followers(p, c, condition);
}

static void print_fish(const struct cli_program *p)
{
    printf("# fish completion of %s, made by: %s --completion fish\ncomplete -c %s -f\n", p->name,
           p->name, p->name);
    for (const struct cli_command *const *c = p->commands; *c; c++) {
        size_t n = strcspn((*c)->name, " ");
        if ((*c)->name[n])
            printf("complete -c %s -n '__fish_seen_subcommand_from %.*s' -a %s -d ", p->name,
                   (int)n, (*c)->name, (*c)->name + n + 1);
        else
            printf("complete -c %s -n __fish_use_subcommand -a %s -d ", p->name, (*c)->name);
        print_quoted((*c)->summary, true);
        putchar('\n');
        if ((*c)->name[n])
            printf("complete -c %s -n __fish_use_subcommand -a %.*s\n", p->name, (int)n,
                   (*c)->name);
    }
    for (const struct cli_command *const *c = p->commands; *c; c++)
        print_fish_command(p, *c);
}

int completion_print(const struct cli_program *program, const char *shell, struct err *e)
{
    if (strcmp(shell, "bash") == 0)
        print_bash(program);
    else if (strcmp(shell, "zsh") == 0)
        print_zsh(program);
    else if (strcmp(shell, "fish") == 0)
        print_fish(program);
    else
        return err_set(e, ERR_USAGE, "completion: unknown shell '%s' (bash, zsh, fish)", shell);
    return 0;
}
