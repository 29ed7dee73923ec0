/* SPDX-License-Identifier: BSD-3-Clause */
/* Command lines: one table per verb is the source of parsing, --help, the man page and the
 * completions of shells. */
#pragma once

#include "src/base.h"

struct buf;

enum cli_type {
    CLI_FLAG,   /* dst: bool *, set to true */
    CLI_STRING, /* dst: const char **, points into argv or the environment */
    CLI_INT,    /* dst: long *, checked against min..max unless both are 0 */
    CLI_DOUBLE, /* dst: double *, checked likewise */
    CLI_LIST,   /* dst: struct cli_list *, may be given several times */
    /* Added to one of these except CLI_FLAG: only the command line sets dst. The environment
     * variable of this name has another meaning or is read elsewhere. */
    CLI_TYPED = 16
};

#define CLI_LIST_MAX 256
struct cli_list {
    const char *values[CLI_LIST_MAX];
    size_t count;
};

struct cli_option {
    const char *name; /* without "--"; NULL ends a table */
    char letter;      /* short form, or 0 for none */
    enum cli_type type;
    const char *arg;  /* the placeholder of the value in help; NULL for a flag */
    const char *help; /* one sentence in one line, with the default if there is one */
    void *dst;
    double min, max;
};

struct cli_command {
    const char *name;    /* verb, one word or two ("data split"); NULL ends a table */
    const char *args;    /* operands as help shows them, e.g. "STUDY"; "" for none */
    const char *summary; /* one line */
    const char *details; /* what it does, reads, writes; an example; for --help and the man page */
    const struct cli_option *options;
    void (*settings)(struct buf *dst); /* adds the list at the end of help and man page, or NULL */
    int min_operands, max_operands; /* max -1: any number */
    bool verbatim; /* nothing is decoded, not even --help: rest has all words after the verb */
    /* operands: what remains of argv after the options; rest: the words after "--", unchanged,
     * if args has "-- "; otherwise they are operands, too.
     * Returns an exit code, or -1 for e->code with e filled. */
    int (*run)(int noperands, char **operands, int nrest, char **rest, struct err *e);
};

/* The options of every verb, which cli_decode applies: --quiet and --verbose (src/log.h). */
extern const struct cli_option cli_common_options[];

/* A group of verbs under one heading in help and man page: from first up to the first of the
 * next group. */
struct cli_group {
    const char *heading; /* NULL ends a list */
    const struct cli_command *first;
};

struct cli_program {
    const char *name, *version, *summary;
    const char *env_prefix; /* "UNETCTL_": the default of --port-base is $UNETCTL_PORT_BASE */
    const struct cli_command *const *commands; /* NULL-terminated */
    const struct cli_group *groups;            /* may be NULL */
    const char *description;                   /* for the man page */
    const char *files;                         /* for the man page, may be NULL */
    /* For verbs that may run on another host by ssh (launcher/remote); NULL: all run here. It is
     * called before a verb runs, with the decoded words as they were typed, and returns whether it
     * has run the verb on the other host. *rc is then what the verb's own run would return. */
    bool (*elsewhere)(const struct cli_command *c, int argc, char **argv, int *rc, struct err *e);
};

/* Runs the program: selects the verb, decodes its options, runs it, prints its error. A word of
 * the command line that is unknown or wrong is one error, exit 2; for an unknown verb or option it
 * names the nearest known one, if one is near. `--help`, `VERB --help`, `--version`, `--man` (roff
 * of the man page) and `--completion SHELL` print on stdout. Returns the exit code. */
int cli_run(const struct cli_program *program, int argc, char **argv);

/* Decodes argv by a verb's table. Options that argv lacks, except those of CLI_LIST and CLI_TYPED,
 * are read from the environment, unless env_prefix is NULL. Operands are moved to the front,
 * argv[0..*noperands); *rest points to the words after "--". Returns 0, or -1 with ERR_USAGE.
 * For words that were not just typed; cli_run calls it for those that were. */
int cli_decode(const struct cli_command *command, const char *env_prefix, int argc, char **argv,
               int *noperands, int *nrest, char ***rest, struct err *e);

/* Returns the option of the table that a word of the command line names, or NULL. *value becomes
 * the value within the word, or NULL. */
const struct cli_option *cli_find_option(const struct cli_option *options, const char *word,
                                         const char **value);

/* Returns how many words of argv name the verb c: one or two, or 0 if they name another verb. */
int cli_match_verb(const struct cli_command *c, int argc, char **argv);

/* Returns the option that argv[*at] is, with its value or NULL, and moves *at to its last word.
 * Returns NULL with ERR_USAGE if there is no such option, or its value is missing or too much. */
const struct cli_option *cli_take_option(const struct cli_command *c, int argc, char **argv,
                                         int *at, const char **value, struct err *e);

/* Returns the name in names (NULL-terminated, or NULL) that is nearest to word by edit distance,
 * the first of several, or NULL if all differ in more than about a third of word's letters. If word
 * has three letters or more, a name that begins with it counts as one letter away. */
const char *cli_nearest(const char *word, const char *const *names);

/* Writes the end of a message about an unknown word to dst and returns it: "; did you mean
 * 'NAME'?", or "" if no name is near. */
#define CLI_SUGGESTION 128
const char *cli_suggest(const char *word, const char *const *names, char dst[CLI_SUGGESTION]);

/* Returns the place of word in names, or -1 with ERR_USAGE: "WHAT 'WORD' (known: NAME, NAME)". */
int cli_choose(const char *word, const char *const *names, const char *what, struct err *e);

/* Completion of command lines in bash, zsh and fish. The shells ask the program, which answers from
 * its tables of verbs and options.
 *
 * The placeholder of a value or operand in the help decides its words: those of SITE, ENGINE, RUN
 * and KEY come from the program's verb "completion words KIND", those of KEY also from the settings
 * that the verb's help lists; DIR, FOLDER, STUDY, PATH and FILE are paths. completion.c has the
 * whole table.
 *
 * Prints the script for shell (bash, zsh, fish) on standard output. Returns 0, or -1 with
 * ERR_USAGE. */
int completion_print(const struct cli_program *program, const char *shell, struct err *e);

/* Prints what may replace the last of words, the command line after the program's name (`PROGRAM
 * --complete WORD...`), whatever that word begins with, except that a "-" asks for options: the
 * shell selects. Prints lines of "WORD", or of "WORD", a tab and a description. A line ":files"
 * asks the shell for paths. A line ":nospace", before the others, says that more may follow the
 * word without a space. */
void completion_print_words(const struct cli_program *program, int nwords, char **words);
