/* SPDX-License-Identifier: BSD-3-Clause */
/* Scores (score.h) as members of a JSON object. */
#ifndef UNETCTL_TRAINER_EVALUATE_SCORE_JSON_H
#define UNETCTL_TRAINER_EVALUATE_SCORE_JSON_H

#include <stdint.h>

#include "trainer/data/set/dataset.h"
#include "trainer/json/cjson.h"

/* Adds all values of a score. names: the data set that has the names of the classes. */
void score_json_add(cJSON *to, const int64_t *score, int classes, const struct dataset *names);

/* Adds own_size, an object with the values of a score at the images' own sizes. */
void score_json_add_own(cJSON *to, const int64_t *score, int classes, const struct dataset *names);

#endif
