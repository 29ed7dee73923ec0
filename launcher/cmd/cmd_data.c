/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/cmd/cmd.h"

#include "launcher/plan/look.h"

#define MAX_WORDS 255

static int cmd_data_run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    const char *words[MAX_WORDS + 1] = {"data"};

    if (nrest >= MAX_WORDS)
        return err_set(e, ERR_USAGE, "data: more than %d words are given", MAX_WORDS - 1);
    for (int i = 0; i < nrest; i++)
        words[i + 1] = rest[i];
    return trainer_program_exec(words, e);
}

const struct cli_command cmd_data = {
    .name = "data",
    .args = "VERB ...",
    .summary = "check, split, convert, describe or synthesize data sets (= unet-train data)",
    .max_operands = -1,
    .verbatim = true,
    .run = cmd_data_run,
};
