/* SPDX-License-Identifier: BSD-3-Clause */
/* YAML files that people write, read against one table of settings (settings.h).
 *
 * A table describes a struct. Sections are one level deep ("train.lr"). Every error gives
 * FILE:LINE, what is wrong, and for an unknown key or word the nearest known one. */
#ifndef UNETCTL_LAUNCHER_STUDY_YAML_TABLE_H
#define UNETCTL_LAUNCHER_STUDY_YAML_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/buf.h"
#include "src/err.h"
#include "src/settings/settings.h"

/* Where a value comes from. What stands lower here wins. */
enum yaml_layer { YAML_BUILTIN, YAML_USER, YAML_SITE, YAML_STUDY, YAML_ENVIRONMENT, YAML_COMMAND };

struct yaml_origin {
    enum yaml_layer layer;
    char *where; /* "FILE:LINE", "$UNETCTL_TRAIN_LR", "--set"; NULL for what is built in */
};

/* The origin of each key of a table, by its row. */
struct yaml_origins {
    struct yaml_origin at[SETTINGS_MAX];
};

/* One value as text, and what to call the place where it was said ("--set"). */
struct yaml_setting {
    const char *path, *value, *where;
};

/* A struct is filled layer by layer, from the lowest up: yaml_table_create gives it the presets,
 * each file, variable and word that is added overwrites what it names, and yaml_table_finish
 * refuses a required key that nobody gave (file: where it should have stood). All return 0, or -1
 * with ERR_CONFIG (for words of the command line and the environment ERR_USAGE); yaml_table_destroy
 * frees dst and origins after success and failure alike. Texts are UTF-8 without control
 * characters. */
int yaml_table_create(const struct setting *keys, void *dst, struct yaml_origins *origins,
                      struct err *e);
int yaml_table_add_file(const struct setting *keys, const char *file, enum yaml_layer layer,
                        void *dst, struct yaml_origins *origins, struct err *e);
/* One value; where is what errors and origins call it. Lists are refused. */
int yaml_table_add_text(const struct setting *keys, const char *path, const char *text,
                        enum yaml_layer layer, const char *where, void *dst,
                        struct yaml_origins *origins, struct err *e);
/* The rows of another table that stand in this one below section: where they say more (a higher
 * layer), value and origin are taken over. Lists are not. */
int yaml_table_add_table(const struct setting *keys, const char *section,
                         const struct setting *from, const void *src,
                         const struct yaml_origins *src_origins, void *dst,
                         struct yaml_origins *origins, struct err *e);
int yaml_table_finish(const struct setting *keys, const char *file,
                      const struct yaml_origins *origins, struct err *e);

/* Gives dst, which has the bytes of src, texts, lists and origins of its own. */
int yaml_table_copy(const struct setting *keys, const void *src,
                    const struct yaml_origins *src_origins, void *dst,
                    struct yaml_origins *origins, struct err *e);

/* The same from one file alone. */
int yaml_table_read(const struct setting *keys, const char *file, enum yaml_layer layer, void *dst,
                    struct yaml_origins *origins, struct err *e);

/* The origin of the key called path, which the table has. */
const struct yaml_origin *yaml_table_origin(const struct setting *keys,
                                            const struct yaml_origins *origins, const char *path);

/* The value of a key, where text stands in a file in this folder (NULL: is a word of the command
 * line): of a path the absolute one, any other as it is. To be freed; NULL with errno set. */
char *yaml_table_resolve(const struct setting *key, const char *folder, const char *text);

/* Add a commented YAML file with every key that has a setting or is not on demand: with the last
 * setting of its path, or else its preset. Values are not checked. 0, or -1 with ERR_USAGE for a
 * path that is not in the table. */
int yaml_table_encode(const struct setting *keys, const struct yaml_setting *settings,
                      size_t nsettings, struct buf *dst, struct err *e);

/* Free the texts and lists of dst, which are zeroed, and the origins. */
void yaml_table_destroy(const struct setting *keys, void *dst, struct yaml_origins *origins);

#endif
