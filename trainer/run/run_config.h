/* SPDX-License-Identifier: BSD-3-Clause */
/* What one run does (settings_of_run): read from run.json (doc/FORMATS.md), or set key by key. */
#ifndef UNETCTL_TRAINER_RUN_CONFIG_H
#define UNETCTL_TRAINER_RUN_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "src/cli.h"
#include "src/err.h"
#include "src/settings/settings.h"

/* The presets; data.dir, data.height and data.width have none and must be set. */
int run_config_init(struct settings *c, struct err *e);
void run_config_destroy(struct settings *c); /* NULL is fine */

/* Set "section.key" from text. ERR_USAGE for an unknown key or a value that it cannot have. */
int run_config_set(struct settings *c, const char *key, const char *text, struct err *e);

/* The same of words KEY=VALUE of --set; layout.* is what other options say. */
int run_config_set_words(struct settings *c, const struct cli_list *words, struct err *e);

/* Read run.json into c (initialised). ERR_CONFIG: not JSON, another schema, an unknown, missing or
 * doubled key, a value of the wrong type or out of range, always with the key's path. */
int run_config_read(struct settings *c, const char *path, struct err *e);

/* Do the parts agree with each other (layout, sizes against depth)? ERR_CONFIG. */
int run_config_check(const struct settings *c, struct err *e);

/* The images of a full step: of all replicas (train.global_batch, or what their batches make), and
 * the most of one replica. */
size_t run_config_step_images(const struct settings *c);
int run_config_step_batch(const struct settings *c);

/* Weights of the classes (of background and foreground for one class) into dst: how many, 0 when
 * there are none, -1 with ERR_CONFIG. */
int run_config_class_weights(const struct settings *c, float dst[SETTINGS_CLASSES_MAX],
                             struct err *e);

/* Over every key and value: equal on all ranks of one run. */
uint64_t run_config_hash(const struct settings *c);

#endif
