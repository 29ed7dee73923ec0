/* SPDX-License-Identifier: BSD-3-Clause */
/* YAML files that people write, read against one table of keys: type, default, bounds, words.
 *
 * A table describes a struct. Sections are one level deep ("train.lr"). Every error gives
 * FILE:LINE, what is wrong, and for an unknown key or word the nearest known one. */
#ifndef UNETCTL_LAUNCHER_YAML_TABLE_H
#define UNETCTL_LAUNCHER_YAML_TABLE_H

#include <stddef.h>

#include "src/buf.h"
#include "src/err.h"

enum yaml_type {
    YAML_TEXT,   /* char *, one line */
    YAML_PATH,   /* char *, one line; relative ones are taken from the file's folder */
    YAML_WORD,   /* const char *, the entry of words */
    YAML_INT,    /* long */
    YAML_REAL,   /* double */
    YAML_SWITCH, /* bool: true | false */
    YAML_LINES,  /* struct yaml_lines: a list of one-line texts */
    YAML_PAIRS   /* struct yaml_lines: a mapping of free names, kept as "NAME=VALUE" */
};

struct yaml_lines {
    char **lines;
    size_t count;
};

struct yaml_key {
    const char *path; /* "name" or "section.name"; NULL ends a table */
    enum yaml_type type;
    size_t offset;      /* of the member in the struct */
    const char *preset; /* the built-in value as text; NULL: the key is required; "" for no text
                          * and no lines */
    double min, max;          /* of YAML_INT and YAML_REAL; both 0: any */
    const char *const *words; /* of YAML_WORD, NULL-terminated */
    /* What is wrong with a text ("is not a time"), or NULL; may be NULL. Not asked for the preset. */
    const char *(*check)(const char *text);
    const char *help; /* the comment that yaml_table_encode writes behind it */
};

/* One value as text, for yaml_table_encode. */
struct yaml_setting {
    const char *path, *value;
};

/* A row: YAML_KEY("train.lr", YAML_REAL, offset, "0.001", .min = 1e-12, .max = 1000) */
#define YAML_KEY(path_, type_, offset_, preset_, ...) \
    {.path = path_, .type = type_, .offset = offset_, .preset = preset_, __VA_ARGS__}

/* Fill dst (zeroed here first) from the file. What the file does not name has its preset. 0, or -1
 * with ERR_CONFIG and nothing to destroy. Texts are UTF-8 without control characters. */
int yaml_table_read(const struct yaml_key *keys, const char *file, void *dst, struct err *e);

/* Add a commented YAML file with every key that has help: with the last setting of its path, or else
 * its preset. Values are not checked. 0, or -1 with ERR_USAGE for a path that is not in the table. */
int yaml_table_encode(const struct yaml_key *keys, const struct yaml_setting *settings,
                      size_t nsettings, struct buf *dst, struct err *e);

/* Free the texts and lists of dst, which is zeroed. */
void yaml_table_destroy(const struct yaml_key *keys, void *dst);

#endif
