/* fast_fft.c - stablehlo.fft in the type of its operand, any length in n log n. fft_lines.h has the transforms; here are their plans (roots of
 * unity, kept from call to call) and the order of an array's dims. */
#include "engine/fast.h"
#include "engine/fast_gemm.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FACTOR = 61, MOST_FACTORS = 48, COARSE = 32 };
enum { ROWS_LEAST = 64, ROWS_MOST = 1 << 15, ACROSS_MOST = 1 << 13, MANY_SHORT = 256 };
enum { MOST_KEPT = 64 << 20 }; /* bytes of plans */

/* SIDE: lines side by side. ROWS: a line as rows. LONG: a line as rows side by side. CHIRP: a convolution of length first->n. */
typedef enum fft_kind { FFT_ANY, FFT_SIDE, FFT_ROWS, FFT_LONG, FFT_CHIRP } fft_kind;

typedef struct fft_plan {
    int64_t n;
    fft_kind kind;
    bool wide, kept, chosen;              /* chosen: the kind was not asked for */
    int n_factors;
    int64_t factors[MOST_FACTORS];
    void *turns[MOST_FACTORS];            /* of odd factors: cos[r], sin[r] of 2 pi k / r */
    void *roots;                          /* exp(-2 pi i k / n): re[n], im[n] */
    const struct fft_plan *first, *second; /* n = n1 n2 */
    void *twiddles;                       /* ROWS: exp(-2 pi i j k / n) of row j, lane k */
    double *coarse, *fine;                /* LONG: exp(-2 pi i k / n) = coarse[k / fine_n] fine[k % fine_n] */
    int64_t fine_n;
    void *chirp, *filter;                 /* CHIRP: exp(-pi i k^2 / n); the transform of its conjugate */
    size_t bytes;
    struct fft_plan *next;
} fft_plan;

typedef enum fft_parts { WHOLLY, FROM_REAL, TO_REAL } fft_parts; /* complex lines, or pairs of real ones */
typedef struct fft_dim { const fft_plan *plan; const void *x; void *y; int64_t outer, inner; fft_parts kind; bool inverse; } fft_dim;

#define REAL    float
#define NAME(x) x##_f32
#include "engine/fft_lines.h"
#undef REAL
#undef NAME
#define REAL    double
#define NAME(x) x##_f64
#include "engine/fft_lines.h"
#undef REAL
#undef NAME

/* ---- plans ---- */

static void *numbers(fft_plan *f, int64_t n) {
    const size_t bytes = (size_t)n * (f->wide ? 8 : 4);
    f->bytes += bytes;
    return tt_calloc(1, bytes + 64);
}

static void set(const fft_plan *f, void *list, int64_t i, double value) {
    if (f->wide)
        ((double *)list)[i] = value;
    else
        ((float *)list)[i] = (float)value;
}

/* exp(-2 pi i k / n) */
static double root(int64_t k, int64_t n, bool imaginary) {
    const double angle = 2 * M_PI * (double)(k % n) / (double)n;
    return imaginary ? -sin(angle) : cos(angle);
}

/* Powers of two by 8 and 4; false: a prime is too large. */
static bool factorise(fft_plan *f) {
    int64_t left = f->n;
    int twos = 0;
    f->n_factors = 0;
    for (; left % 2 == 0; left /= 2)
        twos++;
    for (; twos >= 3 && twos != 4; twos -= 3)
        f->factors[f->n_factors++] = 8;
    for (; twos >= 2; twos -= 2)
        f->factors[f->n_factors++] = 4;
    if (twos)
        f->factors[f->n_factors++] = 2;
    for (int64_t p = 3; left > 1 && p <= MOST_FACTOR; p += 2)
        for (; left % p == 0; left /= p)
            f->factors[f->n_factors++] = p;
    return left == 1;
}

static void fill_roots(fft_plan *f) {
    f->roots = numbers(f, 2 * f->n);
    for (int64_t k = 0; k < f->n; k++) {
        set(f, f->roots, k, root(k, f->n, false));
        set(f, f->roots, f->n + k, root(k, f->n, true));
    }
    for (int i = 0; i < f->n_factors; i++) {
        const int64_t r = f->factors[i];
        f->turns[i] = r % 2 ? numbers(f, 2 * r) : NULL;
        for (int64_t k = 0; k < r && r % 2; k++) {
            set(f, f->turns[i], k, root(k, r, false));
            set(f, f->turns[i], r + k, -root(k, r, true));
        }
    }
}

static int64_t padded(const fft_plan *f, int64_t n) {
    return f->wide ? padded_f64(n) : padded_f32(n);
}

/* n = n1 n2 with the fewest idle lanes, then the most alike; returns the lanes in use and idle. */
static int64_t split(const fft_plan *f, int64_t *out_first) {
    int64_t best = INT64_MAX, lanes = 0;
    for (int64_t a = 1; a * a <= f->n; a++) {
        if (f->n % a)
            continue;
        const int64_t b = f->n / a, here = a * padded(f, b) + b * padded(f, a), cost = here + a + b;
        if (cost < best) {
            best = cost;
            lanes = here;
            *out_first = a;
        }
    }
    return lanes;
}

static const fft_plan *plan_find(int64_t n, bool wide, fft_kind kind);

static void plan_rows(fft_plan *f) {
    const int64_t n1 = f->first->n, p2 = padded(f, f->second->n);
    f->twiddles = numbers(f, 2 * n1 * p2);
    for (int64_t j = 0; j < n1; j++)
        for (int64_t k = 0; k < p2; k++) {
            set(f, f->twiddles, j * p2 + k, root(j * k, f->n, false));
            set(f, f->twiddles, (n1 + j) * p2 + k, root(j * k, f->n, true));
        }
}

static void plan_long(fft_plan *f) {
    f->fine_n = (int64_t)sqrt((double)f->n) + 1;
    const int64_t coarse = f->n / f->fine_n + 1;
    f->fine = tt_malloc(sizeof *f->fine * 2 * (size_t)(f->fine_n + coarse));
    f->coarse = f->fine + 2 * f->fine_n;
    f->bytes += sizeof *f->fine * 2 * (size_t)(f->fine_n + coarse);
    for (int64_t k = 0; k < f->fine_n + coarse; k++)
        for (int i = 0; i < 2; i++)
            f->fine[2 * k + i] = root(k < f->fine_n ? k : (k - f->fine_n) * f->fine_n, f->n, i);
}

static void plan_chirp(fft_plan *f) {
    const int64_t n = f->n, m = f->first->n;
    f->chirp = numbers(f, 2 * n);
    f->filter = numbers(f, 2 * m);
    for (int64_t k = 0; k < n; k++)
        for (int i = 0; i < 2; i++) {
            const double c = root((int64_t)((uint64_t)k * (uint64_t)k % (uint64_t)(2 * n)), 2 * n, i);
            set(f, f->chirp, 2 * k + i, c);
            set(f, f->filter, 2 * k + i, i ? -c : c);
            set(f, f->filter, 2 * ((m - k) % m) + i, i ? -c : c);
        }
    void *room = aligned_alloc(64, (size_t)((f->wide ? room_f64(f->first) : room_f32(f->first)) * 8 + 63) / 64 * 64);
    if (!room)
        abort();
    if (f->wide)
        line_f64(f->first, f->filter, f->filter, false, 1, room);
    else
        line_f32(f->first, f->filter, f->filter, false, 1, room);
    free(room);
}

static fft_plan *plan_make(int64_t n, bool wide, fft_kind kind) {
    fft_plan *f = tt_calloc(1, sizeof *f);
    int64_t n1 = 1;
    *f = (fft_plan){.n = n, .wide = wide, .kind = kind, .chosen = kind == FFT_ANY, .bytes = sizeof *f};
    if (!factorise(f)) {
        int64_t m = ROWS_LEAST;
        while (m < 2 * n - 1)
            m *= 2;
        f->kind = FFT_CHIRP;
        f->first = plan_find(m, wide, FFT_ANY);
        plan_chirp(f);
        return f;
    }
    const int64_t lanes = split(f, &n1);
    if (kind == FFT_ANY)
        f->kind = n > ROWS_MOST ? FFT_LONG : n >= ROWS_LEAST && lanes < 6 * n ? FFT_ROWS : FFT_SIDE;
    if (f->kind == FFT_SIDE) {
        fill_roots(f);
        return f;
    }
    f->first = plan_find(n1, wide, FFT_SIDE);
    f->second = plan_find(n / n1, wide, FFT_SIDE);
    f->kind == FFT_ROWS ? plan_rows(f) : plan_long(f);
    return f;
}

static struct { pthread_mutex_t lock; fft_plan *plans; size_t bytes; } cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void plan_drop(const fft_plan *plan) {
    fft_plan *f = (fft_plan *)(uintptr_t)plan;
    if (!f || f->kept)
        return;
    plan_drop(f->first);
    plan_drop(f->second);
    for (int i = 0; i < f->n_factors; i++)
        free(f->turns[i]);
    free(f->roots), free(f->twiddles), free(f->fine), free(f->chirp), free(f->filter), free(f);
}

/* Under the lock. Plans stay while there is room for them; then new ones are their caller's, to drop. */
static const fft_plan *plan_find(int64_t n, bool wide, fft_kind kind) {
    for (fft_plan *f = cache.plans; f; f = f->next)
        if (f->n == n && f->wide == wide && (kind == FFT_ANY ? f->chosen : f->kind == kind))
            return f;
    fft_plan *f = plan_make(n, wide, kind);
    f->kept = cache.bytes + f->bytes <= MOST_KEPT && (!f->first || f->first->kept) && (!f->second || f->second->kept);
    if (f->kept) {
        cache.bytes += f->bytes;
        f->next = cache.plans;
        cache.plans = f;
    }
    return f;
}

static const fft_plan *plan_get(int64_t n, bool wide, fft_kind kind) {
    pthread_mutex_lock(&cache.lock);
    const fft_plan *f = plan_find(n, wide, kind);
    pthread_mutex_unlock(&cache.lock);
    return f;
}

/* ---- the op ---- */

/* One dim of an array of `dims` (in full, of a real line its length); y may be x. */
static void run_dim(const void *x, void *y, const int64_t *dims, int rank, int dim, fft_parts kind, bool inverse, bool wide) {
    fft_dim d = {.x = x, .y = y, .outer = 1, .inner = 1, .kind = kind, .inverse = inverse};
    const int64_t n = dims[dim];
    for (int i = 0; i < rank; i++)
        *(i < dim ? &d.outer : &d.inner) *= i == dim ? 1 : dims[i];
    d.plan = plan_get(n, wide, FFT_ANY);
    if (d.inner >= 4 && n <= ACROSS_MOST && d.plan->kind != FFT_CHIRP) {
        plan_drop(d.plan);
        d.plan = plan_get(n, wide, FFT_SIDE);
    }
    const int64_t lanes = wide ? 8 : 16;
    if (d.inner == 1 && n <= MANY_SHORT && d.outer >= 4 * lanes && d.plan->kind == FFT_ROWS) {
        plan_drop(d.plan);
        d.plan = plan_get(n, wide, FFT_SIDE);
    }
    const int64_t side = d.plan->kind == FFT_SIDE ? lanes : 1;
    const int64_t items = kind != WHOLLY ? (d.outer + 1) / 2 : d.inner == 1 ? d.outer : d.outer * ((d.inner + lanes - 1) / lanes);
    const int64_t work = n * (d.inner > 1 ? lanes : 1), grain = loop_max(1, (1 << 14) / work);
    fast_ranges(items, d.inner > 1 ? grain : (grain + side - 1) / side * side, wide ? dim_range_f64 : dim_range_f32, &d);
    plan_drop(d.plan);
}

tt_status eng_fast_fft(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in, eng_tensor *out) {
    const char *type = hlo_attr_text(node, HLO_A_FFT_TYPE, "FFT");
    const hlo_ints lengths = hlo_attr_ints(node, HLO_A_FFT_LENGTH);
    const int rank = in->type.rank, n = lengths.n;
    const bool inverse = !strcmp(type, "IFFT") || !strcmp(type, "IRFFT"), to_real = !strcmp(type, "IRFFT"), from_real = !strcmp(type, "RFFT");
    const bool wide = in->type.dtype == TT_C128 || in->type.dtype == TT_F64;
    const tt_dtype cplx = wide ? TT_C128 : TT_C64, real = wide ? TT_F64 : TT_F32;
    (void)run, (void)g;
    if (n < 1 || n > rank || out->type.rank != rank || in->type.dtype != (from_real ? real : cplx) || out->type.dtype != (to_real ? real : cplx) ||
        !hlo_type_elements(&in->type) || !hlo_type_elements(&out->type))
        return eng_not_mine;
    hlo_type full = from_real ? in->type : out->type, half = from_real ? out->type : in->type;
    for (int i = 0; i < n; i++)
        if (full.dims[rank - n + i] != lengths.v[i])
            return eng_not_mine;
    if ((from_real || to_real) && half.dims[rank - 1] != full.dims[rank - 1] / 2 + 1)
        return eng_not_mine;
    const void *x = in->data;
    void *between = to_real && n > 1 ? tt_malloc((size_t)hlo_type_bytes(&half)) : NULL, *y = between ? between : out->data;
    if (from_real) {
        run_dim(x, y, full.dims, rank, rank - 1, FROM_REAL, false, wide);
        x = y;
    }
    for (int d = rank - 1 - (from_real || to_real); d >= rank - n; d--, x = y)
        run_dim(x, y, half.dims, rank, d, WHOLLY, inverse, wide);
    if (to_real)
        run_dim(x, out->data, full.dims, rank, rank - 1, TO_REAL, true, wide);
    free(between);
    return TT_OK;
}
