/* SPDX-License-Identifier: BSD-3-Clause */
/* The settings of a run, as one table (settings.def): the source of study.yaml, run.json, --set,
 * the record, help and manual, and of what a checkpoint and a report compare. */
#ifndef UNETCTL_SRC_SETTINGS_H
#define UNETCTL_SRC_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "src/buf.h"
#include "src/err.h"

#define SETTINGS_SIDE_MAX 65535    /* of an image, in pixels */
#define SETTINGS_CLASSES_MAX 250   /* of a mask */
#define SETTINGS_GPUS_MAX 65536    /* the largest count in a list of GPU counts */
#define SETTINGS_MAX 160           /* rows of a table, at most */
#define SETTING_PATH_SIZE 96       /* "section.name" and the NUL */

enum setting_type {
    SETTING_TEXT,   /* char *, one line */
    SETTING_PATH,   /* char *, one line; study.yaml's are made absolute */
    SETTING_WORD,   /* const char *, the entry of words */
    SETTING_INT,    /* int */
    SETTING_REAL,   /* double */
    SETTING_SWITCH, /* bool: true | false */
    SETTING_LINES,  /* struct setting_lines: a list of one-line texts */
    SETTING_PAIRS   /* struct setting_lines: a mapping of free names, kept as "NAME=VALUE" */
};

struct setting_lines {
    char **lines;
    size_t count;
};

/* When a run that continues from a checkpoint may have another value. */
enum setting_resume {
    SETTING_OPEN,       /* always: names, places, resources */
    SETTING_ADJUSTABLE, /* if it continues in another folder */
    SETTING_FIXED       /* never */
};

/* A row. It describes a member of a struct, of struct settings or another. */
struct setting {
    const char *path; /* "name" or "section.name"; NULL ends a table */
    enum setting_type type;
    size_t offset;      /* of the member */
    const char *preset; /* as text; NULL: the setting is required */
    double min, max;          /* of INT and REAL; both 0: any */
    const char *unit;         /* NULL: none */
    const char *const *words; /* of WORD, NULL-terminated */
    const char *gone;         /* of WORD: one that was allowed once; NULL: none */
    const char *gone_why;     /* why it is not, and what to type instead */
    const char *help;         /* one sentence, the comment in study.yaml; NULL: not for users */
    const char *only;         /* when it has an effect ("sgd, lars"); NULL: always */
    bool affects_result;      /* runs with different values are not compared */
    enum setting_resume resume;
    bool expected;  /* run.json must have it; other missing ones have their preset */
    bool of_split;  /* split.json has it, run.json has not */
    bool on_demand; /* study.yaml has it only when it is set */
    bool blank;     /* "" (or 0) leaves the value of the lower layer */
    bool is_joined; /* of TEXT: a list in a file is joined with commas */
    bool is_place;  /* of PATH: the file may be moved without a change of meaning */
    bool (*is_path)(const char *text); /* of PATH: a path and not a word? NULL: always */
    /* What is wrong with a text ("is not a time"), or NULL; not called for the preset. */
    const char *(*check)(const char *text);
};

/* A row: SETTING_ROW("train.lr", REAL, offset, "0.001", .min = 1e-12, .max = 1e12) */
#define SETTING_ROW(path_, type_, offset_, preset_, ...) \
    {.path = path_, .type = SETTING_##type_, .offset = offset_, .preset = preset_, __VA_ARGS__}

/* What an engine other than the embedded one runs. */
struct settings_program {
    char *script, *python; /* script: absolute, or "" */
    struct setting_lines args, setup, env;
    bool resumes; /* writes a checkpoint on USR1 and TERM, and continues from it */
};

#define SETTING_MEMBER_TEXT char *
#define SETTING_MEMBER_PATH char *
#define SETTING_MEMBER_WORD const char *
#define SETTING_MEMBER_INT int
#define SETTING_MEMBER_REAL double
#define SETTING_MEMBER_SWITCH bool
#define SETTING_MEMBER_LINES struct setting_lines
#define SETTING_MEMBER_PAIRS struct setting_lines

/* A member for each row, below its section: settings.train.lr. */
struct settings {
#define SETTING(section, name, type, ...) SETTING_MEMBER_##type name;
#define TOP(name, type, ...) SETTING_MEMBER_##type name;
#define SECTION(name) struct settings_##name {
#define END(name) } name;
#define PROGRAM(name, help) struct settings_program name;
#include "src/settings/settings.def"
};

/* The rows of study.yaml, and those of run.json and of `unet-train train --set`. */
extern const struct setting settings_of_study[], settings_of_run[];

/* The row of this path, or NULL. */
const struct setting *setting_find(const struct setting *table, const char *path);

/* Reports a path that is not in the table: -1 with ERR_USAGE that names the nearest. */
int setting_refuse(const struct setting *table, const char *path, struct err *e);

/* The part of a path after its dot, or all of it. */
const char *setting_leaf(const struct setting *s);

/* Is it in this section ("" : in none)? */
bool setting_is_in(const struct setting *s, const char *section, size_t length);

bool setting_is_text(const struct setting *s); /* TEXT or PATH */
bool setting_is_list(const struct setting *s); /* LINES or PAIRS */

/* Sets the member from text. -1 with ERR_USAGE and what is wrong with the text, without the path.
 * Lists are refused. */
int setting_set(const struct setting *s, const char *text, void *dst, struct err *e);

/* The index of a WORD setting's value in src among its words. */
int setting_word_index(const struct setting *table, const char *path, const void *src);

/* The value of a list. 0 or -1. */
int setting_set_lines(const struct setting *s, const char *const *lines, size_t n, void *dst,
                      struct err *e);
int setting_append_line(struct setting_lines *dst, const char *line, struct err *e);
void setting_clear_lines(struct setting_lines *list);

/* Adds the value as study.yaml would have it; of a list one item after the other with ", ". */
void setting_format(const struct setting *s, const void *src, struct buf *dst);

/* Adds it as JSON. */
void setting_format_json(const struct setting *s, const void *src, struct buf *dst);

/* Sets all members to their presets; copies texts and lists of src to dst, which has the bytes of
 * src; frees them. On failure call settings_destroy. */
int settings_create(const struct setting *table, void *dst, struct err *e);
int settings_copy(const struct setting *table, const void *src, void *dst, struct err *e);
void settings_destroy(const struct setting *table, void *dst);

/* Is text a Slurm time limit? NULL, or what is wrong with it. */
const char *settings_check_time(const char *text);

/* Is a model's name the path of a FILE.yaml? */
bool settings_model_is_file(const char *name);

/* Adds the comment of a row in study.yaml. */
void setting_describe(const struct setting *s, struct buf *dst);

/* Adds a line for each row that has help: "KEY=PRESET  HELP (BOUNDS)". */
void settings_describe(const struct setting *table, struct buf *dst);

#endif
