/* SPDX-License-Identifier: BSD-3-Clause */
/* Which snapshot is opened, and the treatment of incomplete ones. */
#include "src/base.h"
#include "trainer/checkpoint/checkpoint.h"

#include "src/atomicfile.h"
#include "t/tap.h"

static char dir[64];
static float data[3] = {1, 2, 3};
static const struct safetensors_entry entry = {"w", 1, {3}, 3, data};

static void write_one(int epoch, size_t items, const char *state)
{
    struct err e;

    if (snapshot_write(dir, epoch, items, state, &entry, 1, &e))
        bail_out("%s", e.text);
}

/* Returns the state of the newest intact snapshot, or "". */
static const char *newest(void)
{
    static char text[64];
    struct snapshot s;
    struct err e;
    int found = snapshot_open(dir, &s, &e);

    if (found < 0)
        bail_out("%s", e.text);
    snprintf(text, sizeof text, "%s", found ? s.state : "");
    snapshot_close(&s);
    return text;
}

static char *name_of(int epoch, int items)
{
    static char path[128];

    snprintf(path, sizeof path, "%s/state-%07d-%010d.safetensors", dir, epoch, items);
    return path;
}

/* Inverts the lowest bit of a byte of the file. from_end: its distance from the end, at least 1. */
static void spoil(const char *path, size_t from_end)
{
    size_t n;
    struct err e;
    char *bytes = atomicfile_read(path, 1 << 20, &n, &e);

    if (!bytes)
        bail_out("%s", e.text);
    bytes[n - from_end] ^= 1;
    if (atomicfile_write(path, bytes, n, 0666, &e))
        bail_out("%s", e.text);
    free(bytes);
}

int main(void)
{
    struct snapshot s;
    struct err e;
    float back[3];
    struct safetensors_entry into = entry;

    snprintf(dir, sizeof dir, "/tmp/snapshot-test.%d", (int)getpid());
    is_str(newest(), "", "no folder: none");
    ok(!snapshot_exists(dir), "none is there");
    write_one(0, 4, "{\"a\":1}");
    write_one(0, 12, "{\"a\":2}");
    is_str(newest(), "{\"a\":2}", "more items are newer");
    write_one(1, 0, "{\"a\":\"x\\\"y\"}");
    is_str(newest(), "{\"a\":\"x\\\"y\"}", "the next epoch is newer still");
    ok(access(name_of(0, 4), F_OK) && !access(name_of(0, 12), F_OK), "two are kept");

    into.data = back;
    ok(snapshot_open(dir, &s, &e) == 1 && safetensors_read(s.file, &into, 1, &e) == 0 &&
       memcmp(back, data, sizeof data) == 0, "with its numbers");
    snapshot_close(&s);

    spoil(name_of(1, 0), 2); /* a digit of the last number */
    is_str(newest(), "{\"a\":2}", "one bit of the data: passed over");
    write_one(1, 0, "{\"a\":3}");
    is_str(newest(), "{\"a\":3}", "written again, it counts");
    spoil(name_of(1, 0), 12 + 40); /* in the header */
    is_str(newest(), "{\"a\":2}", "one bit of the header: passed over");
    if (truncate(name_of(0, 12), 5))
        bail_out("truncate");
    is_str(newest(), "", "none is whole");
    ok(snapshot_exists(dir), "though some are there");

    char half[160], weights[160];
    snprintf(half, sizeof half, "%s.tmp-1-0", name_of(7, 0));
    snprintf(weights, sizeof weights, "%s/weights.safetensors.tmp-1-0", dir);
    if (atomicfile_write(half, "x", 1, 0666, &e) || atomicfile_write(weights, "x", 1, 0666, &e))
        bail_out("%s", e.text);
    snapshot_clean(dir, false);
    ok(access(half, F_OK) && access(weights, F_OK) && !access(name_of(0, 12), F_OK),
       "what is half-written is removed");
    snapshot_clean(dir, true);
    ok(access(name_of(0, 12), F_OK) && !access(name_of(1, 0), F_OK), "then all but the newest");
    ok(unlink(name_of(1, 0)) == 0 && rmdir(dir) == 0, "and nothing else is there");
    return done_testing();
}
