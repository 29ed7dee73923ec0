/* SPDX-License-Identifier: BSD-3-Clause */
/* YAML files that people write, read against one table of keys: type, default, bounds, words.
 *
 * A table describes a struct. Sections are one level deep ("train.lr"). Every error gives
 * FILE:LINE, what is wrong, and for an unknown key or word the nearest known one. */
#ifndef UNETCTL_LAUNCHER_STUDY_YAML_TABLE_H
#define UNETCTL_LAUNCHER_STUDY_YAML_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/buf.h"
#include "src/err.h"

enum yaml_type {
    YAML_TEXT,   /* char *, one line */
    YAML_PATH,   /* char *, one line; made absolute: from the file's folder, or from the
                  * current one for words of the command line and the environment */
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

/* Where a value comes from. What stands lower here wins. */
enum yaml_layer { YAML_BUILTIN, YAML_USER, YAML_SITE, YAML_STUDY, YAML_ENVIRONMENT, YAML_COMMAND };

struct yaml_origin {
    enum yaml_layer layer;
    char *where; /* "FILE:LINE", "$UNETCTL_TRAIN_LR", "--set"; NULL for what is built in */
};

/* The origin of each key of a table, by its row. */
#define YAML_KEYS_MAX 128
struct yaml_origins {
    struct yaml_origin at[YAML_KEYS_MAX];
};

struct yaml_key {
    const char *path; /* "name" or "section.name"; NULL ends a table */
    enum yaml_type type;
    size_t offset;      /* of the member in the struct */
    const char *preset; /* the built-in value as text; NULL: the key is required; "" for no text
                          * and no lines */
    double min, max;          /* of YAML_INT and YAML_REAL; both 0: any */
    const char *const *words; /* of YAML_WORD, NULL-terminated */
    bool (*is_path)(const char *text); /* of YAML_PATH: false for words that are kept; NULL: all are
                                        * paths */
    bool is_joined; /* of YAML_TEXT: a list in a file is the same as its items with commas
                     * between */
    bool is_place; /* of YAML_PATH: the file may lie elsewhere later, and means the same */
    bool blank; /* "" (or 0) says nothing: what a lower layer says holds */
    /* What is wrong with a text ("is not a time"), or NULL; may be NULL. Not asked for the
     * preset. */
    const char *(*check)(const char *text);
    const char *help; /* the comment that yaml_table_encode writes behind it */
    bool on_demand;   /* yaml_table_encode writes it only with a setting */
    bool affects_result; /* runs compare only where its values agree */
};

/* One value as text, and what to call the place where it was said ("--set"). */
struct yaml_setting {
    const char *path, *value, *where;
};

/* A row: YAML_KEY("train.lr", YAML_REAL, offset, "0.001", .min = 1e-12, .max = 1000) */
#define YAML_KEY(path_, type_, offset_, preset_, ...) \
    {.path = path_, .type = type_, .offset = offset_, .preset = preset_, __VA_ARGS__}

/* A struct is filled layer by layer, from the lowest up: yaml_table_create gives it the presets,
 * each file, variable and word that is added overwrites what it names, and yaml_table_finish
 * refuses a required key that nobody gave (file: where it should have stood). All return 0, or -1
 * with ERR_CONFIG (for words of the command line and the environment ERR_USAGE); yaml_table_destroy
 * frees dst and origins after success and failure alike. Texts are UTF-8 without control
 * characters. */
int yaml_table_create(const struct yaml_key *keys, void *dst, struct yaml_origins *origins,
                      struct err *e);
int yaml_table_add_file(const struct yaml_key *keys, const char *file, enum yaml_layer layer,
                        void *dst, struct yaml_origins *origins, struct err *e);
/* One value; where is what errors and origins call it. Lists are refused. */
int yaml_table_add_text(const struct yaml_key *keys, const char *path, const char *text,
                        enum yaml_layer layer, const char *where, void *dst,
                        struct yaml_origins *origins, struct err *e);
/* The rows of another table that stand in this one below section: where they say more (a higher
 * layer), value and origin are taken over. Lists are not. */
int yaml_table_add_table(const struct yaml_key *keys, const char *section,
                         const struct yaml_key *from,
                         const void *src, const struct yaml_origins *src_origins, void *dst,
                         struct yaml_origins *origins, struct err *e);
int yaml_table_finish(const struct yaml_key *keys, const char *file,
                      const struct yaml_origins *origins, struct err *e);

/* The value of a key that is a list, whose origin stays. */
int yaml_table_set_lines(const struct yaml_key *key, const char *const *lines, size_t n, void *dst,
                         struct err *e);

/* Gives dst, which has the bytes of src, texts, lists and origins of its own. */
int yaml_table_copy(const struct yaml_key *keys, const void *src,
                    const struct yaml_origins *src_origins,
                    void *dst, struct yaml_origins *origins, struct err *e);

/* The same from one file alone. */
int yaml_table_read(const struct yaml_key *keys, const char *file, enum yaml_layer layer, void *dst,
                    struct yaml_origins *origins, struct err *e);

/* The origin of the key called path, which the table has. */
const struct yaml_origin *yaml_table_origin(const struct yaml_key *keys,
                                            const struct yaml_origins *origins, const char *path);

/* The value of a key, where text stands in a file in this folder (NULL: is a word of the command
 * line): of a path the absolute one, any other as it is. To be freed; NULL with errno set. */
char *yaml_table_resolve(const struct yaml_key *key, const char *folder, const char *text);

/* The row of the key called path, or NULL. */
const struct yaml_key *yaml_table_find(const struct yaml_key *keys, const char *path);

/* The value of a key as a file would have it; lists one item after the other with ", ". */
void yaml_table_format(const struct yaml_key *key, const void *src, struct buf *dst);

/* Add a commented YAML file with every key that has help or a setting: with the last setting of its
 * path, or else its preset. Values are not checked. 0, or -1 with ERR_USAGE for a path that is not
 * in the table. */
int yaml_table_encode(const struct yaml_key *keys, const struct yaml_setting *settings,
                      size_t nsettings, struct buf *dst, struct err *e);

/* Free the texts and lists of dst, which are zeroed, and the origins. */
void yaml_table_destroy(const struct yaml_key *keys, void *dst, struct yaml_origins *origins);

#endif
