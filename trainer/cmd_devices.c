/* SPDX-License-Identifier: BSD-3-Clause */
/* unet-train devices: what this build can compute on, and how ranks can talk. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/buf.h"
#include "trainer/comm/comm_mpi.h"
#include "trainer/core/kernel.h"
#include "trainer/strategy.h"
#include "trainer/trainer.h"

static bool opt_json;

static const struct cli_option options[] = {
    {"json", 0, CLI_FLAG, NULL, "one JSON object on stdout", &opt_json, 0, 0},
    {0}};

/* The processor as /proc/cpuinfo calls it. */
static void read_cpu_name(char *dst, size_t size)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "re");

    snprintf(dst, size, "CPU");
    while (f && fgets(line, sizeof line, f)) {
        const char *colon = strchr(line, ':');
        if (colon && colon[1] && strncmp(line, "model name", 10) == 0) {
            snprintf(dst, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
            break;
        }
    }
    if (f)
        fclose(f);
}

static void print_text(const char *name, int cores, long online)
{
    printf("device 0       %s, %d of %ld cores for this process\nbackends      ", name, cores,
           online);
    for (size_t i = 0; backends[i]; i++)
        printf(" %s", backends[i]->name);
    printf("\ncommunicators  self thread");
    if (*comm_mpi_version())
        printf(" mpi (%s)", comm_mpi_version());
    putchar('\n');
}

static int print_json(const char *name, int cores, long online, struct err *e)
{
    struct buf b = {0};

    buf_add(&b, "{\"schema\":1,\"devices\":[{\"id\":0,\"kind\":\"cpu\",\"name\":");
    buf_add_json_string(&b, name);
    buf_addf(&b, ",\"cores\":%d,\"cores_online\":%ld}],\"backends\":[", cores, online);
    for (size_t i = 0; backends[i]; i++)
        buf_addf(&b, "%s\"%s\"", i ? "," : "", backends[i]->name);
    buf_addf(&b, "],\"communicators\":[\"self\",\"thread\"%s],\"mpi\":",
             *comm_mpi_version() ? ",\"mpi\"" : "");
    buf_add_json_string(&b, comm_mpi_version());
    buf_add(&b, "}");
    int rc = b.failed ? err_set(e, ERR_INTERNAL, "out of memory") : 0;
    if (rc == 0)
        puts(b.data);
    buf_destroy(&b);
    return rc;
}

static int run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    char name[200];
    long online = sysconf(_SC_NPROCESSORS_ONLN);

    (void)noperands, (void)operands, (void)nrest, (void)rest;
    read_cpu_name(name, sizeof name);
    if (opt_json)
        return print_json(name, strategy_own_cores(), online, e);
    print_text(name, strategy_own_cores(), online);
    return 0;
}

const struct cli_command cmd_devices = {
    .name = "devices",
    .args = "",
    .summary = "List devices, backends and communicators of this build",
    .details = "  unet-train devices --json\n",
    .options = options,
    .run = run,
};
