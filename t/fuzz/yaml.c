/* SPDX-License-Identifier: BSD-3-Clause */
/* A study and a site profile of any bytes: read, or refused with a message. */
#include "src/base.h"
#include "launcher/study/study.h"

#include <sys/mman.h>

#include "t/fuzz/fuzz.h"

/* Returns the descriptor of a file in memory with these bytes, and sets path to its path. */
static int make_file(const uint8_t *data, size_t n, char path[64])
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);

    FUZZ_REQUIRE(fd >= 0 && write(fd, data, n) == (ssize_t)n);
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static void check(const struct setting *keys, enum yaml_layer layer, const char *path, void *dst,
                  struct yaml_origins *origins)
{
    struct err e = {0};
    struct buf b = {0};

    int rc = yaml_table_create(keys, dst, origins, &e) ||
             yaml_table_add_file(keys, path, layer, dst, origins, &e) ||
             yaml_table_finish(keys, path, true, origins, &e);
    FUZZ_REQUIRE(rc == 0 || (e.code == ERR_CONFIG && e.text[0]));
    for (const struct setting *k = keys; rc == 0 && k->path; k++) {
        b.length = 0;
        setting_format(k, dst, &b);
        FUZZ_REQUIRE(!b.failed);
    }
    buf_destroy(&b);
    yaml_table_destroy(keys, dst, origins);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct study study = {0};
    struct site site = {0};
    char path[64];
    int fd = make_file(data, n, path);

    check(settings_of_study, YAML_STUDY, path, &study.settings, &study.origins);
    check(site_keys, YAML_SITE, path, &site, &site.origins);
    close(fd);
    return 0;
}
