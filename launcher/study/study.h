/* SPDX-License-Identifier: BSD-3-Clause */
/* study.yaml, the settings of a study. doc/FORMATS.md describes the keys. */
#ifndef UNETCTL_LAUNCHER_STUDY_STUDY_H
#define UNETCTL_LAUNCHER_STUDY_STUDY_H

#include <limits.h>
#include <stdbool.h>

#include "launcher/study/yaml_table.h"
#include "src/buf.h"
#include "src/cli.h"
#include "src/err.h"
#include "src/settings/settings.h"

#define STUDY_FILE "study.yaml"
/* in the user's folder of configuration (statedir_config_path) */
#define STUDY_USER_FILE "config.yaml"
#define VARIANT_NAME_SIZE 25
#define STUDY_ENV_PREFIX "UNETCTL_"   /* $UNETCTL_TRAIN_LR overrides train.lr of study.yaml */

struct study {
    char *dir;  /* absolute, without symbolic links */
    char *file; /* dir/study.yaml */
    union {
        struct settings settings;
        struct { /* the members of struct settings */
#define TOP(name, type, ...) SETTING_MEMBER_##type name;
#define SECTION(name, ...) struct settings_##name name;
#define PROGRAM(name, help) struct settings_program name;
#include "src/settings/settings.def"
        };
    };
    /* the origin of each value, indexed by the row of settings_of_study */
    struct yaml_origins origins;
    const char *variant; /* the variant's name that these settings are of (variant.h); NULL: none */
    /* by row: it has an effect in the study as written, without the command line (settings.h) */
    bool has_effect[SETTINGS_MAX];
};

/* Files of runs have paths of up to this many bytes below the folder of a study. */
#define STUDY_BELOW_MAX 256

/* Checks that the path of a study's folder leaves room for them. Returns 0, or -1 with
 * ERR_CONFIG. */
int study_check_length(const char *dir, struct err *e);

/* Stores the absolute path of folder dir or, for NULL, of the nearest folder that has a study.yaml,
 * from the current one upwards. Returns 0, or -1 with ERR_CONFIG. */
int study_locate(const char *dir, char path[PATH_MAX], struct err *e);

/* Opens the study in folder dir; for NULL, the study of the current folder or of the nearest one
 * above that has a study.yaml. Values come from the presets, the user's file, study.yaml, the
 * environment, and settings (from the command line); later sources take precedence. Returns 0,
 * or -1 with ERR_CONFIG (ERR_USAGE for an error in the last two sources); then there is nothing
 * to close. */
int study_open(struct study *s, const char *dir, const struct yaml_setting *settings,
               size_t nsettings, struct err *e);
void study_close(struct study *s);

/* Makes an independent copy of src. Returns 0, or -1; then there is nothing to close. */
int study_copy(const struct study *src, struct study *dst, struct err *e);

/* Returns where a key was set: FILE:LINE, the variable, the option, or "built-in" for a preset;
 * for a path that is not a key, the file. */
const char *study_place(const struct study *s, const char *path);

/* Return the number of filters of the first level, and the number of poolings: those of the study
 * or, if it has 0, the model's own. Both return 0 if a model's file has to be read for that, or if
 * the model has no such number. */
int study_base(const struct study *s);
int study_depth(const struct study *s);

/* Returns the number of which height and width must be a multiple with this model and depth (0:
 * the model's own), or 1 if that is unknown. */
int study_sides(const char *model, int depth);

/* Opens only the presets and the user's file, for `unetctl init`. Returns 0, or -1 as
 * study_open. */
int study_open_user(struct study *s, struct err *e);

/* Decodes the words KEY=VALUE of --set to settings that point into them; the '=' becomes a NUL.
 * dst has room for all. Returns 0, or -1 with ERR_USAGE. */
int study_decode_set(const struct cli_list *set, struct yaml_setting *dst, struct err *e);

/* Returns the largest number of a list of GPU counts. */
int study_most_gpus(const char *gpus);

/* Returns whether the study trains on images, as unet-train and the scripts of unetctl do. Programs
 * of the user's do if it names data.dir. */
bool study_has_images(const struct study *s);

/* Returns whether the study runs unet-train or a training script of unetctl, and not a program of
 * the user's. */
bool study_runs_trainer(const struct study *s);

/* Returns whether this key is in force. In a study without images, keys of the trainer
 * (setting_is_of_trainer) are in force only if the study, the environment or the command line sets
 * them. */
bool study_has(const struct study *s, const char *path);

/* Returns the section of an engine, or NULL for the embedded one. */
const struct settings_program *study_engine(const struct study *s, const char *engine);

#endif
