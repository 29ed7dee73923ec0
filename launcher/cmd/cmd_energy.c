/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/cmd/cmd.h"

#include "launcher/energy/energy.h"

static struct {
    long rank, ngpus;
} given = {.ngpus = 1};

static int cmd_energy_run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    return sampler_start(operands[0], (pid_t)given.rank, (int)given.ngpus, e);
}

static const struct cli_option options[] = {
    {"pid", 0, CLI_INT, "P", "measure until process P ends", &given.rank, 1, 1L << 30},
    {"gpus", 0, CLI_INT, "N", "measure at most N of the GPUs that the rank sees (default: 1)",
     &given.ngpus, 0, 1024},
    {0}};

const struct cli_command cmd_energy = {
    .name = "energy",
    .args = "--pid P ATTEMPT_DIR",
    .summary = "measure the energy of a rank's GPUs (for job scripts)",
    .details =
        "run_file.sh starts it beside each rank, and it returns at once. In the background it reads\n"
        "the GPUs' energy, use, memory and clocks by NVML, and the CPU packages' energy by RAPL\n"
        "where that may be read, about once a second and in less than 0.1 % of the time, and\n"
        "appends to energy-HOST-PID.csv in ATTEMPT_DIR. 'unetctl doctor' says what can be measured.\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = cmd_energy_run,
};
