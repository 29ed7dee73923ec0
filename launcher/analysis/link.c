/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bandwidths: data rates that makers and standards publish, per direction; NVLink: of all links of
 * a GPU; PCIe: 16 lanes behind 128b/130b coding. Latencies are assumptions, generous ones:
 * microseconds of a small message from memory to memory, with a collective library's part. */
static const struct link links[] = {
    {"nvlink1", 80e9, 5e-6, "P100: 4 NVLinks of 20 GB/s"},
    {"nvlink2", 150e9, 5e-6, "V100: 6 NVLinks of 25 GB/s"},
    {"nvlink3", 300e9, 5e-6, "A100: 12 NVLinks of 25 GB/s"},
    {"nvlink4", 450e9, 5e-6, "H100: 18 NVLinks of 25 GB/s"},
    {"pcie3", 15.75e9, 10e-6, "PCI Express 3.0, 16 lanes of 8 GT/s"},
    {"pcie4", 31.5e9, 10e-6, "PCI Express 4.0, 16 lanes of 16 GT/s"},
    {"pcie5", 63e9, 10e-6, "PCI Express 5.0, 16 lanes of 32 GT/s"},
    {"opa100", 12.5e9, 10e-6, "Omni-Path, 100 Gbit/s"},
    {"ib-fdr", 6.8e9, 10e-6, "InfiniBand FDR 4x, 54.5 Gbit/s of data"},
    {"ib-edr", 12.1e9, 10e-6, "InfiniBand EDR 4x, 97 Gbit/s of data"},
    {"ib-hdr", 25e9, 10e-6, "InfiniBand HDR 4x, 200 Gbit/s"},
    {"ib-ndr", 50e9, 10e-6, "InfiniBand NDR 4x, 400 Gbit/s"},
    {"eth10", 1.25e9, 30e-6, "10 Gbit Ethernet, TCP"},
    {"eth25", 3.125e9, 30e-6, "25 Gbit Ethernet, TCP"},
    {"eth100", 12.5e9, 30e-6, "100 Gbit Ethernet, TCP"},
};
#define NLINKS (sizeof links / sizeof *links)

static int refuse_link(const char *text, struct err *e)
{
    char names[256] = "";
    size_t used = 0;

    for (size_t i = 0; i < NLINKS; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                                 links[i].name);
    return err_set(e, ERR_USAGE, "'%s' is neither a link (%s) nor GB/s:microseconds, such as "
                   "12.5:10", text, names);
}

int link_decode(const char *text, struct link *dst, struct err *e)
{
    char *colon, *end;

    for (size_t i = 0; i < NLINKS; i++)
        if (strcmp(links[i].name, text) == 0) {
            *dst = links[i];
            return 0;
        }
    double gb = strtod(text, &colon);
    if (colon == text || *colon != ':' || !(gb > 0 && gb < 1e6))
        return refuse_link(text, e);
    double us = strtod(colon + 1, &end);
    if (end == colon + 1 || *end || !(us >= 0 && us < 1e6))
        return refuse_link(text, e);
    *dst = (struct link){.bytes_per_s = gb * 1e9, .latency_s = us * 1e-6, .what = "as given"};
    snprintf(dst->name, sizeof dst->name, "%s", text);
    return 0;
}
