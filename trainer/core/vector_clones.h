/* SPDX-License-Identifier: BSD-3-Clause */
/* With GCC on x86-64 Linux, a function marked VECTOR_CLONES is compiled for several instruction
 * sets, of which the loader chooses one. It must not contain an OpenMP region, whose body would not
 * be cloned. */
#ifndef UNETCTL_TRAINER_CORE_VECTOR_CLONES_H
#define UNETCTL_TRAINER_CORE_VECTOR_CLONES_H

/* The loader's resolvers would run before a sanitizer is set up, so such builds have no clones. */
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if __GNUC__ >= 12
#define VECTOR_CLONES __attribute__((target_clones("avx512f", "arch=x86-64-v3", "default")))
#else /* older compilers do not accept x86-64-v3; avx2 does not include FMA */
#define VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#endif
#else
#define VECTOR_CLONES
#endif

#endif
