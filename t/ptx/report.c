/* SPDX-License-Identifier: BSD-3-Clause */
/* What was executed, in lines of columns that are separated by tabs:
 *   kernel NAME ARCH REGISTERS THREADS SHARED RESIDENT LAUNCHES BLOCKS WARP MMA BARRIERS
 *       WAVEFRONTS IDEAL SECTORS IDEAL, THREADS being those of the last launch, SHARED the most of
 *       all, RESIDENT the blocks that a processor holds;
 *   form OPCODE RUNS, for each form of instruction of the modules that were read;
 *   line KERNEL LINE RUNS, for each instruction of a kernel that ran.
 * And of each launch, with sums from WARP on over this and all earlier launches of the kernel:
 *   launch KERNEL BLOCKS THREADS SHARED RESIDENT WARP FP32 FP64 FLOP WAVEFRONTS SECTORS
 *       FOOTPRINT, FP32 and FP64 being arithmetic instructions of warps, FLOP operations of mma,
 *       FOOTPRINT sectors. */
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

static bool ends_in(const char *form, const char *end)
{
    size_t n = strlen(form), m = strlen(end);

    return n >= m && strcmp(form + n - m, end) == 0;
}

/* Multiplications and additions of an mma instruction such as mma.sync.aligned.m16n8k16... */
static uint64_t flop_of(const char *form)
{
    unsigned m = 0, n = 0, k = 0;
    const char *shape = strstr(form, ".m16");

    if (shape)
        (void)sscanf(shape, ".m%un%uk%u", &m, &n, &k);
    return (uint64_t)2 * m * n * k;
}

void ptx_report_launch(const struct ptx *p, const struct ptx_launch *launch, FILE *out)
{
    const struct kernel *k = p->kernels;
    uint64_t fp32 = 0, fp64 = 0, flop = 0;

    while (strcmp(k->name, launch->kernel) != 0)
        k++;
    for (unsigned i = k->first; i < k->last; i++) {
        const struct insn *insn = &p->code[i];
        bool is_arithmetic = insn->kind == ARITHMETIC && strncmp(insn->form, "mov.", 4) != 0;

        fp32 += is_arithmetic && ends_in(insn->form, ".f32") ? insn->nruns : 0;
        fp64 += is_arithmetic && ends_in(insn->form, ".f64") ? insn->nruns : 0;
        flop += insn->kind == MULTIPLY ? insn->nruns * flop_of(insn->form) : 0;
    }
    size_t nshared = k->nstatic + launch->nshared;
    fprintf(out,
            "launch\t%s\t%u\t%u\t%zu\t%u\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
            "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
            k->name, launch->nblocks, launch->nthreads, nshared,
            resident_blocks(p->limits, k->nregisters, launch->nthreads, nshared),
            k->counts.nwarp, fp32, fp64, flop, k->counts.nwavefronts, k->counts.nsectors,
            k->counts.nfootprint);
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
