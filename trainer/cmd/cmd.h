/* SPDX-License-Identifier: BSD-3-Clause */
/* The verbs of unet-train. Each is defined in cmd_NAME.c. */
#ifndef UNETCTL_TRAINER_CMD_CMD_H
#define UNETCTL_TRAINER_CMD_CMD_H

#include "src/cli.h"

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

#endif
