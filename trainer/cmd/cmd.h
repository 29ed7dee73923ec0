/* SPDX-License-Identifier: BSD-3-Clause */
/* The verbs of unet-train, one file cmd_VERB.c each, and what several of them share.
 *
 * main.c lists the verbs. A verb has the table of its options, from which the help, the manual and
 * the completion are made; it checks what the options say together, calls the rooms below, and
 * prints. options.c has the options that select data and a network, and opens a trained network for
 * eval, predict and export. A verb fails with one error and its exit code, which main.c reports.
 *
 * To read: cmd_model.c, a short one; cmd_train.c, which drives a run. */
#pragma once

#include "src/base.h"
#include "src/cli.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/data/image/classes.h"
#include "trainer/data/source/source.h"
#include "trainer/json/cjson.h"

/* The verbs of unet-train. Each is defined in cmd_NAME.c. */

extern const struct cli_command cmd_bench;
extern const struct cli_command cmd_data_check;
extern const struct cli_command cmd_data_convert;
extern const struct cli_command cmd_data_preview;
extern const struct cli_command cmd_data_split;
extern const struct cli_command cmd_data_stats;
extern const struct cli_command cmd_data_synth;
extern const struct cli_command cmd_devices;
extern const struct cli_command cmd_eval;
extern const struct cli_command cmd_export;
extern const struct cli_command cmd_model;
extern const struct cli_command cmd_predict;
extern const struct cli_command cmd_train;

/* Set if the training leaves work on a device which may never end: the process must end without
 * exit handlers, as those of the driver wait for it. */
extern bool cmd_train_leaves_device;

/* Options that several verbs share, and the functions that apply them. */

struct settings;

#define OPTIONS_BACKEND(word) \
    {"backend", 0, CLI_STRING, "WORD", \
     "auto: a GPU where there is one | cpu | ref | simd | cuda (auto)", &(word), 0, 0}
#define OPTIONS_DTYPE(word)                                                                     \
    {"dtype", 0, CLI_STRING, "WORD",                                                            \
     "activations: auto: tf32 or f32 | f32 | tf32 | bf16 | fp16 (auto)", \
     &(word), 0, 0}
#define OPTIONS_CHECKPOINT(path)                                                                \
    {"checkpoint", 'c', CLI_STRING, "PATH", "folder of a run (its newest DONE attempt), an " \
     "attempt or a checkpoint; or a file", &(path), 0, 0}
#define OPTIONS_NATIVE(flag)                                                               \
    {"native", 0, CLI_FLAG, NULL, "keep images at their own scale: overlapping tiles of --size", \
     &(flag), 0, 0}
#define OPTIONS_OVERLAP(n)                                                                        \
    {"overlap", 0, CLI_INT, "N", "of tiles: pixels that neighbours share (half of the tile's "    \
     "smaller side)", &(n), 0, 65535}
#define OPTIONS_THREADS(n) \
    {"threads", 't', CLI_INT, "N", "0: the cores of this process (0)", &(n), 0, 4096}
#define OPTIONS_JSON(flag) \
    {"json", 0, CLI_FLAG, NULL, "print one JSON object on stdout", &(flag), 0, 0}
#define OPTIONS_IGNORE(text) \
    {"ignore", 0, CLI_STRING, "V", "mask value of pixels that do not count", &(text), 0, 0}
#define OPTIONS_FOLDERS(folders)                                                                \
    {"image-folder", 0, CLI_STRING, "NAME", "folder of images in DIR, or in its train/ and val/", \
     &(folders).images, 0, 0},                                                                  \
    {"mask-folder", 0, CLI_STRING, "NAME", "folder of masks there, if several may hold them",     \
     &(folders).masks, 0, 0}
#define OPTIONS_CLASS_FILE(path)                                                                   \
    {                                                                                              \
        "class-file", 0, CLI_STRING, "FILE", "which mask value or colour is which class", &(path), \
            0, 0                                                                                   \
    }

/* Decodes --size: "768x1024" is height 768 and width 1024, each from 1 to 65535. ERR_USAGE
 * otherwise. */
int options_size(const char *text, int *height, int *width, struct err *e);

/* Sets the data types of c from --dtype, its height and width from --size unless that is NULL, and
 * replaces c->backend, the word of --backend, by a backend's name, and *dtype auto by a type. */
int options_network(const char *verb, const char **dtype, const char *size,
                    struct network_config *c, struct err *e);

/* The settings of masks, for a data set or split; c must outlive their use. */
struct mask_options options_masks(const struct settings *c);

/* The setting data.scale. */
enum scale options_scale(const struct settings *c);

/* The folders that data.images and data.masks name; c must outlive their use. */
struct source_folders options_folders(const struct settings *c);

/* Prints root as a line on stdout, and destroys it. */
int options_print(cJSON *root, struct err *e);

/* A trained network, created from its checkpoint for the verbs that use one. */

struct trained {
    char file[PATH_MAX]; /* path of the weights */
    struct network_config config;
    struct checkpoint_classes classes;
    enum scale scale; /* of images */
    struct picture_levels levels;
    struct network *network;
};

/* path: as OPTIONS_CHECKPOINT says. The caller sets backend, dtype, threads (0 for the cores of
 * this process), height and width (0 for those of training) in t->config; the rest is filled in.
 * ERR_CHECKPOINT, or ERR_CONFIG for a size that the network cannot have. The caller closes t, also
 * after an error. */
int trained_open(struct trained *t, const char *path, struct err *e);
void trained_close(struct trained *t);

/* Warns if images have other bits than those of training (data/image/pixels.h), unless each is
 * scaled by itself. bits: the most that an image has; others: of `all` images those of another
 * kind of values, 0 if only their range may differ, or if they are not counted. */
void trained_compare_bits(const struct trained *t, size_t others, size_t all, int bits);

/* Returns the name of class i, or its number (in the buffer) if the checkpoint has no names. */
const char *trained_class_name(const struct trained *t, int i, char number[16]);
