/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts of Slurm's commands become causes. */
#include "src/base.h"
#include "launcher/scheduler/slurm/slurm_internal.h"

#include "t/tap.h"

static void check(const char *text, enum cause cause)
{
    is_int(cause_find(text, CAUSE_OTHER), cause, "%s", text);
}

/* What sbatch prints on stderr, after what plugins printed. */
static void submit(const char *reason, enum cause cause)
{
    char said[512];

    snprintf(said, sizeof said, "sbatch: error: the communication of your centre\n"
             "sbatch: error: Batch job submission failed: %s\n", reason);
    is_int(cause_of_sbatch(said), cause, "sbatch: %s", reason);
}

int main(void)
{
    submit("Socket timed out on send/recv operation", CAUSE_LOST);
    submit("Zero Bytes were transmitted or received", CAUSE_LOST);
    submit("Unexpected message received", CAUSE_LOST);
    submit("Unable to contact slurm controller (send failure)", CAUSE_LOST);
    submit("Slurm backup controller in standby mode", CAUSE_LOST);
    submit("Connection reset by peer", CAUSE_LOST);
    submit("Invalid argument", CAUSE_LOST);
    submit("A reason of Slurm 99.11", CAUSE_LOST);
    submit("Invalid account\nsbatch: error: Batch job submission failed: Connection reset by peer",
           CAUSE_LOST);
    submit("Connection reset by peer\nsbatch: error: Batch job submission failed: Invalid account",
           CAUSE_LOST);
    submit("Unable to contact slurm controller (connect failure)", CAUSE_DOWN);
    submit("Unspecified error", CAUSE_OTHER);
    submit("Invalid partition name specified", CAUSE_OTHER);
    submit("Resource temporarily unavailable", CAUSE_FULL);
    submit("MaxJobCount limit reached", CAUSE_FULL);
    submit("Invalid account or account/partition combination specified", CAUSE_ACCOUNT);
    submit("Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
           CAUSE_LIMIT);
    is_int(cause_of_sbatch("sbatch: error: Unable to open file /x\n"), CAUSE_OTHER,
           "what fails before the submission is refused");
    check("allocation failure: Requested nodes are busy", CAUSE_LATER);
    check("Batch job submission failed: Requested node configuration is not available",
          CAUSE_NODES);
    check("scancel: error: Kill job error on job id 7: Invalid job id specified", CAUSE_NO_JOB);
    check("slurm_load_partitions error: Access/permission denied", CAUSE_DENIED);
    check("sinfo: fatal: Could not establish a configuration source", CAUSE_NO_CLUSTER);
    ok(strstr(cause_advice(CAUSE_NO_CLUSTER), "--scheduler local"), "which has an advice");
    check("", CAUSE_OTHER);

    ok(cause_passes(CAUSE_LATER, 0) && cause_passes(CAUSE_FULL, 0) && cause_passes(CAUSE_LIMIT, 0),
       "a check passes if the job only has to wait");
    ok(!cause_passes(CAUSE_NODES, 0) && cause_passes(CAUSE_NODES, 1),
       "if no nodes have what it asks for, it passes only while some are away");
    ok(!cause_passes(CAUSE_ACCOUNT, 1) && !cause_passes(CAUSE_OTHER, 1) &&
           !cause_passes(CAUSE_LOST, 1), "for other causes it does not");
    ok(strstr(cause_advice(CAUSE_GRES), "gpu_type") &&
           strstr(cause_advice(CAUSE_NODES), "slurm.mem") &&
           strstr(cause_advice(CAUSE_FEATURE), "slurm.constraint") && !*cause_advice(CAUSE_LOST),
       "what a user can correct has its advice");

    struct err e = {.text = "no gres"};
    ok(cause_refuse(CAUSE_GRES, &e) == -1 && e.code == ERR_SCHED &&
           strncmp(e.text, "Slurm: no gres; no node has", 27) == 0, "a refusal is: %s", e.text);
    return done_testing();
}
