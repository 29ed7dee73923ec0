/* SPDX-License-Identifier: BSD-3-Clause */
/* Command lines: one table per verb is the source of parsing, --help and the man page. */
#ifndef UNETCTL_SRC_CLI_H
#define UNETCTL_SRC_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "src/err.h"

struct buf;

enum cli_type {
    CLI_FLAG,   /* dst: bool *, set to true */
    CLI_STRING, /* dst: const char **, points into argv or the environment */
    CLI_INT,    /* dst: long *, checked against min..max unless both are 0 */
    CLI_DOUBLE, /* dst: double *, checked likewise */
    CLI_LIST,   /* dst: struct cli_list *, may be given several times */
    CLI_TYPED = 16 /* or'ed with one of these: only the command line sets dst; the variable of this
                    * name has another meaning or is read elsewhere */
};

#define CLI_LIST_MAX 256
struct cli_list {
    const char *values[CLI_LIST_MAX];
    size_t count;
};

struct cli_option {
    const char *name; /* without "--"; NULL ends a table */
    char letter;      /* short form, or 0 */
    enum cli_type type;
    const char *arg;  /* what the value is called in help, NULL for a flag */
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
    void (*settings)(
        struct buf *dst);           /* adds the list that help and the man page end with, or NULL */
    int min_operands, max_operands; /* max -1: any number */
    bool verbatim; /* nothing is decoded, not even --help: rest has every word after the verb */
    /* operands: what is left of argv; rest: words after "--", verbatim. Returns an exit code;
     * -1 means e->code, with e filled. */
    int (*run)(int noperands, char **operands, int nrest, char **rest, struct err *e);
};

/* A heading in help and man page for the verbs from first up to the next group's. */
struct cli_group {
    const char *heading; /* NULL ends a list */
    const struct cli_command *first;
};

struct cli_program {
    const char *name, *version, *summary;
    const char *env_prefix; /* "UNETCTL_": --port-base falls back to $UNETCTL_PORT_BASE */
    const struct cli_command *const *commands; /* NULL-terminated */
    const struct cli_group *groups;            /* may be NULL */
    const char *description;                   /* for the man page */
    const char *files;                         /* for the man page, may be NULL */
};

/* Runs the program: selects the verb, decodes its options (an unknown verb, option or value is one
 * error that names the nearest known one, exit 2), runs it, prints its error. `--help`, `VERB
 * --help`, `--version`, `--man` (roff of the man page) and `--completion SHELL` print on stdout.
 * Returns the exit code. */
int cli_run(const struct cli_program *program, int argc, char **argv);

/* Decode argv against a verb's table. Operands are moved to the front: argv[0..*noperands);
 * words after "--" stay at *rest. 0, or -1 with ERR_USAGE. Exposed for tests. */
int cli_decode(const struct cli_command *command, const char *env_prefix, int argc, char **argv,
               int *noperands, int *nrest, char ***rest, struct err *e);

/* The name in names (NULL-terminated) nearest to word by edit distance, or NULL if none is near. */
const char *cli_nearest(const char *word, const char *const *names);

/* The end of a message about an unknown word: "; did you mean 'NAME'?", or "" if none is near. */
#define CLI_SUGGESTION 128
const char *cli_suggest(const char *word, const char *const *names, char dst[CLI_SUGGESTION]);

#endif
