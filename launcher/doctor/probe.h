/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank of a rehearsal: started as a run's ranks are (site, launcher, cluster spec), it looks
 * around instead of training, and leaves rank-K.json in the rehearsal's folder:
 *
 *   the facts of its host (facts.h), and
 *   {"schema":1,"index":0,"world":4,"procid":"0","name":"node1","spec":REPORT (spec_report.h),
 *    "port":{"number":8890,"error":""},
 *    "names":[{"name":"node2","listed":false,"addresses":["10.77.0.12"],"back":"node2",
 *              "error":""}],
 *    "peers":[{"index":1,"host":"node2","reached":true,"interface":"eth0","rtt_ms":0.2,
 *              "clock_s":0.001,"error":""}],
 *    "visible":"0,1","data":"","lock":"held"} */
#ifndef UNETCTL_LAUNCHER_DOCTOR_PROBE_H
#define UNETCTL_LAUNCHER_DOCTOR_PROBE_H

#include "src/err.h"

#define PROBE_LOCK "lock"        /* in the folder: held by the doctor that waits for the ranks */
#define PROBE_PATIENCE_S 10      /* for ranks that do not answer */
#define PROBE_LOCK_HELD "held"   /* as it should be */
#define PROBE_LOCK_FREE "free"   /* locks of another host are not seen here */

/* TF_CONFIG in the environment gives this rank. data_dir must be readable here; backend is
 * train.backend or NULL. Returns 0, or -1 with ERR_PEER for an invalid TF_CONFIG and ERR_INTERNAL
 * when the folder cannot be written. */
int probe_run(const char *folder, const char *data_dir, const char *backend, struct err *e);

#endif
