/* SPDX-License-Identifier: BSD-3-Clause */
/* The settings of one run (settings_of_run), read from run.json (doc/FORMATS.md) or set by key. */
#ifndef UNETCTL_TRAINER_RUN_CONFIG_H
#define UNETCTL_TRAINER_RUN_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "src/cli.h"
#include "src/err.h"
#include "src/settings/settings.h"

/* Sets all settings to their presets. data.dir, data.height and data.width have none and must be
 * set. */
int run_config_init(struct settings *c, struct err *e);
void run_config_destroy(struct settings *c); /* NULL is fine */

/* Sets "section.key" from text. -1 with ERR_USAGE for an unknown key or an invalid value. */
int run_config_set(struct settings *c, const char *key, const char *text, struct err *e);

/* The same for the words KEY=VALUE of --set; keys of layout.* are refused. */
int run_config_set_words(struct settings *c, const struct cli_list *words, struct err *e);

/* Reads run.json into *c, which is initialised, and calls run_config_check. -1 with ERR_CONFIG and
 * the path of the key, if one is wrong: the file is not JSON or of another schema, a key is
 * unknown, missing or repeated, or a value has the wrong type, is out of range or contradicts
 * another. */
int run_config_read(struct settings *c, const char *path, struct err *e);

/* Checks that the settings are complete and consistent with each other. -1 with ERR_CONFIG. */
int run_config_check(const struct settings *c, struct err *e);

/* Returns the images of a full step over all replicas. */
size_t run_config_step_images(const struct settings *c);
/* Returns the most images of a full step on one replica. */
int run_config_step_batch(const struct settings *c);

/* Returns a hash of all keys and values, which is equal on all ranks of a run. */
uint64_t run_config_hash(const struct settings *c);

#endif
