/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/plan/compute_look.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/host/jsonio.h"
#include "launcher/plan/trainer_program.h"
#include "launcher/study/run_json.h"

/* Returns the output of `unet-train devices --backend BACKEND` on this host, or NULL with the
 * problem in dst. */
static json_t *ask_devices(const char *backend, struct compute_look *dst)
{
    const char *const argv[] = {"devices", "--json", "--backend", backend, NULL};
    json_t *devices = NULL;
    char *text = NULL;
    struct err e;

    if (trainer_program_read(argv, &text, &e) == 0)
        devices = jsonio_decode(text, strlen(text), "unet-train devices --json", &e);
    free(text);
    if (!devices) {
        snprintf(dst->problem, sizeof dst->problem, "unet-train does not report its device: %.300s",
                 e.text);
        dst->remedy = "unet-train devices";
    }
    return devices;
}

static bool has_backend(const json_t *devices, const char *name)
{
    const json_t *backend;
    size_t i;

    json_array_foreach(json_object_get(devices, "backends"), i, backend) {
        if (strcmp(json_string_value(backend), name) == 0)
            return true;
    }
    return false;
}

/* Fills dst with what this host computes on, and why. */
static void set_host(struct compute_look *dst, const json_t *devices, const struct study *study,
                     const char *why)
{
    const json_t *compute = json_object_get(devices, "compute");

    snprintf(dst->problem, sizeof dst->problem, "%s", jsonio_text(compute, "error"));
    dst->fatal = *dst->problem;
    if (dst->fatal)
        return;
    snprintf(dst->backend, sizeof dst->backend, "%s", jsonio_text(compute, "backend"));
    bool gpus = strcmp(dst->backend, "cuda") == 0;
    bool slower = !gpus && strcmp(study->train.dtype, "bf16") == 0;
    snprintf(dst->text, sizeof dst->text, "%s (backend %s)%s%s%s", gpus ? "GPUs" : "the CPU",
             dst->backend, *why ? ": " : "", why,
             slower ? "; bf16 is slower there than f32" : "");
}

/* Adds the number format of runs on GPUs. */
static void add_dtype(struct compute_look *dst, const struct study *study, const struct site *site)
{
    const char *dtype = plan_dtype(study, site);
    bool automatic = strcmp(dtype, "auto") == 0;
    size_t n = strlen(dst->text);

    snprintf(dst->text + n, sizeof dst->text - n, "; train.dtype is %s%s", dtype,
             automatic ? ", tf32 on GPUs that have it, else f32" : "");
}

/* Fills dst for a cluster with GPUs, which this host cannot examine. */
static void set_gpus(struct compute_look *dst, const json_t *devices, const struct site *site,
                     const char *word)
{
    if (site_has_foreign_gpus(site)) {
        snprintf(dst->problem, sizeof dst->problem, "the GPUs of site %s are not NVIDIA's, and a "
                 "run that computes on them ends at once with exit code 5", site->name);
        dst->remedy = "set train.backend: cpu";
        dst->fatal = true;
        return;
    }
    snprintf(dst->backend, sizeof dst->backend, "cuda");
    snprintf(dst->text, sizeof dst->text, "GPUs (backend cuda): train.backend is %s", word);
    if (has_backend(devices, "cuda"))
        return;
    snprintf(dst->problem, sizeof dst->problem, "unet-train was built without CUDA, and a run that "
             "has GPUs ends at once with exit code 5");
    dst->remedy = "build it with ./configure --with-cuda=DIR, or set train.backend: cpu";
    dst->fatal = true;
}

bool compute_look_applies(const struct study *study, const struct site *site)
{
    return strcmp(study->engine, "embedded") == 0 && !*site->trainer;
}

void compute_look_open(const struct study *study, const struct site *site,
                       struct compute_look *dst)
{
    const char *word = study->train.backend;
    bool automatic = strcmp(word, "auto") == 0, fake = automatic && site_has_fake_gpus(site);
    bool on_gpus = (automatic && !fake) || strcmp(word, "cuda") == 0;
    bool local = strcmp(site->scheduler, "local") == 0;
    json_t *devices = NULL;
    char why[64];

    *dst = (struct compute_look){.remedy = ""};
    if (compute_look_applies(study, site))
        devices = ask_devices(fake ? "cpu" : word, dst);
    if (!devices)
        return;
    snprintf(why, sizeof why, "train.backend is %s", word);
    if (on_gpus && !local)
        set_gpus(dst, devices, site, word);
    else if (fake)
        set_host(dst, devices, study, "the site's GPUs are fake");
    else if (on_gpus)
        set_host(dst, devices, study, jsonio_text(json_object_get(devices, "compute"), "why_cpu"));
    else
        set_host(dst, devices, study, why);
    if (strcmp(dst->backend, "cuda") == 0)
        add_dtype(dst, study, site);
    if (!on_gpus && !fake && !local && !site_has_fake_gpus(site) && !site_has_foreign_gpus(site)) {
        snprintf(dst->problem, sizeof dst->problem,
                 "runs take GPUs and compute on the CPU (train.backend is %s)", word);
        dst->remedy = "set train.backend: auto to compute on the GPUs";
    }
    json_decref(devices);
}
