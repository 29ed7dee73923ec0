/* SPDX-License-Identifier: BSD-3-Clause */
/* --size HxW of every verb that takes one: height first, as arrays have it. */
#ifndef UNETCTL_TRAINER_CMD_SIZE_OPTION_H
#define UNETCTL_TRAINER_CMD_SIZE_OPTION_H

#include "src/err.h"

/* "768x1024" -> 768, 1024; each from 1 to 65535. ERR_USAGE otherwise. */
int size_option_parse(const char *text, int *height, int *width, struct err *e);

#endif
