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

dnl UNETCTL_FIND_MPI: flags from the compiler wrapper of Open MPI or MPICH; have_mpi.
AC_DEFUN([UNETCTL_FIND_MPI], [
  AS_CASE([$with_mpi], [auto|yes], [AC_PATH_PROG([MPICC], [mpicc])], [MPICC=$with_mpi/bin/mpicc])
  AS_IF([test -n "$MPICC" && MPI_CFLAGS=`$MPICC --showme:compile 2>/dev/null`],
        [MPI_LIBS=`$MPICC --showme:link 2>/dev/null`],
        [test -n "$MPICC" && MPI_LIBS=`$MPICC -link_info 2>/dev/null | sed 's/^@<:@^ @:>@* //'`],
        [MPI_CFLAGS=`$MPICC -compile_info 2>/dev/null | sed 's/^@<:@^ @:>@* //;s/ -c / /'`])
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
