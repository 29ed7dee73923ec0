/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/cuda/cudnn/cudnn_choices.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trainer/core/memo.h"

_Static_assert(CUDNN_KEY_SIZE <= MEMO_KEY, "keys");

/* The word for an engine in the file. It says which operations follow the convolution. */
static const char *const words[] = {[CUDNN_ALONE] = "engine", [CUDNN_BIAS] = "engine+bias",
                                    [CUDNN_BIAS_RELU] = "engine+bias+relu"};

static int read_engine(const char *text, struct cudnn_engine *engine)
{
    char word[24];
    int used = 0, tail = 0;

    if (sscanf(text, "%23s %d %" SCNd64 " %" SCNd64 "%n", word, &engine->mode, &engine->index,
               &engine->id, &used) != 4 || text[used] != '\t')
        return -1;
    while (strcmp(words[tail], word) != 0)
        if (++tail > CUDNN_BIAS_RELU)
            return -1;
    engine->tail = (enum cudnn_tail)tail;
    return 0;
}

/* A value is WORD MODE INDEX ID tab MICROSECONDS. */
static int read_choice(const char *text, struct cudnn_choice *c)
{
    const char *us = strchr(text, '\t');
    char *end;

    *c = (struct cudnn_choice){0};
    if (!us)
        return -1;
    c->us = strtod(us + 1, &end);
    if (end == us + 1 || *end || !(c->us > 0))
        return -1;
    return read_engine(text, &c->engine);
}

static bool is_sound(const char *value)
{
    struct cudnn_choice c;

    return read_choice(value, &c) == 0 || strncmp(value, "own\t", 4) == 0; /* of release 0.1.0 */
}

static struct memo memo = {.name = "cudnn-choices",
                           .what = "the choice of cuDNN's engines",
                           .loss = "engines are timed again at each start",
                           .is_sound = is_sound};

bool cudnn_choices_find(const char *key, struct cudnn_choice *c)
{
    char value[MEMO_VALUE];

    return memo_find(&memo, key, value) && read_choice(value, c) == 0;
}

void cudnn_choices_add(const char *key, const struct cudnn_choice *c)
{
    char value[MEMO_VALUE];

    snprintf(value, sizeof value, "%s %d %" PRId64 " %" PRId64 "\t%.3f", words[c->engine.tail],
             c->engine.mode, c->engine.index, c->engine.id, c->us);
    memo_add(&memo, key, value);
    memo_save(&memo);
}

char *cudnn_choices_encode(void)
{
    return memo_encode(&memo);
}

int cudnn_choices_decode(const char *text)
{
    return memo_decode(&memo, text);
}
