/* fast_resample.c - the composites tt.resample, planes whose rows and columns are weighted sums of few others, and tt.pick. Part of
 * composite.c; knows no graph. Either the columns of every row that is needed are summed first, or the rows: whichever is less work. */
#include "engine/composite.h"
#include "engine/fast.h"
#include <string.h>

typedef struct axis { int64_t in, out, taps, span; const int32_t *at; const float *weight; bool same; } axis;

typedef struct resampling {
    axis rows, columns;
    int64_t planes, band, bands;          /* rows of the result in a task, tasks of a plane */
    bool rows_first;
    tt_dtype dtype;
    int size;
    const char *x;
    char *y;
    const eng_kernels *kernels;
} resampling;

/* Checks the places; finds how far apart those of one output may lie. */
static bool axis_read(axis *a, const eng_tensor *at, const eng_tensor *weight, int64_t in) {
    *a = (axis){.in = in, .taps = at->type.dims[0], .out = at->type.dims[1], .at = at->data, .weight = weight->data, .span = 1};
    a->same = a->in == a->out && a->taps == 1;
    for (int64_t o = 0; o < a->out; o++) {
        int64_t least = in, most = -1;
        for (int64_t i = o; i < a->taps * a->out; i += a->out) {
            if (a->at[i] >= in)
                return false;
            least = a->at[i] >= 0 ? eng_min(least, a->at[i]) : least;
            most = eng_max(most, a->at[i]);
            a->same = a->same && a->at[i] == o && a->weight[i] == 1;
        }
        a->span = eng_max(a->span, most - least + 1);
    }
    return true;
}

typedef struct room { float *wide, *lines, *sum; const float **list; float *weights; int64_t *held; } room;

/* Row h of the plane as f32. */
static const float *row_of(const resampling *p, const char *plane, int64_t h, float *wide) {
    const char *row = plane + h * p->columns.in * p->size;
    if (p->dtype == TT_F32)
        return (const float *)(const void *)row;
    p->kernels->widen(p->dtype, wide, row, p->columns.in);
    return wide;
}

/* Lines are rows of the plane, with their columns summed already unless rows come first; the last `span` of them are kept. */
static const float *line_of(const resampling *p, const char *plane, int64_t h, const room *r) {
    const axis *c = &p->columns;
    const bool as_is = p->rows_first || c->same;
    if (as_is && p->dtype == TT_F32)
        return row_of(p, plane, h, NULL);
    const int64_t slot = h % p->rows.span;
    float *line = r->lines + slot * (as_is ? c->in : c->out);
    if (r->held[slot] == h)
        return line;
    r->held[slot] = h;
    const float *row = row_of(p, plane, h, as_is ? line : r->wide);
    if (!as_is)
        p->kernels->pick_row(row, c->taps, c->at, c->weight, c->out, line);
    return line;
}

static void band_run(const resampling *p, int64_t plane, int64_t first, int64_t last, const room *r) {
    const axis *rows = &p->rows, *c = &p->columns;
    const char *x = p->x + plane * rows->in * c->in * p->size;
    char *y = p->y + (plane * rows->out + first) * c->out * p->size;
    for (int64_t i = 0; i < rows->span; i++)
        r->held[i] = -1;
    for (int64_t o = first; o < last; o++, y += c->out * p->size) {
        int64_t n = 0;
        for (int64_t i = o; i < rows->taps * rows->out; i += rows->out)
            if (rows->at[i] >= 0) {
                r->weights[n] = rows->weight[i];
                r->list[n++] = line_of(p, x, rows->at[i], r);
            }
        float *sum = p->dtype == TT_F32 ? (float *)(void *)y : r->sum;
        const bool picks = p->rows_first && !c->same;
        float *across = picks ? r->wide : sum;
        p->kernels->weigh_rows(r->list, r->weights, n, picks ? c->in : c->out, across);
        if (picks)
            p->kernels->pick_row(across, c->taps, c->at, c->weight, c->out, sum);
        if (p->dtype != TT_F32)
            p->kernels->narrow(p->dtype, y, sum, c->out);
    }
}

static void resample_task(void *context, int64_t task, int worker) {
    (void)worker;
    const resampling *p = context;
    const int64_t width = eng_max(p->columns.in, p->columns.out), span = p->rows.span, taps = p->rows.taps;
    char *memory = eng_scratch_need(ENG_SLOT_A, (size_t)((span + 2) * width * 4 + span * 8 + taps * 12 + 64));
    room r;
    r.held = (int64_t *)(void *)memory;
    r.list = (const float **)(void *)(r.held + span);
    r.weights = (float *)(void *)(r.list + taps);
    r.wide = r.weights + taps;
    r.sum = r.wide + width;
    r.lines = r.sum + width;
    const int64_t first = task % p->bands * p->band;
    band_run(p, task / p->bands, first, eng_min(p->rows.out, first + p->band), &r);
}

tt_status eng_resample(const char *attributes, const eng_tensor *in, eng_tensor *out) {
    (void)attributes;
    resampling p = {.planes = in[0].type.dims[0], .dtype = in[0].type.dtype, .size = tt_dtype_size(in[0].type.dtype), .x = in[0].data,
                    .y = out[0].data, .kernels = eng_kernels_get()};
    TT_CHECK(axis_read(&p.rows, in + 1, in + 2, in[0].type.dims[1]) && axis_read(&p.columns, in + 3, in + 4, in[0].type.dims[2]),
             INVALID_ARGUMENT, "tt.resample: a place outside");
    if (hlo_type_elements(&out[0].type) == 0)
        return TT_OK;
    const axis *r = &p.rows, *c = &p.columns;
    enum { PICK = 8 }; /* what an element picked costs, of one read in order */
    const int64_t picked = c->same ? 1 : PICK * c->taps;
    const int64_t columns_first = eng_min(r->in, r->out * r->taps) * c->out * picked + r->out * c->out * r->taps;
    const int64_t rows_first = r->out * c->in * r->taps + r->out * c->out * picked;
    p.rows_first = rows_first < columns_first;
    const int64_t plane_work = eng_min(rows_first, columns_first);
    p.bands = eng_max(1, eng_min(r->out / eng_max(16, 4 * r->span), plane_work >> 18)); /* lines at the seams are made twice */
    p.band = (r->out + p.bands - 1) / p.bands;
    p.bands = (r->out + p.band - 1) / p.band;
    eng_parallel(p.planes * p.bands, resample_task, &p);
    return TT_OK;
}

/* ---- tt.pick: planes of sums of elements from anywhere ---- */

typedef struct picking { int64_t channels, pixels, taps, places; const float *x, *weight; const int32_t *at; float *y; const eng_kernels *kernels; } picking;

static void pick_planes(void *context, int64_t from, int64_t to) {
    const picking *p = context;
    for (int64_t i = from; i < to; i++) {
        const int64_t table = i / p->channels * p->taps * p->places;
        p->kernels->pick_row(p->x + i * p->pixels, p->taps, p->at + table, p->weight + table, p->places, p->y + i * p->places);
    }
}

FAST_CLONES static int32_t largest(const int32_t *x, int64_t n) {
    int32_t most = -1;
    for (int64_t i = 0; i < n; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

tt_status eng_pick(const char *attributes, const eng_tensor *in, eng_tensor *out) {
    const int64_t *x = in[0].type.dims, *at = in[1].type.dims;
    const picking p = {x[1], x[2], at[1], at[2], in[0].data, in[2].data, in[1].data, out[0].data, eng_kernels_get()};
    (void)attributes;
    TT_CHECK(largest(p.at, hlo_type_elements(&in[1].type)) < p.pixels, INVALID_ARGUMENT, "tt.pick: a place outside");
    if (hlo_type_elements(&out[0].type))
        fast_ranges(x[0] * x[1], (1 << 14) / (p.places * p.taps), pick_planes, (void *)(uintptr_t)&p);
    return TT_OK;
}
