/* test_run_view.c - strided views as StableHLO: reads and writes of random views, run by the reference kernels, against a plain
 * loop over addresses. */
#include "engine/ref.h"
#include "hlo/build.h"
#include "run/view.h"
#include "test.h"

enum { RANK = 6, MOST = 4096 };

static uint64_t state = 88172645463325252u;
static int64_t below(int64_t n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int64_t)(state >> 11) % n;
}

typedef struct view { tt_strided v; int64_t dims[RANK], strides[RANK]; } view;

static int64_t count(const view *x) {
    int64_t n = 1;
    for (int i = 0; i < x->v.rank; i++)
        n *= x->dims[i];
    return n;
}

/* The address of the i-th element, in elements. */
static int64_t address(const view *x, int64_t i) {
    int64_t at = x->v.offset;
    for (int d = x->v.rank - 1; d >= 0; d--) {
        at += i % x->dims[d] * x->strides[d];
        i /= x->dims[d];
    }
    return at;
}

static int64_t last_address(const view *x) {
    int64_t at = x->v.offset;
    for (int d = 0; d < x->v.rank; d++)
        at += (x->dims[d] - 1) * x->strides[d];
    return at;
}

static bool overlaps(const view *x) {
    static bool seen[MOST];
    memset(seen, 0, sizeof seen);
    int64_t n = count(x);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = address(x, i);
        if (seen[at])
            return true;
        seen[at] = true;
    }
    return false;
}

static void remove_dim(view *x, int d) {
    for (int i = d; i + 1 < x->v.rank; i++) {
        x->dims[i] = x->dims[i + 1];
        x->strides[i] = x->strides[i + 1];
    }
    x->v.rank--;
}

/* One step of the kind that tensors go through. */
static void narrow(view *x) {
    if (!x->v.rank)
        return;
    int d = (int)below(x->v.rank), e = (int)below(x->v.rank);
    int64_t start, t;
    switch (below(7)) {
    case 0: /* slice */
        start = below(x->dims[d]);
        x->v.offset += start * x->strides[d];
        x->dims[d] = 1 + below(x->dims[d] - start);
        break;
    case 1: /* step */
        t = 1 + below(3);
        x->dims[d] = (x->dims[d] + t - 1) / t;
        x->strides[d] *= t;
        break;
    case 2: /* select */
        x->v.offset += below(x->dims[d]) * x->strides[d];
        remove_dim(x, d);
        break;
    case 3: /* transpose */
        t = x->dims[d], x->dims[d] = x->dims[e], x->dims[e] = t;
        t = x->strides[d], x->strides[d] = x->strides[e], x->strides[e] = t;
        break;
    case 4: /* diagonal */
        if (d == e)
            break;
        x->dims[d] = x->dims[d] < x->dims[e] ? x->dims[d] : x->dims[e];
        x->strides[d] += x->strides[e];
        remove_dim(x, e);
        break;
    case 5: /* expand */
        if (x->v.rank == RANK)
            break;
        x->dims[x->v.rank] = 1 + below(3);
        x->strides[x->v.rank++] = 0;
        break;
    default: /* unfold */
        t = 1 + below(3);
        if (x->v.rank == RANK || t > x->dims[d])
            break;
        start = 1 + below(3);
        x->dims[x->v.rank] = t;
        x->strides[x->v.rank++] = x->strides[d];
        x->dims[d] = (x->dims[d] - t) / start + 1;
        x->strides[d] *= start;
    }
}

static hlo_type random_base(tt_dtype dtype) {
    int64_t dims[4];
    int rank = (int)below(5);
    for (int i = 0; i < rank; i++)
        dims[i] = 1 + below(6);
    return hlo_type_make(dtype, rank, dims);
}

/* A view of memory of n elements: a chain of steps from the base, or any strides at all. */
static void random_view(view *x, const hlo_type *base, int64_t n) {
    memset(x, 0, sizeof *x);
    x->v.dtype = base->dtype;
    if (below(4)) {
        x->v.rank = base->rank;
        int64_t stride = 1;
        for (int i = base->rank - 1; i >= 0; i--) {
            x->dims[i] = base->dims[i];
            x->strides[i] = stride;
            stride *= base->dims[i];
        }
        for (int64_t k = below(6); k > 0; k--)
            narrow(x);
    } else {
        x->v.rank = (int)below(4);
        x->v.offset = below(n);
        for (int i = 0; i < x->v.rank; i++) {
            x->dims[i] = 1 + below(3);
            x->strides[i] = below(9);
        }
        while (last_address(x) >= n) {
            if (!x->v.rank)
                x->v.offset = 0;
            else
                remove_dim(x, (int)below(x->v.rank));
        }
    }
    x->v.dims = x->dims;
    x->v.strides = x->strides;
}

/* Runs a graph of up to three arguments; the result's bytes. */
typedef struct fixture { tt_arena *arena; hlo_graph *g; eng_tensor in[2 + RANK], out[1]; int n_in; } fixture;

static fixture begin(void) {
    fixture f = {.arena = tt_arena_create()};
    f.g = hlo_graph_create(f.arena, "m");
    hlo_func_begin(f.g, "main", true);
    return f;
}

static hlo_ref input(fixture *f, const hlo_type *type, void *data) {
    f->in[f->n_in++] = (eng_tensor){*type, data};
    return hlo_param(f->g, type);
}

static const void *run(fixture *f, hlo_ref result) {
    eng_run r = {.arena = f->arena, .n_devices = 1};
    hlo_return(f->g, 1, &result);
    tt_status error = hlo_graph_take_error(f->g);
    if (!error)
        error = hlo_verify(f->g);
    if (!error)
        error = eng_ref_block(&r, f->g, f->g->funcs[0]->body, f->in, NULL, NULL, f->out);
    if (error)
        fprintf(stderr, "%s\n", tt_status_text(error));
    bool failed = error != NULL;
    tt_status_free(error);
    return failed ? NULL : f->out[0].data;
}

static void describe(const hlo_type *base, const view *x) {
    fprintf(stderr, "base %s[", tt_dtype_name(base->dtype));
    for (int i = 0; i < base->rank; i++)
        fprintf(stderr, " %d", (int)base->dims[i]);
    fprintf(stderr, " ] view %s + %d", tt_dtype_name(x->v.dtype), (int)x->v.offset);
    for (int i = 0; i < x->v.rank; i++)
        fprintf(stderr, " %d:%d", (int)x->dims[i], (int)x->strides[i]);
    fprintf(stderr, "\n");
}

static unsigned char memory[MOST * 16], expected[MOST * 16], update[MOST * 16];

static void fill(unsigned char *at, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i++)
        at[i] = (unsigned char)below(256);
}

/* Finite numbers: arithmetic is not what is tested, but the reference kernels may normalise a NaN. */
static void fill_typed(unsigned char *at, tt_dtype t, int64_t n) {
    fill(at, n * tt_dtype_size(t));
    tt_dtype part = tt_is_complex(t) ? tt_dtype_real(t) : t;
    int size = tt_dtype_size(part);
    for (int64_t i = 0; i < n * tt_dtype_size(t) / size; i++) {
        if (tt_is_float(part))
            tt_element_set(part, at + i * size, (double)below(200) - 100);
        if (part == TT_PRED)
            at[i] &= 1;
    }
}

static bool check_read(const hlo_type *base, const view *x) {
    fixture f = begin();
    hlo_ref y = tt_view_read(f.g, input(&f, base, memory), &x->v);
    const unsigned char *got = run(&f, y);
    int64_t n = count(x), size = tt_dtype_size(x->v.dtype);
    bool good = got != NULL;
    for (int64_t i = 0; i < n && good; i++)
        good = !memcmp(got + i * size, memory + address(x, i) * size, (size_t)size);
    tt_arena_destroy(f.arena);
    return good;
}

static bool check_write(const hlo_type *base, const view *x) {
    hlo_type type = hlo_type_make(x->v.dtype, x->v.rank, x->dims);
    int64_t n = count(x), size = tt_dtype_size(x->v.dtype), bytes = hlo_type_bytes(base);
    fill_typed(update, x->v.dtype, n);
    memcpy(expected, memory, (size_t)bytes);
    for (int64_t i = 0; i < n; i++)
        memcpy(expected + address(x, i) * size, update + i * size, (size_t)size);
    fixture f = begin();
    hlo_ref b = input(&f, base, memory);
    const void *got = run(&f, tt_view_write(f.g, b, &x->v, input(&f, &type, update)));
    bool good = got && !memcmp(got, expected, (size_t)bytes) && hlo_type_equal(&f.out[0].type, base);
    tt_arena_destroy(f.arena);
    return good;
}

TEST(random_views) {
    static const tt_dtype dtypes[] = {TT_F32, TT_F32, TT_U8, TT_I64, TT_BF16, TT_C64, TT_PRED};
    int gathers = 0, bad = 0;
    for (int k = 0; k < 20000 && bad < 5; k++) {
        hlo_type base = random_base(dtypes[below(7)]);
        int64_t n = hlo_type_elements(&base);
        view x;
        random_view(&x, &base, n);
        if (n > MOST || count(&x) > MOST)
            continue;
        fill_typed(memory, base.dtype, n);
        bool good = check_read(&base, &x) && (overlaps(&x) || check_write(&base, &x));
        CHECK(good);
        if (!good) {
            describe(&base, &x);
            bad++;
        }
        gathers++;
    }
    CHECK(gathers > 15000);
}

/* The bytes of one dtype seen as another. */
TEST(dtype_views) {
    static const tt_dtype pairs[][2] = {{TT_F32, TT_I32}, {TT_F32, TT_U8}, {TT_I64, TT_I32}, {TT_I32, TT_I64}, {TT_C64, TT_F32}, {TT_F32, TT_C64},
                                        {TT_U8, TT_I16}, {TT_I16, TT_BF16}, {TT_C64, TT_I64}, {TT_F64, TT_C64}, {TT_I16, TT_U8}};
    int tried = 0, bad = 0;
    for (int k = 0; k < 5000 && bad < 5; k++) {
        const tt_dtype *p = pairs[below(11)];
        hlo_type base = random_base(p[0]);
        int64_t bytes = hlo_type_bytes(&base), n = bytes / tt_dtype_size(p[1]);
        if (!n)
            continue;
        hlo_type flat = hlo_type_make(p[1], 1, &n);
        view x;
        random_view(&x, &flat, n);
        /* whole numbers below 256 in every part: no float among them is a NaN */
        memset(memory, 0, (size_t)bytes);
        for (int64_t i = 0; i < bytes; i += 2)
            memory[i] = (unsigned char)below(100);
        bool good = check_read(&base, &x) && (overlaps(&x) || check_write(&base, &x));
        CHECK(good);
        if (!good) {
            describe(&base, &x);
            bad++;
        }
        tried++;
    }
    CHECK(tried > 2000);
}

/* A program for a block at one place serves the same block at another. */
TEST(moving_blocks) {
    int moved = 0;
    for (int k = 0; k < 20000 && moved < 2000; k++) {
        hlo_type base = random_base(TT_I32);
        int64_t n = hlo_type_elements(&base), starts[HLO_MAX_RANK], there[HLO_MAX_RANK], extent[HLO_MAX_RANK], stride = 1, units[HLO_MAX_RANK];
        view x;
        int dims[HLO_MAX_RANK];
        random_view(&x, &base, n);
        int m = tt_view_moves(&x.v, &base, dims, starts);
        if (!m || overlaps(&x))
            continue;
        for (int d = base.rank - 1; d >= 0; d--) {
            units[d] = stride;
            stride *= base.dims[d];
        }
        view y = x;
        y.v.dims = y.dims;
        y.v.strides = y.strides;
        for (int i = 0; i < m; i++) {
            extent[i] = 1;
            for (int d = 0; d < x.v.rank; d++)
                if (x.dims[d] > 1 && x.strides[d] == units[dims[i]])
                    extent[i] = x.dims[d];
            there[i] = below(base.dims[dims[i]] - extent[i] + 1);
            y.v.offset += (there[i] - starts[i]) * units[dims[i]];
        }
        fill(memory, n * 4);
        fixture f = begin();
        hlo_ref at[HLO_MAX_RANK] = {0}, b = input(&f, &base, memory);
        hlo_type scalar = hlo_type_make(TT_I64, 0, NULL), type = hlo_type_make(TT_I32, x.v.rank, x.dims);
        for (int i = 0; i < m; i++)
            at[dims[i]] = input(&f, &scalar, &there[i]);
        bool write = below(2);
        hlo_ref r = write ? tt_view_write_at(f.g, b, &x.v, input(&f, &type, update), at) : tt_view_read_at(f.g, b, &x.v, at);
        fill(update, count(&x) * 4);
        memcpy(expected, memory, (size_t)n * 4);
        const int32_t *got = run(&f, r), *in = (const int32_t *)(void *)memory;
        bool good = got != NULL;
        for (int64_t i = 0; i < count(&y) && good; i++) {
            if (write)
                memcpy(expected + 4 * address(&y, i), update + 4 * i, 4);
            else
                good = got[i] == in[address(&y, i)];
        }
        CHECK(good && (!write || !memcmp(got, expected, (size_t)n * 4)));
        tt_arena_destroy(f.arena);
        moved++;
    }
    CHECK(moved == 2000);
}
