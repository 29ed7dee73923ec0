/* SPDX-License-Identifier: BSD-3-Clause */
/* One gather of an entry from each rank; all ranks then find the same errors. */
#include "config.h"
#include "trainer/run/ranks/roster.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/map.h"
#include "src/mem.h"

/* Returns a hash of the kernel's boot id, which all containers and fake nodes of a machine share,
 * or of host if the id cannot be read. */
static uint64_t machine_id(const char *host)
{
    char text[64] = "";
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

    if (!f || !fgets(text, sizeof text, f))
        snprintf(text, sizeof text, "%.60s", host);
    if (f)
        fclose(f);
    return hash_text(HASH_BEGIN, text);
}

void roster_describe(struct roster_entry *own)
{
    own->machine = machine_id(own->host);
    own->cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static int check_same(const struct roster *r, struct err *e)
{
    const struct roster_entry *zero = &r->entries[0];

    for (int i = 1; i < r->size; i++) {
        const struct roster_entry *entry = &r->entries[i];
        const char *what = NULL;
        if (entry->config_hash != zero->config_hash)
            what = "another run.json or other options";
        else if (entry->data_hash != zero->data_hash)
            what = "another data set or split";
        else if (entry->plan_hash != zero->plan_hash)
            what = "another plan of the network";
        if (what)
            return err_set(e, ERR_PEER, "rank %d on %s has %s than rank 0 on %s; all ranks of a "
                           "run must read the same files with the same unet-train", i, entry->host,
                           what, zero->host);
    }
    return 0;
}

bool roster_shares_gpus(void)
{
    const char *word = getenv("UNET_SHARE_GPU");

    return word && strcmp(word, "1") == 0;
}

int roster_gather(struct comm *c, const struct roster_entry *own, struct roster *roster,
                  struct err *e)
{
    roster->size = c->size;
    roster->entries = mem_zero((size_t)c->size, sizeof *roster->entries, e);
    if (!roster->entries)
        return -1;
    if (c->ops->gather(c, own, roster->entries, sizeof *own, e) == 0) {
        if (check_same(roster, e) == 0)
            return 0;
        c->relayed = c->rank > 0; /* all ranks have the error; rank 0 reports it */
    }
    roster_destroy(roster);
    return -1;
}

void roster_destroy(struct roster *roster)
{
    free(roster->entries);
    *roster = (struct roster){0};
}

int roster_sharers(const struct roster *r, int rank)
{
    int n = 0;

    for (int i = 0; i < r->size; i++)
        n += r->entries[i].machine == r->entries[rank].machine;
    return n;
}

int roster_processors(const struct roster *r, char *dst, size_t size)
{
    int first = 0;
    size_t n = 0;

    for (int i = 0; i < r->size; i++) {
        const char *name = r->entries[i].processor;
        bool known = false;
        for (int j = 0; j < i && !known; j++)
            known = strcmp(r->entries[j].processor, name) == 0;
        if (known)
            continue;
        if (i > 0 && !first)
            first = i;
        if (n < size)
            n += (size_t)snprintf(dst + n, size - n, "%s%s", i > 0 ? " + " : "", name);
    }
    return first;
}

bool roster_is_oversubscribed(const struct roster *r)
{
    for (int i = 0; i < r->size; i++) {
        long wanted = 0;
        for (int j = 0; j < r->size; j++)
            if (r->entries[j].machine == r->entries[i].machine)
                wanted += r->entries[j].threads;
        if (wanted > r->entries[i].cores)
            return true;
    }
    return false;
}
