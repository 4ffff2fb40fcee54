/* test.h - a tiny runner. Each test file is a program: TEST(name) { CHECK(...); } and nothing else.
 *
 * `./test_x` runs all, `./test_x NAME ...` some, `./test_x --list` names them. A failed CHECK is printed and counted,
 * the test goes on; the exit status is 1 when anything failed. */
#ifndef TT_TEST_H
#define TT_TEST_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct test_case {
    const char *name;
    void (*run)(void);
    struct test_case *next;
} test_case;

static test_case *test_first, **test_last = &test_first;
static int test_failures, test_argc;
static char **test_argv;

#define TEST(name)                                                                     \
    static void test_##name(void);                                                     \
    static test_case case_##name = {#name, test_##name, NULL};                         \
    __attribute__((constructor)) static void add_##name(void) {                        \
        *test_last = &case_##name;                                                     \
        test_last = &case_##name.next;                                                 \
    }                                                                                  \
    static void test_##name(void)

#define CHECK(...)                                                                      \
    do {                                                                                \
        if (!(__VA_ARGS__)) {                                                           \
            test_failures++;                                                            \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #__VA_ARGS__);   \
        }                                                                               \
    } while (0)

#define CHECK_TEXT(have, want)                                                          \
    do {                                                                                \
        const char *have_ = (have), *want_ = (want);                                    \
        if (strcmp(have_, want_)) {                                                     \
            test_failures++;                                                            \
            fprintf(stderr, "%s:%d: failed:\n  have %s\n  want %s\n", __FILE__, __LINE__, have_, want_); \
        }                                                                               \
    } while (0)

#define CHECK_OK(expr)                                                                  \
    do {                                                                                \
        tt_status status_ = (expr);                                                     \
        if (status_) {                                                                  \
            test_failures++;                                                            \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #expr, tt_status_text(status_)); \
            tt_status_free(status_);                                                    \
        }                                                                               \
    } while (0)

/* How many rounds of random cases: TT_FUZZ instead of the usual; TT_SEED starts the random numbers elsewhere. */
#define TEST_SEED 88172645463325252ull
__attribute__((unused)) static int test_rounds(int usual, uint64_t *seed) {
    const char *count = getenv("TT_FUZZ"), *start = getenv("TT_SEED");
    if (start)
        *seed = TEST_SEED ^ strtoull(start, NULL, 0) << 20;
    return count ? atoi(count) : usual;
}

int main(int argc, char **argv) {
    int passed = 0, failed = 0;
    test_argc = argc;
    test_argv = argv;
    for (test_case *c = test_first; c; c = c->next) {
        int wanted = argc < 2;
        if (argc > 1 && !strcmp(argv[1], "--list")) {
            puts(c->name);
            continue;
        }
        for (int i = 1; i < argc; i++)
            wanted |= !strcmp(argv[i], c->name);
        if (!wanted)
            continue;
        int before = test_failures;
        c->run();
        if (test_failures > before) {
            failed++;
            printf("FAIL %s\n", c->name);
        } else {
            passed++;
        }
    }
    if (argc < 2 || strcmp(argv[1], "--list"))
        printf("%d passed, %d failed\n", passed, failed);
    return failed != 0 || (argc > 1 && strcmp(argv[1], "--list") && !passed);
}
#endif
