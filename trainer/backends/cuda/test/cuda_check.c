/* SPDX-License-Identifier: BSD-3-Clause */
/* On an emulated GPU whose tensor cores compute wrong products, the kernels that use them are
 * refused before they are used, and the gradients of a network are right, unless an earlier process
 * has found the kernels right, on that GPU with the same driver. */
#include "config.h"
#include "trainer/backends/cuda/test/emulated.c"

#include <sys/stat.h>
#include <sys/wait.h>

#include "src/rng.h"
#include "t/tap.h"
#include "trainer/backends/trial/verdicts.h"
#include "trainer/network/network.h"

#define SIDE 24

static struct network_config config = {.model = "unet",
                                       .base = 8,
                                       .depth = 1,
                                       .channels = 3,
                                       .height = SIDE,
                                       .width = SIDE,
                                       .batch_norm = BATCH_NORM_LOCAL,
                                       .threads = 1,
                                       .seed = 7};

/* Returns the gradients of one step, to be freed by the caller. */
static float *gradients(const char *backend, enum dtype dtype, int gpu, size_t *n)
{
    struct network_step step = {.images = 2, .loss_divisor = 2 * SIDE * SIDE};
    struct err e;
    double loss = 0;

    config.backend = backend;
    config.dtype = dtype;
    config.device = gpu;
    struct network *net = network_create(&config, &e);
    float *x = net ? network_input(net, true, 2, &e) : NULL,
          *t = x ? network_target(net, true, 2, &e) : NULL;
    if (!t)
        bail_out("%s", e.text);
    for (size_t i = 0; i < (size_t)2 * SIDE * SIDE * 3; i++)
        x[i] = (float)rng_uniform(1, 0, i);
    for (size_t i = 0; i < (size_t)2 * SIDE * SIDE; i++)
        t[i] = (float)(rng_uniform(2, 0, i) < 0.5);
    if (network_train(net, 2, step, &loss, NULL, NULL, &e) || network_wait(net, &loss, &e))
        bail_out("%s", e.text);
    const struct weights *w = network_weights(net);
    *n = w->nparams;
    float *copy = malloc(*n * sizeof *copy);
    if (!copy || mirror_pull(&w->grads, &e))
        bail_out("out of memory");
    memcpy(copy, w->grads.host, *n * sizeof *copy);
    network_destroy(net);
    return copy;
}

/* Returns the sum of the absolute differences divided by that of the absolute values of b. */
static double difference(const float *a, const float *b, size_t n)
{
    double sum = 0, all = 0;

    for (size_t i = 0; i < n; i++) {
        sum += fabs((double)a[i] - (double)b[i]);
        all += fabs((double)b[i]);
    }
    return sum / all;
}

static void check_gradients(const char *what, int gpu, const float *want, bool right)
{
    size_t n;
    float *got = gradients("cuda", DTYPE_BF16, gpu, &n);
    double d = difference(got, want, n);

    /* The rounding of bfloat16 alone makes a difference of this size. */
    ok((d < 0.2) == right, "%s: gradients differ by %.2g of their size", what, d);
    free(got);
}

/* ---- what later processes know */

static char folder[] = "/tmp/unet-checks-XXXXXX", path[64];

/* Returns whether a new process gets right gradients from a GPU, which is spoiled or not. It gets
 * wrong ones if it believes that the kernels are right. variable: of its environment, NAME=VALUE,
 * or NULL. Waits for the process unless child is given. */
static bool start_process(int gpu, float spoiled, const char *variable, const float *want,
                          pid_t *child)
{
    pid_t one = fork();
    int status;

    if (one == 0) {
        size_t n;
        emulate_spoiled = spoiled;
        if (variable)
            putenv(strdup(variable));
        float *got = gradients("cuda", DTYPE_BF16, gpu, &n);
        _exit(difference(got, want, n) < 0.2 ? 0 : 1);
    }
    if (child) {
        *child = one;
        return true;
    }
    return waitpid(one, &status, 0) == one && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void write_checks(const char *text)
{
    FILE *f = fopen(path, "w");

    if (!f || fputs(text, f) < 0 || fclose(f))
        bail_out("%s can't be written", path);
}

/* Makes all checks in the file older. */
static void age_checks(long days)
{
    char text[1 << 16], *out = NULL, *rest;
    FILE *f = fopen(path, "r");
    size_t size, n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    FILE *memory = open_memstream(&out, &size);

    if (!n || !memory)
        bail_out("%s can't be read", path);
    text[n] = 0;
    (void)fclose(f);
    rest = text;
    for (char *at; (at = strstr(rest, "\tright ")); ) {
        long day = strtol(at + 7, &at, 10);
        fprintf(memory, "%.*s%ld", (int)(strstr(rest, "\tright ") + 7 - rest), rest, day - days);
        rest = at;
    }
    fputs(rest, memory);
    (void)fclose(memory);
    write_checks(out);
    free(out);
}

static void check_memory(const float *want)
{
    static const char *const damaged[] = {"", "unet-train kernel-checks 1\nkey\tright\n",
                                          "unet-train kernel-checks 1\nkey\tright 2 driver"};
    pid_t children[4];

    ok(start_process(0, 0, NULL, want, NULL) && access(path, R_OK) == 0,
       "the first process checks the kernels, and writes that down");
    ok(!start_process(0, 0.5F, NULL, want, NULL), "a later one does not check them again");
    ok(start_process(0, 0.5F, "UNET_CUDA_KERNELS=again", want, NULL), "unless it is told to");
    ok(start_process(1, 0.5F, NULL, want, NULL), "or has another GPU");
    ok(start_process(0, 0.5F, "EMULATE_DRIVER=13010", want, NULL), "or another driver");
    ok(!start_process(0, 0.5F, NULL, want, NULL), "of wrong kernels nothing is written down");
    age_checks(CHECKED_DAYS - 1);
    ok(!start_process(0, 0.5F, NULL, want, NULL), "nor some weeks later");
    age_checks(2);
    ok(start_process(0, 0.5F, NULL, want, NULL), "but after a month");
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        write_checks(damaged[i]);
        ok(start_process(0, 0.5F, NULL, want, NULL), "a damaged file is not believed (%zu)", i);
    }
    (void)remove(path);
    for (int i = 0; i < 4; i++)
        start_process(0, 0, NULL, want, &children[i]);
    for (int i = 0; i < 4; i++)
        (void)waitpid(children[i], NULL, 0);
    ok(!start_process(0, 0.5F, NULL, want, NULL), "four processes write it at a time");
    setenv("XDG_CACHE_HOME", "/proc/none", 1);
    ok(start_process(0, 0.5F, NULL, want, NULL), "where nothing can be written all is checked");
}

int main(void)
{
    struct verdicts_tally tally;
    unsigned nbefore;
    size_t n;

    if (!mkdtemp(folder) || setenv("XDG_CACHE_HOME", folder, 1))
        bail_out("no folder in /tmp");
    snprintf(path, sizeof path, "%s/unetctl/kernel-checks", folder);
    setenv("UNET_CUDNN", "off", 1);
    float *want = gradients("ref", DTYPE_F32, 0, &n);
    check_memory(want);
    setenv("XDG_CACHE_HOME", folder, 1);
    (void)remove(path);
    check_gradients("a GPU that works", 0, want, true);
    verdicts_tally(&tally);
    ok(tally.nright > 10 && tally.nwrong == 0, "all of %u kernels that were tried are right",
       tally.nright);

    emulate_spoiled = 0.5F;
    nbefore = tally.nright;
    check_gradients("one that multiplies wrongly", 1, want, true);
    verdicts_tally(&tally);
    ok(tally.nwrong > 3, "%u kernels were found out", tally.nwrong);
    ok(tally.nright > nbefore, "%u others serve", tally.nright - nbefore);

    setenv("UNET_CUDA_KERNELS", "untried", 1);
    check_gradients("if nobody tries", 1, want, false);
    setenv("UNET_CUDA_KERNELS", "plain", 1);
    check_gradients("with the plain ones", 1, want, true);
    free(want);
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) ? 1 : done_testing();
}
