/* SPDX-License-Identifier: BSD-3-Clause */
/* The settings of a run, as one table (settings.def): the source of study.yaml, run.json, --set,
 * the record, help and manual, and of what a checkpoint and a report compare. */
#pragma once

#include "src/base.h"

#define SETTINGS_SIDE_MAX 65535 /* pixels: data.height and data.width */
#define SETTINGS_CLASSES_MAX 250   /* of data.classes */
#define SETTINGS_GPUS_MAX 65536    /* the largest number of GPUs of a run */
#define SETTINGS_MAX 200           /* rows of a table, at most */
#define SETTING_PATH_SIZE 96       /* "section.name" and the NUL */

enum setting_type {
    SETTING_TEXT,   /* char *, one line */
    SETTING_PATH,   /* char *, one line; relative to the folder of study.yaml, and made absolute */
    SETTING_WORD,   /* const char *, one of words */
    SETTING_INT,    /* int */
    SETTING_REAL,   /* double */
    SETTING_SWITCH, /* bool: true | false */
    SETTING_LINES,  /* struct setting_lines: a list of one-line texts */
    SETTING_PAIRS,  /* struct setting_lines: a mapping of free names, kept as "NAME=VALUE" */
    SETTING_VARIANTS /* struct setting_lines: mappings of keys by name, "NAME", "NAME KEY=VALUE" */
};

struct setting_lines {
    char **lines; /* NULL-terminated; NULL without lines */
    size_t count;
};

/* Returns whether a run that resumes from a checkpoint may have another value. */
enum setting_resume {
    SETTING_OPEN,       /* always: names, paths, resources */
    SETTING_ADJUSTABLE, /* only if it continues in another folder */
    SETTING_FIXED       /* never */
};

#define NEED_GPUS "gpus of a run" /* as the path: the most GPUs of a run */
#define NEED_DATA "data"          /* as the path: only the data show it */
#define NEED_MODEL_FILE "FILE.yaml"

/* Without this a setting has no effect: the setting `path` has one of the values. A value is a
 * word, "PREFIX*", "*" (not empty), "" (empty), ">N" (larger), "/N" (a multiple), or
 * NEED_MODEL_FILE. */
struct setting_need {
    const char *path; /* NULL ends a list */
    const char *const *values; /* NULL-terminated; not empty */
    bool or_next;   /* this need or the next one suffices */
    /* for the help, this need (and the next one) in a few words; "": not mentioned; NULL: values */
    const char *as;
};

/* A row of a table. It describes a member of struct settings, or in the table of a site profile's
 * keys, of struct site. */
struct setting {
    const char *path; /* "name" or "section.name"; NULL ends a table */
    enum setting_type type;
    size_t offset;      /* of the member in its struct */
    const char *preset; /* the default, as text; NULL: the setting is required */
    const char *absent; /* what a file of an earlier version, without it, means; NULL: preset */
    double min, max;          /* of INT and REAL; both 0: not limited */
    const char *unit;         /* NULL: none */
    const char *const *words; /* of WORD, NULL-terminated */
    const char *gone;         /* a value that is no longer allowed; NULL: none */
    const char *gone_why;     /* of this value, or of a row of settings_gone: what holds instead */
    /* one sentence, also the comment in study.yaml; NULL: hidden from users */
    const char *help;
    const struct setting_need *needs; /* all must be met for an effect; NULL: none */
    const char *neutral;      /* a value that is right also without effect ("none"); NULL: none */
    bool affects_result;      /* runs with different values are not compared */
    enum setting_resume resume;
    bool expected;  /* run.json must have it; another that is missing has its preset */
    bool of_split;  /* in split.json, not in run.json */
    bool on_demand; /* in study.yaml only if it was set, in run.json only if it is not the preset */
    bool blank;     /* "" (or 0) leaves the value of a lower layer, such as the site's profile */
    bool is_joined; /* of TEXT: a list in a file is joined by commas */
    bool is_place;  /* of PATH: moving the file does not change the meaning of a run */
    bool (*is_path)(const char *text); /* of PATH: whether it is a path, not a word; NULL: yes */
    /* Returns what is wrong with a text ("is not a time"), or NULL. Not called for the preset. */
    const char *(*check)(const char *text);
};

/* Builds a row: SETTING_ROW("train.lr", REAL, offset, "0.001", .min = 1e-12, .max = 1e12). */
#define SETTING_ROW(path_, type_, offset_, preset_, ...) \
    {.path = path_, .type = SETTING_##type_, .offset = offset_, .preset = preset_, __VA_ARGS__}

/* The program that an engine (kind of trainer) other than the embedded one, unet-train, runs. */
struct settings_program {
    char *script, *python; /* script: absolute, or "" */
    struct setting_lines args, setup, env;
    bool resumes; /* it writes a checkpoint on USR1 and TERM, and resumes from it */
};

#define SETTING_MEMBER_TEXT char *
#define SETTING_MEMBER_PATH char *
#define SETTING_MEMBER_WORD const char *
#define SETTING_MEMBER_INT int
#define SETTING_MEMBER_REAL double
#define SETTING_MEMBER_SWITCH bool
#define SETTING_MEMBER_LINES struct setting_lines
#define SETTING_MEMBER_PAIRS struct setting_lines
#define SETTING_MEMBER_VARIANTS struct setting_lines

/* All settings. Each row of settings.def is a member within its section: settings.train.lr. */
struct settings {
#define SETTING(section, name, type, ...) SETTING_MEMBER_##type name;
#define TOP(name, type, ...) SETTING_MEMBER_##type name;
#define SECTION(name, ...) struct settings_##name {
#define END(name) } name;
#define PROGRAM(name, help) struct settings_program name;
#include "src/settings/settings.def"
};

/* The rows of study.yaml, and those of run.json and `unet-train train --set`. */
extern const struct setting settings_of_study[], settings_of_run[];

/* Keys of earlier versions, which study.yaml and run.json may still have with their presets. */
extern const struct setting settings_gone[];

/* Returns the row with this path, or NULL. */
const struct setting *setting_find(const struct setting *table, const char *path);

/* Reports that path is not in the table. Returns -1 with ERR_USAGE that suggests the nearest key or
 * section, or else lists those of its section, or says what holds instead of a key of
 * settings_gone. */
int setting_refuse(const struct setting *table, const char *path, struct err *e);

/* Returns 1 if path is a key of settings_gone and text is its preset, so that it is ignored, 0 if
 * path is not such a key, or -1 with the error of setting_refuse. */
int setting_check_gone(const char *path, const char *text, struct err *e);

/* Returns what a file without the setting means, or NULL. */
const char *setting_absent(const struct setting *s);

/* Returns the part of the path after its dot, or all of it. */
const char *setting_leaf(const char *path);

/* Returns whether the setting is in a section of the trainer's (OF_TRAINER in settings.def). */
bool setting_is_of_trainer(const struct setting *s);

/* Returns whether the setting is in the section section[0..length), or for length 0 outside all
 * sections. */
bool setting_is_in(const struct setting *s, const char *section, size_t length);

bool setting_is_text(const struct setting *s); /* TEXT or PATH */
bool setting_is_list(const struct setting *s); /* LINES, PAIRS or VARIANTS */

/* Sets the member of dst from text. Lists are refused. Returns 0, or -1 with ERR_USAGE and what
 * is wrong with the text, without the path. */
int setting_set(const struct setting *s, const char *text, void *dst, struct err *e);

/* Returns the index of a WORD setting's value in src among its words. */
int setting_word_index(const struct setting *table, const char *path, const void *src);

/* Sets a list to copies of lines. Returns 0, or -1, after which the list may have only the first
 * of them. */
int setting_set_lines(const struct setting *s, const char *const *lines, size_t n, void *dst,
                      struct err *e);
int setting_append_line(struct setting_lines *dst, const char *line, struct err *e);
void setting_clear_lines(struct setting_lines *list);

/* Adds the value that src has, as text without quotes. Items of a list are separated by ", ". */
void setting_format(const struct setting *s, const void *src, struct buf *dst);

/* Returns whether src has the preset. */
bool setting_is_preset(const struct setting *s, const void *src);

/* create sets all members that have a preset to it, other texts to NULL and all lists to empty;
 * further members stay. copy replaces the texts and lists in dst, which holds a bytewise copy of
 * src, by copies of their own. destroy frees them; call it also after a failure. */
int settings_create(const struct setting *table, void *dst, struct err *e);
int settings_copy(const struct setting *table, const void *src, void *dst, struct err *e);
void settings_destroy(const struct setting *table, void *dst);

/* Returns NULL if text is a Slurm time limit, or what is wrong with it. */
const char *settings_check_time(const char *text);

/* Decodes HEIGHTxWIDTH, each from 1 to SETTINGS_SIDE_MAX. Returns whether text is that. */
bool settings_decode_size(const char *text, int *height, int *width);

/* With data.patch, sets data.height and data.width to its sides. Returns whether it is set. */
bool settings_take_patch(struct settings *c);

/* What a share of the images gets, by chance: a number from low to high. */
struct settings_chance {
    double probability, low, high;
};

/* Reads PROBABILITY:LOW..HIGH; "" and NULL are the probability 0. Returns whether text is that, with
 * a probability from 0 to 1 and min <= LOW <= HIGH <= max. */
bool settings_decode_chance(const char *text, double min, double max, struct settings_chance *dst);

/* Reads quality.margin: a number above 0, with a '%' a share of the quality's value. Returns
 * whether text is one. */
bool settings_decode_margin(const char *text, double *margin, bool *is_share);

/* A built-in model, from templates/models/. */
struct builtin_model {
    const char *name;
    int base, depth; /* presets of model.base and model.depth; 0: the model has no such parameter */
    int sides;       /* height and width must be multiples of this; 0: of 2 to the power of depth */
};

/* Returns the built-in model of this name, or NULL. */
const struct builtin_model *settings_find_model(const char *name);

/* Returns whether name is the path of a model's file (it has a slash or ends in .yaml), and not a
 * built-in model. */
bool settings_model_is_file(const char *name);

/* Returns the word of train.dice_weights for a run that begins now: runs that began with an earlier
 * version have none. */
const char *settings_dice_weights(const struct settings *c);

/* Adds the row's comment for study.yaml. */
void setting_describe(const struct setting *s, struct buf *dst);

/* Adds a line for each row that has help: "KEY=PRESET  HELP (BOUNDS)". */
void settings_describe(const struct setting *table, struct buf *dst);

/* Returns the first need of row s that the settings src of this table do not meet, or NULL. Also
 * NULL for a value that is the preset or neutral. gpus: the most GPUs of a run; 0: unknown. What is
 * unknown, such as a need that only the data show, counts as met. */
const struct setting_need *need_unmet(const struct setting *table, const struct setting *s,
                                      const void *src, int gpus);

/* Does the same. Returns 0, or -1 with ERR_CONFIG: which value has no effect, why, and what to
 * change. */
int need_check(const struct setting *table, const struct setting *s, const void *src, int gpus,
               struct err *e);

/* Adds all needs of a row in front of its help: "for sgd, lars: " or "without lr_steps: "; nothing
 * without needs. */
void need_describe(const struct setting *s, struct buf *dst);

/* Checks what no single row of the table can: rules that several settings have together, and texts
 * that are parsed where they are used. The same for study.yaml and for run.json. Returns NULL, or
 * the path of a setting that is wrong, with ERR_CONFIG and a text that begins with this path. */
const char *settings_check(const struct settings *c, struct err *e);

/* Checks that train.comm can connect the GPUs of a run, which are in so many tasks. Returns 0, or
 * -1 with ERR_CONFIG. */
int settings_check_comm(const struct settings *c, int gpus, int tasks, struct err *e);

/* Fills dst with the weights of the classes (of background and foreground for one class). Returns
 * their number, 0 without weights, or -1 with ERR_CONFIG. */
int settings_check_weights(const struct settings *c, float dst[SETTINGS_CLASSES_MAX],
                           struct err *e);

/* Sets dst to alpha and beta of train.tversky, both 0 without it. Returns 0, or -1 with
 * ERR_CONFIG. */
int settings_check_tversky(const struct settings *c, double dst[2], struct err *e);
