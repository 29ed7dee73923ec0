/* SPDX-License-Identifier: BSD-3-Clause */
/* The measured bandwidth between ranks (unetctl doctor --bandwidth), which unet-train writes to
 * bandwidth.json (doc/FORMATS.md) and which is kept beside study.yaml. */
#ifndef UNETCTL_LAUNCHER_DOCTOR_BANDWIDTH_H
#define UNETCTL_LAUNCHER_DOCTOR_BANDWIDTH_H

#include <jansson.h>

#include "launcher/doctor/findings.h"

#define BANDWIDTH_FILE "bandwidth.json"

/* Ranks of one node, or of two. */
enum bandwidth_kind { BANDWIDTH_WITHIN, BANDWIDTH_BETWEEN, BANDWIDTH_KINDS };

struct bandwidth_link {
    double bytes_per_s; /* in each direction; 0: unknown */
    double latency_s;
};

/* Reads dir/bandwidth.json. Returns NULL with ERR_DATA if it is missing or malformed. The caller
 * releases the result. */
json_t *bandwidth_read(const char *dir, struct err *e);

/* Sets the median links of each kind: the bandwidth by the largest messages that were exchanged,
 * the latency by the smallest. Between ranks that share memory, and so exchange no messages, by
 * the sums of all ranks. */
void bandwidth_links(const json_t *measured, struct bandwidth_link dst[BANDWIDTH_KINDS]);

/* Adds what was measured, and what is slow. Only links of one kind are compared, first those
 * between nodes. A rank is represented by the bandwidth that a quarter of its links exceed (by
 * the best of fewer than four links). It is slow if that is less than half of the median over all
 * ranks and it has at least three links; a node is slow if all its ranks are. Links of slow ranks
 * are then left out, and another link is slow if it has less than half of the median bandwidth of
 * its kind. Names of slow nodes are appended to the array slow. */
void bandwidth_judge(const json_t *measured, struct findings *f, json_t *slow);

#endif
