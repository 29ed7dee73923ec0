dnl SPDX-License-Identifier: BSD-3-Clause
dnl UNETCTL_WITH(name, VAR, text): the switch --with-name=DIR|no|auto, result in $with_name.
AC_DEFUN([UNETCTL_WITH], [
  AC_ARG_WITH([$1], [AS_HELP_STRING([--with-$1=DIR|no|auto], [$3 (default auto)])],
              [], [with_$1=auto])
  have_$1=no
  $2_CFLAGS= $2_LIBS=
])

dnl UNETCTL_FIND_LIB(VAR, library, header, function): sets VAR_CFLAGS, VAR_LIBS and have_library.
AC_DEFUN([UNETCTL_FIND_LIB], [
  AS_CASE([$with_$2], [auto|yes], [],
          [$1_CFLAGS="-I$with_$2/include"; $1_LIBS="-L$with_$2/lib -Wl,-rpath,$with_$2/lib"])
  unetctl_save_CPPFLAGS=$CPPFLAGS unetctl_save_LIBS=$LIBS
  CPPFLAGS="$CPPFLAGS $$1_CFLAGS" LIBS="$$1_LIBS -l$2 $LIBS"
  AC_MSG_CHECKING([for $4 in lib$2])
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <$3>]], [[return (int)((long)(void *)&$4 & 1);]])],
    [have_$2=yes; $1_LIBS="$$1_LIBS -l$2"], [$1_CFLAGS= $1_LIBS=])
  AC_MSG_RESULT([$have_$2])
  CPPFLAGS=$unetctl_save_CPPFLAGS LIBS=$unetctl_save_LIBS
])

dnl UNETCTL_FIND_MPI: flags from the compiler wrapper of Open MPI or MPICH; have_mpi. MPICC names a
dnl wrapper that is not called mpicc, as Debian's mpicc.mpich. Of MPICH's flags only those are taken
dnl that find MPI: the others are its own compiler's.
AC_DEFUN([UNETCTL_FIND_MPI], [
  AC_ARG_VAR([MPICC], [compiler wrapper of Open MPI or MPICH (mpicc)])
  AS_CASE([$with_mpi], [auto], [AS_IF([test -n "$MPICC"], [with_mpi=$MPICC])],
          [yes], [], [AS_IF([test -z "$MPICC"], [MPICC=$with_mpi/bin/mpicc])])
  AC_CHECK_PROG([MPICC], [mpicc], [mpicc])
  AS_IF([test -n "$MPICC" && MPI_CFLAGS=`$MPICC --showme:compile 2>/dev/null`],
        [MPI_LIBS=`$MPICC --showme:link 2>/dev/null`],
        [test -n "$MPICC" && $MPICC -link_info >/dev/null 2>&1],
        [MPI_CFLAGS=`$MPICC -compile_info | tr ' ' '\n' | grep -E '^-(I|D|pthread)' | tr '\n' ' '`
         MPI_LIBS=`$MPICC -link_info | tr ' ' '\n' | grep -E '^-(L|l|Wl,|pthread)' | tr '\n' ' '`])
  unetctl_save_CPPFLAGS=$CPPFLAGS unetctl_save_LIBS=$LIBS
  CPPFLAGS="$CPPFLAGS $MPI_CFLAGS" LIBS="$MPI_LIBS $LIBS"
  AC_MSG_CHECKING([for MPI_Iallreduce])
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>]], [[return (int)((long)(void *)&MPI_Iallreduce & 1);]])],
    [have_mpi=yes], [MPI_CFLAGS= MPI_LIBS=])
  AC_MSG_RESULT([$have_mpi])
  CPPFLAGS=$unetctl_save_CPPFLAGS LIBS=$unetctl_save_LIBS
])

dnl UNETCTL_WITH_DONE(name, VAR): missing though asked for is an error; HAVE_VAR for config.h and automake.
AC_DEFUN([UNETCTL_WITH_DONE], [
  AS_IF([test "x$have_$1" = xno && test "x$with_$1" != xno && test "x$with_$1" != xauto],
        [AC_MSG_ERROR([--with-$1=$with_$1 was asked for but $1 was not found there; see config.log])])
  AS_IF([test "x$have_$1" = xyes], [AC_DEFINE([HAVE_$2], [1], [Define to 1 if $1 is used.])])
  AM_CONDITIONAL([HAVE_$2], [test "x$have_$1" = xyes])
  AC_SUBST([$2_CFLAGS])
  AC_SUBST([$2_LIBS])
])

dnl UNETCTL_FIND_CUDA: NVCC, NVCC_ARCHS (its -gencode flags), CUDA_CFLAGS, CUDA_LIBS; have_cuda. The
dnl runtime is linked statically, the driver, cuDNN and NCCL are found when the program runs: what is
dnl built here starts on machines without a GPU too. CUDA_ARCHS overrides the architectures.
AC_DEFUN([UNETCTL_FIND_CUDA], [
  AC_ARG_VAR([CUDA_ARCHS], [GPU architectures to build for, as 80 90 (those of 70 75 80 90 100 that nvcc knows)])
  AS_CASE([$with_cuda],
    [auto|yes], [AC_PATH_PROG([NVCC], [nvcc], [], [$PATH$PATH_SEPARATOR/usr/local/cuda/bin])],
    [NVCC=$with_cuda/bin/nvcc])
  AS_IF([test -n "$NVCC" && $NVCC --version >/dev/null 2>&1], [
    unetctl_known=`$NVCC --list-gpu-arch 2>/dev/null`
    AS_IF([test -z "$CUDA_ARCHS"], [
      for unetctl_arch in 70 75 80 90 100; do
        AS_IF([AS_ECHO(["$unetctl_known"]) | grep -x "compute_$unetctl_arch" >/dev/null],
              [CUDA_ARCHS="$CUDA_ARCHS${CUDA_ARCHS:+ }$unetctl_arch"])
      done
      CUDA_ARCHS=${CUDA_ARCHS:-70 80 90}
    ])
    NVCC_ARCHS=
    for unetctl_arch in $CUDA_ARCHS; do
      NVCC_ARCHS="$NVCC_ARCHS -gencode arch=compute_$unetctl_arch,code=sm_$unetctl_arch"
    done
    NVCC_ARCHS="$NVCC_ARCHS -gencode arch=compute_$unetctl_arch,code=compute_$unetctl_arch"
    # C in all but name: no C++ library at the link.
    NVCC_FLAGS="-O3 -std=c++17 -Xcompiler -fno-exceptions,-fno-rtti,-fno-threadsafe-statics"
    unetctl_bin=`AS_DIRNAME(["$NVCC"])` && CUDA_ROOT=`cd "$unetctl_bin/.." && pwd -P`
    CUDA_CFLAGS="-isystem $CUDA_ROOT/include"
    CUDA_LIBS="-L$CUDA_ROOT/lib64 -L$CUDA_ROOT/lib -lcudart_static -ldl -lrt -lpthread"
    AC_MSG_CHECKING([whether $NVCC builds for $CUDA_ARCHS and its runtime links])
    cat >conftest.cu <<'_CUDA'
static __global__ void set(int *p) { *p = 1; }
extern "C" int launch(int *p);
extern "C" int launch(int *p) { set<<<1, 1>>>(p); return (int)cudaGetLastError(); }
_CUDA
    unetctl_save_CPPFLAGS=$CPPFLAGS unetctl_save_LIBS=$LIBS
    CPPFLAGS="$CPPFLAGS $CUDA_CFLAGS" LIBS="conftest_cuda.o $CUDA_LIBS $LIBS"
    AS_IF([$NVCC $NVCC_ARCHS $NVCC_FLAGS -c conftest.cu -o conftest_cuda.o \
           >&AS_MESSAGE_LOG_FD 2>&1],
      [AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <cuda_runtime_api.h>
int launch(int *p);]], [[int n; return cudaGetDeviceCount(&n) == cudaSuccess && launch(&n);]])],
        [have_cuda=yes])])
    rm -f conftest.cu conftest_cuda.o
    CPPFLAGS=$unetctl_save_CPPFLAGS LIBS=$unetctl_save_LIBS
    AC_MSG_RESULT([$have_cuda])
  ])
  AS_IF([test $have_cuda = yes],
        [AC_DEFINE_UNQUOTED([CUDA_ROOT], ["$CUDA_ROOT"], [where CUDA was when this was built])
         AC_DEFINE_UNQUOTED([CUDA_ARCHS], ["$CUDA_ARCHS"],
                            [compute capabilities that this was built for, without the dot])],
        [CUDA_CFLAGS= CUDA_LIBS=])
  AC_SUBST([NVCC])
  AC_SUBST([NVCC_ARCHS])
  AC_SUBST([NVCC_FLAGS])
])
