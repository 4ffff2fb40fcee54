/* ttc_text.c - subcommands on StableHLO text: print, verify, ops. */
#include "tool/ttc.h"
#include <stdio.h>

static tt_status print_program(void *context, const char *path, int index, hlo_graph *g) {
    (void)context, (void)path;
    tt_str s = {0};
    hlo_print(g, &s);
    printf("%s%s", index ? "// -----\n" : "", s.data);
    tt_str_deinit(&s);
    return TT_OK;
}

int ttc_print(int argc, char **argv) {
    int failed = 0;
    for (int i = 1; i < argc; i++)
        failed += ttc_each_program(argv[i], print_program, NULL);
    return failed != 0;
}

static tt_status verify_program(void *context, const char *path, int index, hlo_graph *g) {
    (void)path, (void)index;
    TT_TRY(hlo_verify(g));
    ++*(int *)context;
    return TT_OK;
}

int ttc_verify(int argc, char **argv) {
    int good = 0, failed = 0;
    for (int i = 1; i < argc; i++)
        failed += ttc_each_program(argv[i], verify_program, &good);
    printf("%d programs verified, %d failed\n", good, failed);
    return failed != 0;
}

int ttc_ops(int argc, char **argv) {
    (void)argc, (void)argv;
    static const char *const traits[] = {"elementwise", "commutative", "effect", "regions", "results"};
    for (int op = 1; op < HLO_N_OPS; op++) {
        unsigned flags = hlo_op_flags((hlo_op)op);
        if (flags & HLO_F_PSEUDO)
            continue;
        printf("%-40s", hlo_op_text((hlo_op)op));
        if (hlo_op_operands((hlo_op)op) < 0)
            printf(" any");
        else
            printf(" %3d", hlo_op_operands((hlo_op)op));
        for (int k = 0; k < 5; k++)
            if (flags >> k & 1)
                printf(" %s", traits[k]);
        printf("\n");
    }
    return 0;
}
