/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rank finds wrong on its own. */
#include "config.h"
#include "launcher/spec/spec_view.h"

#include "launcher/spec/test/spec_ranks.h"

static void has(const struct spec_view *v, size_t count, const char *part)
{
    const char *problem = "";

    is_int(json_array_size(v->findings), count, "the number of findings");
    for (size_t i = 0; i < json_array_size(v->findings); i++)
        if (strstr(json_string_value(json_array_get(json_array_get(v->findings, i), 0)), part))
            problem = json_string_value(json_array_get(json_array_get(v->findings, i), 0));
    ok(count == 0 || *problem, "%s: %s", *part ? part : "nothing is wrong", problem);
}

int main(void)
{
    int port = free_ports();
    struct spec_rank first, r;
    char other[65];

    for (const char *const *v = (const char *const[]){"TF_CONFIG", "SLURM_LOCALID", "SLURM_JOB_ID",
                                                      "SLURM_STEP_ID", NULL}; *v; v++)
        unsetenv(*v);
    setenv("SLURMD_NODENAME", "localhost", 1);
    open_rank(&first, "localhost", "3", 0, port);
    has(&first.view, 0, "");
    ok(first.view.fd >= 0 && first.view.is_here, "rank 0 listens at its address");
    is_str(first.view.step, ".", "outside of a step its name is a dot");

    open_rank(&r, "localhost", "3", 2, port);
    has(&r.view, 0, "");
    ok(r.view.fd < 0, "other ranks do not listen");
    is_int(r.view.self.port, port + 2, "the last rank has its port");
    is_int(r.view.first.port, port, "it knows the port of rank 0");
    is_str(r.view.hash, first.view.hash, "all ranks have the same hash");
    close_rank(&r);

    open_rank(&r, "localhost", "3", 0, port);
    has(&r.view, 1, "Address already in use");
    ok(r.view.is_busy && r.view.fd < 0, "a second rank 0 finds the port in use");
    close_rank(&r);

    open_rank(&r, "localhost", "2", 1, port);
    snprintf(other, sizeof other, "%s", r.view.hash);
    ok(strcmp(other, first.view.hash) != 0, "another number of tasks has another hash");
    close_rank(&r);

    setenv("TF_CONFIG", first.text.data, 1);
    open_rank(&r, "localhost", "3", 1, port);
    has(&r.view, 1, "another TF_CONFIG");
    close_rank(&r);
    unsetenv("TF_CONFIG");

    setenv("SLURMD_NODENAME", "elsewhere", 1);
    open_rank(&r, "nowhere.invalid", "3", 1, port);
    has(&r.view, 1, "it runs on elsewhere, but its address is nowhere.invalid");
    ok(!r.view.is_here && r.view.fd < 0, "a rank on another host does not listen");
    close_rank(&r);

    setenv("SLURMD_NODENAME", "localhost.cluster", 1);
    open_rank(&r, "localhost", "3", 1, port);
    has(&r.view, 0, "");
    ok(r.view.is_here, "a name with a domain is the same host");
    close_rank(&r);

    setenv("SLURMD_NODENAME", "localhost", 1);
    setenv("SLURM_STEP_NODELIST", "localhost", 1);
    setenv("SLURM_STEP_TASKS_PER_NODE", "3", 1);
    setenv("SLURM_PROCID", "1", 1);
    setenv("SLURM_LOCALID", "0", 1);
    setenv("SLURM_JOB_ID", "7", 1);
    setenv("SLURM_STEP_ID", "3", 1);
    unsetenv("SLURM_STEP_NUM_TASKS");
    unsetenv("SLURM_DISTRIBUTION");
    open_rank(&r, NULL, NULL, -1, port);
    has(&r.view, 1, "SLURM_LOCALID=0, but rank 1 is task 1 of localhost");
    is_str(r.view.step, "7.3", "a step has its name");
    close_rank(&r);
    close_rank(&first);
    return done_testing();
}
