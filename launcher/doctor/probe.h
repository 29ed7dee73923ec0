/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank of a rehearsal (unetctl doctor --gpus). It is started as the ranks of runs are, by
 * the same job script and launcher, but examines its surroundings instead of training, and writes
 * rank-K.json to the rehearsal's folder, one object with
 *
 *   the facts of its host (facts.h), and
 *   {"schema":1,"index":0,"world":4,"procid":"0","name":"node1","place":"",
 *    "spec":REPORT (spec_report.h),
 *    "port":{"number":8890,"error":""},
 *    "names":[{"name":"node2","listed":false,"addresses":["10.77.0.12"],"back":"node2",
 *              "error":""}],
 *    "peers":[{"index":1,"host":"node2","reached":true,"interface":"eth0","rtt_ms":0.2,
 *              "clock_s":0.001,"error":""}],
 *    "visible":"0,1","data":"","lock":"held"}
 *
 * place says that the rank runs elsewhere than its address is, or as another task of the node.
 * visible is CUDA_VISIBLE_DEVICES; data is why the images cannot be read, or ""; stage why
 * data.stage cannot have them; lock is "held" if
 * the rank sees the lock of the waiting doctor, "free" if it does not, or the error. */
#ifndef UNETCTL_LAUNCHER_DOCTOR_PROBE_H
#define UNETCTL_LAUNCHER_DOCTOR_PROBE_H

#include "src/err.h"

#define PROBE_LOCK "lock"        /* in the folder; held by the doctor that waits for the ranks */
#define PROBE_PATIENCE_S 10      /* how long ranks that do not answer are waited for, in seconds */
#define PROBE_LOCK_HELD "held"   /* the ranks see the lock */
#define PROBE_LOCK_FREE "free"   /* locks of another host are not seen here */

/* Examines one rank, which TF_CONFIG in the environment describes. The images are those in
 * DATA_DIR/images (NULL: the study has none); stage is data.stage, or NULL; backend is
 * train.backend, or NULL. Returns 0, or -1 with ERR_PEER for an invalid TF_CONFIG, or ERR_INTERNAL
 * if the folder cannot be written. */
int probe_run(const char *folder, const char *data_dir, const char *stage, const char *backend,
              struct err *e);

#endif
