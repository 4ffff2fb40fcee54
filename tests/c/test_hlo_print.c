/* test_hlo_print.c - printing. Other tests check that the text parses back; what it must look like to others
 * is judged by tests/hlo/test_print.py, which gives what the test "dump" writes to StableHLO's own parser. */
#include "test.h"
#include "hlo_samples.h"

TEST(dump) {
    const char *path = getenv("TT_DUMP_SAMPLES");
    FILE *f = path ? fopen(path, "w") : NULL;
    int n = 0;
    for (int i = 0;; i++) {
        tt_arena *a = tt_arena_create();
        hlo_graph *g = samples_make(a, i);
        tt_status e = g ? hlo_graph_take_error(g) : NULL;
        if (g && !e) {
            tt_str s = {0};
            hlo_print(g, &s);
            CHECK(s.length > 50);
            n++;
            if (f)
                fprintf(f, "%s// -----\n", s.data);
            tt_str_deinit(&s);
        } else if (e && i < N_SAMPLES) {
            fprintf(stderr, "sample %d: %s\n", i, tt_status_text(e));
            CHECK(!"a sample fails to build");
        }
        tt_status_free(e);
        tt_arena_destroy(a);
        if (!g)
            break;
    }
    CHECK(n > 200);
    if (f)
        fclose(f);
}
