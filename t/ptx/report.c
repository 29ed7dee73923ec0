/* SPDX-License-Identifier: BSD-3-Clause */
/* What was executed, in lines of columns that are separated by tabs:
 *   kernel NAME ARCH REGISTERS THREADS SHARED RESIDENT LAUNCHES BLOCKS WARP MMA BARRIERS
 *       WAVEFRONTS IDEAL SECTORS IDEAL, RESIDENT being the blocks that a processor holds;
 *   form OPCODE RUNS, for each form of instruction of the modules that were read;
 *   line KERNEL LINE RUNS, for each instruction of a kernel that ran. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "t/ptx/machine.h"

void ptx_add_registers(struct ptx *p, const char *log)
{
    static const char entry[] = "Compiling entry function '", used[] = "Used ";

    for (const char *at = strstr(log, entry); at; at = strstr(at, entry)) {
        at += strlen(entry);
        const char *line = strstr(at, used);
        for (unsigned k = 0; line && k < p->nkernels; k++) {
            const char *name = strstr(at, p->kernels[k].name);
            size_t n = strlen(p->kernels[k].name), prefix = strspn(at, "_ZL0123456789");
            if (name == at + prefix && strtoul(at + strcspn(at, "0123456789"), NULL, 10) == n)
                p->kernels[k].nregisters = (unsigned)strtoul(line + strlen(used), NULL, 10);
        }
    }
}

static void report_kernel(const struct ptx *p, const struct kernel *k, FILE *out)
{
    const struct counts *c = &k->counts;

    fprintf(out,
            "kernel\t%s\t%u\t%u\t%u\t%zu\t%u\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
            "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
            k->name, p->limits->arch, k->nregisters, k->nthreads, k->nshared,
            resident_blocks(p->limits, k->nregisters, k->nthreads, k->nshared), c->nlaunches,
            c->nblocks, c->nwarp, c->nmultiply, c->nbarriers, c->nwavefronts,
            c->nwavefronts_ideal, c->nsectors, c->nsectors_ideal);
    for (unsigned i = k->first; i < k->last; i++)
        if (p->code[i].nruns)
            fprintf(out, "line\t%s\t%u\t%" PRIu64 "\n", k->name, p->code[i].line,
                    p->code[i].nruns);
}

static int compare_forms(const void *a, const void *b)
{
    return strcmp((*(struct insn *const *)a)->form, (*(struct insn *const *)b)->form);
}

void ptx_report(const struct ptx *p, FILE *out)
{
    struct insn **sorted = malloc((p->ncode + 1) * sizeof *sorted);

    for (unsigned k = 0; k < p->nkernels; k++)
        if (p->kernels[k].counts.nlaunches)
            report_kernel(p, &p->kernels[k], out);
    for (unsigned k = 0; sorted && k < p->ncode; k++)
        sorted[k] = &p->code[k];
    if (sorted)
        qsort(sorted, p->ncode, sizeof *sorted, compare_forms);
    for (unsigned k = 0, next; sorted && k < p->ncode; k = next) {
        uint64_t nruns = 0;
        for (next = k; next < p->ncode && strcmp(sorted[next]->form, sorted[k]->form) == 0; next++)
            nruns += sorted[next]->nruns;
        fprintf(out, "form\t%s\t%" PRIu64 "\n", sorted[k]->form, nruns);
    }
    free(sorted);
}
