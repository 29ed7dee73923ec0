/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads YAML files that people write, by a table of settings (settings.h). The table describes
 * the members of a struct. Sections are one level deep ("train.lr"). Errors give FILE:LINE, what
 * is wrong, and the nearest known name for an unknown key or word. */
#pragma once

#include "src/base.h"
#include "src/settings/settings.h"

/* The sources of a value. Later layers take precedence. YAML_SBATCH: a variable of sbatch's
 * (launcher/scheduler/job.h). */
enum yaml_layer {
    YAML_BUILTIN, YAML_SBATCH, YAML_USER, YAML_SITE, YAML_STUDY, YAML_ENVIRONMENT, YAML_COMMAND
};

struct yaml_origin {
    enum yaml_layer layer;
    char *where; /* "FILE:LINE", "$UNETCTL_TRAIN_LR", or an option as "--set"; NULL for presets */
};

/* The origin of each value, indexed by the row of the table. */
struct yaml_origins {
    struct yaml_origin at[SETTINGS_MAX];
};

/* A value as text, and its origin for errors ("--set"). */
struct yaml_setting {
    const char *path, *value, *where;
};

/* A struct is filled layer by layer, from the lowest up. yaml_table_create sets the presets.
 * Each file, variable and text that is added overwrites the keys that it has, except that an empty
 * value leaves a key that may be blank as it is. yaml_table_finish refuses a required key without
 * a value, with `trainer` also one of the trainer's; file is named in that error. All return 0, or
 * -1 with ERR_CONFIG (ERR_USAGE for the command line and the environment). yaml_table_destroy frees
 * dst and origins after success and failure. Texts must be UTF-8 without control characters. */
int yaml_table_create(const struct setting *keys, void *dst, struct yaml_origins *origins,
                      struct err *e);
int yaml_table_add_file(const struct setting *keys, const char *file, enum yaml_layer layer,
                        void *dst, struct yaml_origins *origins, struct err *e);
/* Adds one value, whose origin is `where`, also that of a name in a mapping (markers.lr). Lists are
 * refused. */
int yaml_table_add_text(const struct setting *keys, const char *path, const char *text,
                        enum yaml_layer layer, const char *where, void *dst,
                        struct yaml_origins *origins, struct err *e);
/* Copies values and origins from rows of another table to the rows of the same name in section, or
 * for "" outside of sections, unless these have a value from the same or a higher layer. Lists are
 * not copied. */
int yaml_table_add_table(const struct setting *keys, const char *section,
                         const struct setting *from, const void *src,
                         const struct yaml_origins *src_origins, void *dst,
                         struct yaml_origins *origins, struct err *e);
int yaml_table_finish(const struct setting *keys, const char *file, bool trainer,
                      const struct yaml_origins *origins, struct err *e);

/* Replaces the texts, lists and origins in dst, which holds a bytewise copy of src, by copies of
 * their own. */
int yaml_table_copy(const struct setting *keys, const void *src,
                    const struct yaml_origins *src_origins, void *dst,
                    struct yaml_origins *origins, struct err *e);

/* Adds the values of environment variables. A setting's variable is UNETCTL_ and its path in
 * capitals, with _ for the dot. A variable that looks like a setting but is not is refused.
 * Returns 0, or -1 with ERR_USAGE. */
int yaml_table_add_environment(const struct setting *keys, void *dst, struct yaml_origins *origins,
                               struct err *e);

/* Returns the origin of a key, which the table must have. */
const struct yaml_origin *yaml_table_origin(const struct setting *keys,
                                            const struct yaml_origins *origins, const char *path);

/* Returns the value of a key given as text, with paths made absolute, or NULL with errno. folder
 * is that of the file with the value, or NULL for the command line. The caller frees the result. */
char *yaml_table_resolve(const struct setting *key, const char *folder, const char *text);

/* Adds a commented YAML file that has the last setting of each key, or if `full` its preset. Keys
 * that are "on demand" appear only with a setting. Values are not checked. Returns 0, or -1 with
 * ERR_USAGE for an unknown path. */
int yaml_table_encode(const struct setting *keys, const struct yaml_setting *settings,
                      size_t nsettings, bool full, struct buf *dst, struct err *e);

/* Frees the texts and lists of dst, and the origins, and zeroes them. */
void yaml_table_destroy(const struct setting *keys, void *dst, struct yaml_origins *origins);
