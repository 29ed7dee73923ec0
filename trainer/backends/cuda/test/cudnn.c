/* SPDX-License-Identifier: BSD-3-Clause */
/* Which of cuDNN's engines are chosen, and the file that keeps the choices: reading, concurrent
 * writing, damage. cuDNN is emulated (cudnn_emulated.c). */
#include "src/base.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include "t/tap.h"
#include "trainer/backends/cuda/cudnn/cudnn_internal.h"
#include "trainer/network/network.h"
#include "trainer/optim/optim.h"

#define WRITERS 14

static const struct cudnn_problem plain = {
    .n = 1, .h = 8, .w = 8, .c = 8, .oh = 8, .ow = 8, .k = 16, .side = 3, .stride = 1, .pad = 1,
    .dilation = 1};
static char folder[] = "/tmp/unet-cudnn-XXXXXX", path[128];

/* Returns the ids of the engines that a search finds, in order, or "not found again" if
 * cudnn_plan_find misses one, or finds it under another id. */
static const char *engines(struct cudnn_problem problem, size_t most)
{
    static char text[128];
    struct err e;
    const struct cudnn_calls *calls = cudnn_library_open(&e);
    void *handle = NULL;
    struct cudnn_search *s = calls && calls->create(&handle) == 0
                                 ? cudnn_plan_search(calls, handle, &problem, &e) : NULL;
    struct cudnn_plan *p;

    if (!s)
        bail_out("%s", e.text);
    *text = 0;
    while ((p = cudnn_plan_next(s, most))) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%lld ", (long long)cudnn_plan_engine(p)->id);
        struct cudnn_plan *same = cudnn_plan_find(s, cudnn_plan_engine(p), most);
        struct cudnn_engine other = *cudnn_plan_engine(p);
        other.id += 100;
        if (!same || cudnn_plan_find(s, &other, most))
            snprintf(text, sizeof text, "not found again");
        cudnn_plan_close(same);
        cudnn_plan_close(p);
    }
    cudnn_plan_end(s);
    (void)calls->destroy(handle);
    return text;
}

static void check_engines(void)
{
    struct cudnn_problem p = plain;

    is_str(engines(p, 4096), "7 2 1 0 ", "floats: no tensor cores, nothing that does not fit");
    is_str(engines(p, 100), "2 1 0 ", "with little room");
    p.tf32 = true;
    is_str(engines(p, 4096), "7 3 2 1 0 ", "tf32: tensor cores, but inputs are not cut to 16 bits");
    p.deterministic = true;
    is_str(engines(p, 4096), "3 2 1 0 ", "deterministic");
    p.tf32 = false;
    p.dtype = DTYPE_BF16;
    is_str(engines(p, 4096), "3 2 1 0 ", "bf16 has tensor cores");
    p.tail = CUDNN_BIAS_RELU;
    is_str(engines(p, 4096), "3 2 1 0 ", "with bias and ReLU in the graph");
}

static void check_refusals(void)
{
    struct err e;
    const struct cudnn_calls *c = cudnn_library_open(&e);
    struct cudnn_problem p = plain;
    int64_t four[] = {1, 8, 8, 8}, id = 0;
    void *d = NULL, *handle = NULL;

    (void)c->create(&handle);
    p.oh = 7;
    ok(!cudnn_plan_search(c, handle, &p, &e), "shapes that do not fit are refused: %s", e.text);
    p = plain;
    p.c = 0;
    ok(!cudnn_plan_search(c, handle, &p, &e), "and empty ones");
    p = plain;
    p.tail = CUDNN_BIAS;
    p.direction = CUDNN_WEIGHTS;
    ok(!cudnn_plan_search(c, handle, &p, &e), "a bias behind the weights' gradient");
    (void)c->create_descriptor(DNN_BACKEND_TENSOR_DESCRIPTOR, &d);
    ok(c->set(d, DNN_ATTR_TENSOR_DIMENSIONS, DNN_TYPE_FLOAT, 4, four) != 0,
       "a wrong type of attribute");
    ok(c->set(d, DNN_ATTR_TENSOR_UNIQUE_ID, DNN_TYPE_INT64, 2, four) != 0, "too many numbers");
    ok(c->set(d, DNN_ATTR_CONVOLUTION_DILATIONS, DNN_TYPE_INT64, 2, four) != 0,
       "another's attribute");
    ok(c->set(d, DNN_ATTR_TENSOR_UNIQUE_ID, DNN_TYPE_INT64, 1, &id) == 0 && c->finalize(d) != 0,
       "what is not whole is not finalized");
    (void)c->destroy_descriptor(d);
    (void)c->destroy(handle);
}

/* ---- the file */

static void write_text(const char *text)
{
    FILE *f = fopen(path, "w");

    if (!f || fputs(text, f) < 0 || fclose(f))
        bail_out("%s can't be written", path);
}

/* Runs a function in a child process, which reads the file for the first time. Returns its result,
 * 0 for success; -1 if it did not exit. */
static int in_child(int (*what)(const char *key), const char *key)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(3);
        _exit(what(key));
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int find(const char *key)
{
    struct cudnn_choice c;

    return !cudnn_choices_find(key, &c) || c.engine.id != 42 || c.engine.index != 3 ||
           c.us != 1.5;
}

static int add(const char *key)
{
    cudnn_choices_add(
        key, &(struct cudnn_choice){.engine = {.mode = 3, .index = 3, .id = 42}, .us = 1.5});
    return 0;
}

static int learn(const char *text)
{
    return cudnn_choices_decode(text) != 0 || find("key") != 0;
}

/* Returns 0 if the text of all choices has the line of one that was added. */
static int tell(const char *key)
{
    cudnn_choices_add(
        key, &(struct cudnn_choice){.engine = {.mode = 3, .index = 3, .id = 42}, .us = 1.5});
    char *text = cudnn_choices_encode();
    int rc = !text || !strstr(text, "\ntold\tengine 3 3 42\t1.500\n");

    free(text);
    return rc;
}

static void check_writers(void)
{
    char keys[WRITERS][32];
    int bad = 0;

    for (int i = 0; i < WRITERS; i++) {
        snprintf(keys[i], sizeof keys[i], "writer %d", i);
        pid_t child = fork();
        if (child == 0)
            _exit(add(keys[i]));
    }
    while (wait(NULL) > 0)
        continue;
    for (int i = 0; i < WRITERS; i++)
        bad += in_child(find, keys[i]) != 0;
    is_int(bad, 0, "%d processes write at once, and nothing is lost", WRITERS);
}

static void check_file(void)
{
    static const char *const damaged[] = {
        "",
        "garbage\n",
        "unet-train cudnn-choices 1\nkey\n",
        "unet-train cudnn-choices 1\nkey\tengine 3 3\t1.5\n",
        "unet-train cudnn-choices 1\nkey\tengine 3 3 42\t1.5",
        "unet-train cudnn-choices 1\nkey\tengine 3 3 42\t-1\n",
        "unet-train cudnn-choices 1\nkey\tengine+relu 3 3 42\t1.5\n"};

    in_child(add, "key");
    is_int(in_child(find, "key"), 0, "what one process writes another reads");
    write_text("unet-train cudnn-choices 1\nkey\tengine 3 3 42\t1.5\nold\town\t1.5\n");
    ok(in_child(find, "key") == 0 && in_child(find, "old") == 1,
       "the choice of a kernel that is gone is none");
    is_int(in_child(find, "other"), 1, "and nothing else");
    check_writers();
    is_int(in_child(tell, "told"), 0, "choices become text");
    write_text("unet-train cudnn-choices 1\n");
    is_int(in_child(learn, "unet-train cudnn-choices 1\nkey\tengine 3 3 42\t1.500\n"), 0,
           "and text choices");
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++)
        ok(in_child(learn, damaged[i]) == 1, "but not damaged text (%zu)", i);
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        write_text(damaged[i]);
        ok(in_child(find, "key") == 1 && in_child(add, "key") == 0 && in_child(find, "key") == 0,
           "a damaged file is not used, and written anew (%zu)", i);
    }
    setenv("XDG_CACHE_HOME", "/proc/none", 1);
    is_int(in_child(add, "key"), 0, "where nothing can be written nothing is");
    setenv("XDG_CACHE_HOME", folder, 1);
}

/* ---- a network that uses cuDNN */

static void step(struct network *n, struct optim *o, const struct network_config *c)
{
    size_t pixels = (size_t)(c->height * c->width);
    struct network_step whole = {.images = 1, .loss_divisor = (double)pixels};
    struct device_update update;
    double loss = 0;
    struct err e;
    float *x = network_input(n, true, 1, &e), *t = x ? network_target(n, true, 1, &e) : NULL;

    if (!t)
        bail_out("%s", e.text);
    for (size_t i = 0; i < pixels; i++)
        x[i] = t[i] = (float)(i % 3 == 0);
    optim_plan(o, network_weights(n), 0.01, 0, &update);
    whole.update = &update;
    if (network_train(n, 1, whole, &loss, NULL, NULL, &e) || network_wait(n, &loss, &e))
        bail_out("%s", e.text);
}

/* Trains three steps, of which the second is recorded. Returns a hash of the weights. */
static uint64_t train(struct network_config c)
{
    struct err e;
    struct network *n = network_create(&c, &e);
    struct optim *o = n ? optim_create(&(struct optim_config){0}, network_weights(n), &e) : NULL;
    uint64_t hash = 1469598103934665603u;

    if (!o)
        bail_out("%s", e.text);
    for (int i = 0; i < 3; i++)
        step(n, o, &c);
    if (weights_pull(network_weights(n), &e))
        bail_out("%s", e.text);
    const unsigned char *bytes = (const unsigned char *)network_weights(n)->value;
    for (size_t i = 0; i < network_weights(n)->nparams * sizeof(float); i++)
        hash = (hash ^ bytes[i]) * 1099511628211u;
    optim_destroy(o);
    network_destroy(n);
    return hash;
}

static size_t count_lines(const char *word)
{
    FILE *f = fopen(path, "r");
    char line[512];
    size_t n = 0;

    while (f && fgets(line, sizeof line, f))
        n += strstr(line, word) != NULL;
    if (f)
        (void)fclose(f);
    return n;
}

static void check_network(void)
{
    struct network_config c = {.model = "unet",
                               .backend = "cuda",
                               .base = 4,
                               .depth = 1,
                               .channels = 1,
                               .height = 16,
                               .width = 12,
                               .batch_norm = BATCH_NORM_LOCAL,
                               .threads = 1};

    (void)remove(path);
    c.deterministic = true;
    uint64_t hash = train(c);
    ok(hash == train(c), "deterministic: the same bits twice");
    is_int((long)count_lines("forward"), 0, "and nobody was timed");
    c.deterministic = false;
    (void)train(c);
    size_t n = count_lines("forward");
    ok(n > 2 && count_lines("weights") > 2 && count_lines(", f32\t") > 2 * n - 2,
       "else every shape's choice is kept: %zu forward", n);
    is_int((long)(count_lines(" 3 5 2\t") + count_lines(" 3 4 11\t")), 0,
           "engines that can't be recorded or finalized are never chosen");
    c.tf32 = true;
    (void)train(c);
    ok(count_lines(", tf32\t") > 2, "and that of tf32 beside it");
    c.tf32 = false;
    c.dtype = DTYPE_BF16;
    c.base = 8;
    (void)train(c);
    ok(count_lines(", bf16, bias\t") > 2, "and that of bf16");
}

int main(void)
{
    if (!mkdtemp(folder) || setenv("XDG_CACHE_HOME", folder, 1))
        bail_out("no folder in /tmp");
    snprintf(path, sizeof path, "%s/unetctl/cudnn-choices", folder);
    check_engines();
    check_refusals();
    check_file();
    check_network();
    char command[160];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) ? 1 : done_testing();
}
