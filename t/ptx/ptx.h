/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs kernels from the PTX that nvcc made of them, on the CPU, and checks each instruction.
 *
 * ptx_add refuses a module with an instruction that this interpreter does not know, and ptx_launch
 * a launch that the architecture refuses, or whose blocks do not consist of whole warps. A running
 * kernel is stopped, with its block and thread and most often its instruction named, at: an access
 * outside of the registered memory, or misaligned; a read of shared memory that was not written,
 * or any access while a cp.async still writes there; a race between threads in shared memory, or
 * of two that write the same global memory; a barrier or an instruction of a whole warp in
 * divergent code; a trap; the end with a cp.async that was not waited for; and accesses that are
 * not supported. Blocks, and the warps of a block between two barriers, run in an order drawn from
 * the seed. */
#ifndef UNETCTL_T_PTX_PTX_H
#define UNETCTL_T_PTX_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define PTX_WHY 512

struct ptx; /* kernels of one architecture, and what was counted in them */

struct ptx_launch {
    const char *kernel; /* its name in C */
    unsigned nblocks, nthreads;
    size_t nshared; /* bytes of dynamic shared memory */
    const void *args; /* the kernel's parameters as one structure */
    size_t nargs;
    uint64_t seed;
};

/* Returns a set without kernels. arch: 80 for sm_80. NULL: out of memory, or an architecture
 * without limits here. */
struct ptx *ptx_new(unsigned arch);
void ptx_free(struct ptx *p);

/* Adds every kernel of a module, which messages call `name`. text is not kept. false: `why` names
 * line and reason, and the kernels before that line may have been added. */
bool ptx_add(struct ptx *p, const char *name, const char *text, char why[PTX_WHY]);

/* Takes each kernel's number of registers from what `ptxas -v` printed; without it a launch is not
 * compared with the registers of a processor. */
void ptx_add_registers(struct ptx *p, const char *log);

bool ptx_has(const struct ptx *p, const char *kernel);

/* Runs all blocks. false: `why` names the fault; what was written so far stays. */
bool ptx_launch(struct ptx *p, const struct ptx_launch *launch, char why[PTX_WHY]);

/* Global memory: kernels may use what was registered and not yet removed. What overlaps registered
 * memory is not registered. Thread-safe. */
void ptx_memory_add(const void *start, size_t nbytes);
void ptx_memory_remove(const void *start);

/* From now on, counts the sectors of global memory that a launch reads and those that it writes,
 * each once. */
void ptx_count_footprints(struct ptx *p);

/* Prints a line with the counts of all launches of that kernel so far; report.c describes the
 * columns. */
void ptx_report_launch(const struct ptx *p, const struct ptx_launch *launch, FILE *out);

/* For each kernel that ran a line, and one for each of its instructions that ran; then one for each
 * form of instruction. report.c describes the columns. */
void ptx_report(const struct ptx *p, FILE *out);

#endif
