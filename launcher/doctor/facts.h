/* SPDX-License-Identifier: BSD-3-Clause */
/* The facts of one host as JSON: the part of a preflight (unetctl doctor) that needs no other host.
 *
 *   {"host":"node1",
 *    "versions":{"unetctl":"0.1.0 HASH","unet-train":"0.1.0 HASH","glibc":"2.36","mpi":...,
 *                "gpu driver":...},                 programs with the start of their SHA-256
 *    "has_trainer":true,                            unet-train is there and starts
 *    "limits":{"nofile":N,"memlock":N,"nproc":N,"core":N,"stack":N},         soft; -1: unlimited
 *    "infiniband":false,
 *    "stale":["MASTER_ADDR=x"],"proxies":["http_proxy=..."],
 *    "interface":"NCCL_SOCKET_IFNAME=eth9" or "",   names an interface that is not there
 *    "dead_links":["ib0 (10.1.0.3) is down"],       with an address, but down or without link
 *    "energy":"of GPUs by NVML; ...",               what the sampler can measure
 *    "gpus":[{"uuid":"GPU-..","name":".."}],"gpu_source":"nvidia-smi"|"unet-train"|"",
 *    "compute":{"backend":"cuda","fake":false,"device":"..","why_cpu":""} or {"error":".."}}
 *
 * fake: the CPU stands in for GPUs. why_cpu: why there are none to compute on. */
#ifndef UNETCTL_LAUNCHER_DOCTOR_FACTS_H
#define UNETCTL_LAUNCHER_DOCTOR_FACTS_H

#include <jansson.h>

/* Collects the facts. backend is train.backend, for "compute"; if it is NULL, or unet-train does
 * not answer, "compute" is omitted. The caller releases the result. NULL only if memory ran out. */
json_t *facts_collect(const char *backend);

#endif
