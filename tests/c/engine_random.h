/* engine_random.h - random numbers, random data, and whole programs run by the engine without PJRT: by its reference kernels or its fast
 * ones. For tests that hold the one against the other. */
#ifndef ENGINE_RANDOM_H
#define ENGINE_RANDOM_H
#include "engine/isa.h"
#include "engine/program.h"
#include "hlo/build.h"
#include "hlo/text.h"
#include "test.h"
#include <math.h>

static uint64_t seed = TEST_SEED;
static uint32_t rnd(uint32_t n) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (uint32_t)((seed * 2685821657736338717ull) >> 33) % n;
}
static int64_t between(int64_t low, int64_t high) { return low + (int64_t)rnd((uint32_t)(high - low + 1)); }

__attribute__((unused)) static int rounds(int usual) { return test_rounds(usual, &seed); }

/* Numbers that sums and products keep exact; numbers up to 4; up to 1; any bits; and those with NaN, infinities, zeros of both signs, the smallest and the
 * largest among them. */
typedef enum data { WHOLE, PLAIN, SMALL, BITS, ODD } data;

static void any_bits(tt_dtype d, char *p, int size) {
    uint64_t u = (uint64_t)rnd(1u << 31) << 33 ^ (uint64_t)rnd(1u << 31) << 15 ^ rnd(1u << 31);
    memcpy(p, &u, (size_t)size);
    if (isnan(tt_element_get(d, p))) /* signalling ones become quiet somewhere on their way */
        tt_element_set(d, p, NAN);
}

__attribute__((unused)) static void fill(tt_dtype d, char *p, int64_t n, data kind) {
    static const double odd[] = {NAN, INFINITY, -INFINITY, -0.0, 0, 1e-40, -1e-45, 1e-310};
    tt_dtype part = tt_dtype_real(d);
    int size = tt_dtype_size(part);
    n *= tt_dtype_size(d) / size;
    for (int64_t i = 0; i < n; i++, p += size) {
        if (part == TT_PRED)
            *p = (char)rnd(2);
        else if (tt_is_int(part) && (kind == BITS || (kind == ODD && rnd(5) == 0)))
            tt_element_set_int(part, p, rnd(2) ? (int64_t)(((uint64_t)1 << rnd(64)) - (uint64_t)rnd(2)) : (int64_t)((uint64_t)rnd(1u << 31) << 33 | rnd(1u << 31)));
        else if (tt_is_int(part))
            tt_element_set_int(part, p, between(-8, 8));
        else if (kind == ODD && rnd(12) == 0)
            tt_element_set(part, p, odd[rnd(8)]);
        else if (kind == BITS)
            any_bits(part, p, size);
        else if (kind == SMALL)
            tt_element_set(part, p, (double)between(-32, 32) / 32);
        else
            tt_element_set(part, p, kind == WHOLE ? (double)between(-8, 8) : (double)between(-2000, 2000) / 500);
    }
}

typedef struct outcome {
    int n;
    eng_tensor results[8];
    tt_status error;
} outcome;

__attribute__((unused)) static void outcome_free(outcome *o) {
    for (int i = 0; i < o->n; i++)
        free(o->results[i].data);
    tt_status_free(o->error);
}

/* Runs the program with copies of the arguments. */
__attribute__((unused)) static outcome run_program(const tt_str *text, bool reference, void *const *arguments) {
    outcome o = {0};
    eng_program *p = NULL;
    o.error = eng_program_create(text->data, (size_t)text->length, reference, false, &p);
    if (o.error)
        return o;
    void *params[16] = {NULL}, *results[8] = {NULL};
    for (int i = 0; i < p->n_params; i++) {
        size_t bytes = (size_t)hlo_type_bytes(p->param_types[i]);
        params[i] = aligned_alloc(64, (bytes + 127) & ~(size_t)63);
        memcpy(params[i], arguments[i], bytes);
    }
    o.n = p->n_results;
    for (int i = 0; i < p->n_results; i++) {
        size_t bytes = (size_t)hlo_type_bytes(p->result_types[i]);
        o.results[i] = (eng_tensor){*p->result_types[i], aligned_alloc(64, (bytes + 127) & ~(size_t)63)};
        memset(o.results[i].data, 0x55, bytes);
        results[i] = p->result_in_param[i] < 0 ? o.results[i].data : params[p->result_in_param[i]];
    }
    void *slab = aligned_alloc(64, ((size_t)p->slab_bytes + 127) & ~(size_t)63);
    memset(slab, 0x77, (size_t)p->slab_bytes);
    eng_frame *frame = eng_frame_create(p);
    eng_run run = {.arena = tt_arena_create(), .n_devices = 1, .reference = reference, .rows = calloc((size_t)p->n_rows + 1, sizeof *run.rows)};
    o.error = eng_program_run(p, frame, &run, params, results, slab);
    for (int k = 0; k < p->n_rows; k++)
        free(run.rows[k]);
    free(run.rows);
    for (int i = 0; i < p->n_results; i++)
        if (p->result_in_param[i] >= 0)
            memcpy(o.results[i].data, results[i], (size_t)hlo_type_bytes(p->result_types[i]));
    tt_arena_destroy(run.arena);
    eng_frame_destroy(frame);
    free(slab);
    for (int i = 0; i < p->n_params; i++)
        free(params[i]);
    eng_program_destroy(p);
    return o;
}

/* A tolerance of 0: the same bits, but any NaN is any other. Else relative to what is wanted, and to 1. */
__attribute__((unused)) static bool element_near(tt_dtype d, const char *a, const char *b, double tolerance) {
    if (tt_is_complex(d)) {
        tt_dtype part = tt_dtype_real(d);
        return element_near(part, a, b, tolerance) && element_near(part, a + tt_dtype_size(part), b + tt_dtype_size(part), tolerance);
    }
    if (!memcmp(a, b, (size_t)tt_dtype_size(d)))
        return true;
    if (!tt_is_float(d))
        return false;
    double x = tt_element_get(d, a), y = tt_element_get(d, b);
    return (isnan(x) && isnan(y)) || (tolerance > 0 && (x == y || fabs(x - y) <= tolerance * (fabs(y) + 1)));
}

/* Data for each parameter of the entry function; into 16 places at most. */
static void arguments_make(const hlo_graph *g, data kind, void **arguments) {
    const hlo_block *body = g->funcs[0]->body;
    for (int i = 0; i < body->n_params; i++) {
        const hlo_type *t = hlo_type_of(g, body->params[i]);
        arguments[i] = malloc((size_t)hlo_type_bytes(t) + 1);
        fill(t->dtype, arguments[i], hlo_type_elements(t), kind);
    }
}

static void arguments_free(const hlo_graph *g, void **arguments) {
    for (int i = 0; i < g->funcs[0]->body->n_params; i++)
        free(arguments[i]);
}

/* Builds the entry function's text, runs it both ways on the same data and compares. False when the reference refuses the program. */
__attribute__((unused)) static bool compare_program(hlo_graph *g, const char *what, data kind, const double *tolerance, bool *out_right) {
    tt_str text = {0};
    void *arguments[16];
    tt_status error = hlo_graph_take_error(g);
    bool good = *out_right = !error;
    CHECK_OK(error);
    if (!good)
        return false;
    hlo_print(g, &text);
    arguments_make(g, kind, arguments);
    outcome want = run_program(&text, true, arguments), have = run_program(&text, false, arguments);
    bool right = !want.error == !have.error;
    if (right && want.error)
        right = !strcmp(tt_status_message(want.error), tt_status_message(have.error));
    if (!right)
        fprintf(stderr, "%s: reference %s, fast %s\n", what, want.error ? tt_status_text(want.error) : "runs", have.error ? tt_status_text(have.error) : "runs");
    for (int k = 0; k < want.n && k < have.n && right && !want.error; k++) {
        tt_dtype d = want.results[k].type.dtype;
        int size = tt_dtype_size(d);
        for (int64_t i = 0; i < hlo_type_elements(&want.results[k].type) && right; i++) {
            const char *a = (char *)have.results[k].data + i * size, *b = (char *)want.results[k].data + i * size;
            right = element_near(d, a, b, tolerance ? tolerance[k] : 0);
            if (!right)
                fprintf(stderr, "%s, level %s: result %d, element %lld: %.9g, expected %.9g\n", what, eng_isa_name(eng_isa_level()), k, (long long)i,
                        tt_element_get(tt_dtype_real(d), a), tt_element_get(tt_dtype_real(d), b));
        }
    }
    if (!right)
        fprintf(stderr, "%s\n", text.length < 9000 ? text.data : "(a long program)");
    CHECK(right);
    *out_right = right;
    bool ran = !want.error;
    outcome_free(&want);
    outcome_free(&have);
    arguments_free(g, arguments);
    tt_str_deinit(&text);
    return ran;
}

/* ---- the same for any number of threads: digests of what programs give, printed by a process for each number ---- */
__attribute__((unused)) static void print_digest(hlo_graph *g, int number) {
    tt_str text = {0};
    void *arguments[16];
    uint64_t h = 0;
    CHECK_OK(hlo_graph_take_error(g));
    hlo_print(g, &text);
    arguments_make(g, PLAIN, arguments);
    outcome o = run_program(&text, false, arguments);
    for (int k = 0; k < o.n; k++)
        for (int64_t i = 0; i < hlo_type_bytes(&o.results[k].type); i++)
            h = (h ^ ((uint8_t *)o.results[k].data)[i]) * 0x100000001b3ull;
    printf("%d %016llx %s\n", number, (unsigned long long)h, o.error ? tt_status_message(o.error) : "");
    if (getenv("TT_SHOW") && atoi(getenv("TT_SHOW")) == number)
        printf("%s\n", text.data);
    outcome_free(&o);
    arguments_free(g, arguments);
    tt_str_deinit(&text);
}

static char *read_digests(const char *test, int threads) {
    char command[700], line[4096];
    const char *wrapper = getenv("MESON_EXE_WRAPPER"); /* what runs programs of another processor */
    snprintf(command, sizeof command, "TT_DIGESTS=1 TORCH_TPU_THREADS=%d %s %s %s", threads, wrapper ? wrapper : "", test_argv[0], test);
    FILE *f = popen(command, "r");
    tt_str text = {0};
    while (f && fgets(line, sizeof line, f))
        tt_str_puts(&text, line);
    CHECK(f && pclose(f) == 0);
    return tt_str_take(&text);
}

__attribute__((unused)) static void compare_digests(const char *test) {
    static const int counts[] = {2, 3, 7};
    char *one = read_digests(test, 1);
    CHECK(strlen(one) > 1000);
    for (int i = 0; i < 3; i++) {
        char *other = read_digests(test, counts[i]);
        if (strcmp(one, other)) {
            const char *a = one, *b = other;
            while (*a && *a == *b)
                a++, b++;
            while (a > one && a[-1] != '\n')
                a--, b--;
            fprintf(stderr, "with %d threads: %.60s\nwith one: %.60s\n", counts[i], b, a);
        }
        CHECK(!strcmp(one, other));
        free(other);
    }
    free(one);
}
#endif
