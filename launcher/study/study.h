/* SPDX-License-Identifier: BSD-3-Clause */
/* study.yaml, the settings of a study. doc/FORMATS.md describes the keys. */
#ifndef UNETCTL_LAUNCHER_STUDY_STUDY_H
#define UNETCTL_LAUNCHER_STUDY_STUDY_H

#include <stdbool.h>

#include "launcher/study/yaml_table.h"
#include "src/buf.h"
#include "src/cli.h"
#include "src/err.h"
#include "src/settings/settings.h"

#define STUDY_FILE "study.yaml"
#define STUDY_USER_FILE "config.yaml" /* in the user's folder (statedir_config_path) */
#define STUDY_ENV_PREFIX "UNETCTL_"   /* train.lr falls back to $UNETCTL_TRAIN_LR */

struct study {
    char *dir;  /* absolute, without symbolic links */
    char *file; /* dir/study.yaml */
    union {
        struct settings settings;
        struct { /* its members */
#define TOP(name, type, ...) SETTING_MEMBER_##type name;
#define SECTION(name) struct settings_##name name;
#define PROGRAM(name, help) struct settings_program name;
#include "src/settings/settings.def"
        };
    };
    struct yaml_origins origins; /* where each value comes from, by the row of settings_of_study */
};

/* Opens the study in folder dir, or for NULL in the current folder or the nearest one above that
 * has a study.yaml. Values come from the presets, the user's file, study.yaml, the environment,
 * and settings (of the command line); later ones take precedence. 0, or -1 with ERR_CONFIG
 * (ERR_USAGE for the last two) and nothing to destroy. */
int study_open(struct study *s, const char *dir, const struct yaml_setting *settings,
               size_t nsettings, struct err *e);
void study_close(struct study *s);

/* An independent copy of src. 0, or -1 and nothing to destroy. */
int study_copy(const struct study *src, struct study *dst, struct err *e);

/* FILE:LINE, the variable or the option that sets a key. */
const char *study_place(const struct study *s, const char *path);

/* Add the text of a commented study.yaml with these values and presets for the rest. 0, or -1 with
 * ERR_USAGE for an unknown key; study_open checks the values. */
int study_encode(const struct yaml_setting *settings, size_t nsettings, struct buf *dst,
                 struct err *e);

/* Filters of the first level, and poolings; the model's where the study has 0. 0: unknown. */
int study_base(const struct study *s);
int study_depth(const struct study *s);

/* What height and width must be a multiple of with this model and depth (0: the model's own); 1 if
 * that is unknown. */
int study_sides(const char *model, int depth);

/* Opens the presets and the user's file only, for `unetctl init`. 0, or -1 as above. */
int study_open_user(struct study *s, struct err *e);

/* The words KEY=VALUE of --set as settings, which point into them: the '=' becomes a NUL. dst has
 * room for all. 0, or -1 with ERR_USAGE. */
int study_decode_set(const struct cli_list *set, struct yaml_setting *dst, struct err *e);

/* The section of an engine; NULL for the embedded one. */
const struct settings_program *study_engine(const struct study *s, const char *engine);

#endif
