/* ttc.h - the developer's tool: its table of subcommands and what they share. A subcommand is a row here and a function
 * `int ttc_NAME(int argc, char **argv)` in a file of its own, ttc_NAME.c (argv[0] is NAME; returns the exit status). */
#ifndef TTC_H
#define TTC_H
#include "base/status.h"
#include "hlo/text.h"

/* X(name, arguments, what it does) */
#define TTC_COMMANDS(X)                                                                    \
    X(print, "FILE...", "parse StableHLO and print it in the generic form")                \
    X(verify, "FILE...", "parse and verify; says what is wrong with each program")         \
    X(ops, "", "list the ops of tables/hlo.def")                                           \
    X(run, "FILE [--plugin P] [--arg FILE.npy]...", "run a program once and print its results")  \
    X(check, "DIR|FILE... [--kernels reference|fast|both]", "run self-checking programs")  \
    X(diff, "A B FILE", "name the first op whose value differs between two plugins")       \
    X(aot, "--plugin LIBTPU.so --topology v5e:1x1,... FILE...", "compile for TPUs with no TPU present")

#define X(name, arguments, help) int ttc_##name(int argc, char **argv);
TTC_COMMANDS(X)
#undef X

/* The whole file ("-": standard input), NUL-terminated; the caller frees it. */
TT_MUST_CHECK tt_status ttc_read_file(const char *path, char **out_text, size_t *out_length);
/* Prints "ttc: context: message" and frees the error. Returns 1. */
int ttc_fail(const char *context, tt_status error);
bool ttc_blank(const char *text, size_t length);   /* nothing but comments and space */
/* Calls each for all programs ("// -----" between them) of a file, in an arena that lives as long as the call. A program that
 * fails to parse is reported. Returns how many programs failed. */
typedef tt_status ttc_program_fn(void *context, const char *path, int index, hlo_graph *g);
int ttc_each_program(const char *path, ttc_program_fn *each, void *context);
#endif
