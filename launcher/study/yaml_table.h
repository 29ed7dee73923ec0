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

/* Where a value comes from; later layers take precedence. */
enum yaml_layer { YAML_BUILTIN, YAML_USER, YAML_SITE, YAML_STUDY, YAML_ENVIRONMENT, YAML_COMMAND };

struct yaml_origin {
    enum yaml_layer layer;
    char *where; /* "FILE:LINE", "$UNETCTL_TRAIN_LR", "--set"; NULL for presets */
};

/* The origin of each key of a table, by its row. */
struct yaml_origins {
    struct yaml_origin at[SETTINGS_MAX];
};

/* One value as text, and its origin for errors ("--set"). */
struct yaml_setting {
    const char *path, *value, *where;
};

/* A struct is filled layer by layer, from the lowest up: yaml_table_create sets the presets, each
 * file, variable and word that is added overwrites the keys it has, and yaml_table_finish refuses a
 * required key without a value (file: for the error). All return 0, or -1 with ERR_CONFIG
 * (ERR_USAGE for the command line and the environment); yaml_table_destroy frees dst and origins
 * after success and failure. Texts are UTF-8 without control characters. */
int yaml_table_create(const struct setting *keys, void *dst, struct yaml_origins *origins,
                      struct err *e);
int yaml_table_add_file(const struct setting *keys, const char *file, enum yaml_layer layer,
                        void *dst, struct yaml_origins *origins, struct err *e);
/* One value; where: its origin. Lists are refused. */
int yaml_table_add_text(const struct setting *keys, const char *path, const char *text,
                        enum yaml_layer layer, const char *where, void *dst,
                        struct yaml_origins *origins, struct err *e);
/* Copies values and origins of rows of another table to the rows of the same name in section, where
 * they come from a higher layer. Lists are not copied. */
int yaml_table_add_table(const struct setting *keys, const char *section,
                         const struct setting *from, const void *src,
                         const struct yaml_origins *src_origins, void *dst,
                         struct yaml_origins *origins, struct err *e);
int yaml_table_finish(const struct setting *keys, const char *file,
                      const struct yaml_origins *origins, struct err *e);

/* Copies texts, lists and origins of src to dst, which has the bytes of src. */
int yaml_table_copy(const struct setting *keys, const void *src,
                    const struct yaml_origins *src_origins, void *dst,
                    struct yaml_origins *origins, struct err *e);

/* The same from one file alone. */
int yaml_table_read(const struct setting *keys, const char *file, enum yaml_layer layer, void *dst,
                    struct yaml_origins *origins, struct err *e);

/* The origin of a key that the table has. */
const struct yaml_origin *yaml_table_origin(const struct setting *keys,
                                            const struct yaml_origins *origins, const char *path);

/* The value of a key given as text in a file of this folder (NULL: on the command line): paths
 * become absolute. The caller frees it; NULL with errno. */
char *yaml_table_resolve(const struct setting *key, const char *folder, const char *text);

/* Adds a commented YAML file with the last setting of each key, or its preset; keys that are on
 * demand only with a setting. Values are not checked. -1 with ERR_USAGE for an unknown path. */
int yaml_table_encode(const struct setting *keys, const struct yaml_setting *settings,
                      size_t nsettings, struct buf *dst, struct err *e);

/* Free the texts and lists of dst, which are zeroed, and the origins. */
void yaml_table_destroy(const struct setting *keys, void *dst, struct yaml_origins *origins);

#endif
