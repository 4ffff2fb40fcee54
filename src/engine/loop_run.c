/* loop_run.c - runs a compiled loop: hands out tiles, brings every source's tile to the kernels, keeps temporaries in the L1.
 *
 * A contiguous source is read where it lies. Others are copied to a tile: one element spread, a strided walk, or row pieces. */
#include "engine/fast.h"
#include "engine/loop_jit.h"
#include <string.h>

int64_t loop_weight(const eng_loop *l) {
    int64_t w = 0;
    for (int i = 0; i < l->n_instrs; i++) {
        switch (l->instrs[i].op) {
        case HLO_EXP: case HLO_TANH: case HLO_CHLO_ERF: case HLO_LOG: case HLO_LOGISTIC: case HLO_SINE: case HLO_COSINE: case HLO_EXPM1:
        case HLO_LOG1P: w += l->instrs[i].in == TT_F64 ? 12 : 4; break;
        case HLO_TAN: case HLO_ATAN2: case HLO_CHLO_TAN: case HLO_CHLO_ASIN: case HLO_CHLO_ACOS: case HLO_CHLO_ATAN: case HLO_CHLO_SINH:
        case HLO_CHLO_COSH: w += l->instrs[i].in == TT_F64 ? 16 : 6; break;
        case HLO_POWER: case HLO_REMAINDER: case HLO_CBRT: case HLO_CHLO_ERFC: w += 40; break;
        case HLO_DIVIDE: case HLO_SQRT: case HLO_RSQRT: w += 2; break;
        default: w += 1;
        }
    }
    for (int i = 0; i < l->n_sources; i++)
        w += l->sources[i].kind == LOOP_MAP || l->sources[i].kind == LOOP_IOTA ? 3 : 1;
    return w;
}

/* ---- bringing elements to a tile ---- */

static inline void spread(void *d, const void *element, int size, int64_t n) {
    switch (size) {
#define SIZE(bytes, T)                                                        \
    case bytes: {                                                             \
        T v, *p = d;                                                          \
        memcpy(&v, element, bytes);                                           \
        for (int64_t i = 0; i < n; i++)                                       \
            p[i] = v;                                                         \
        return;                                                               \
    }
        SIZE(1, uint8_t)
        SIZE(2, uint16_t)
        SIZE(4, uint32_t)
        SIZE(8, uint64_t)
#undef SIZE
    default:
        for (int64_t i = 0; i < n; i++)
            memcpy((char *)d + i * size, element, (size_t)size);
    }
}

static void walk(void *d, const void *from, int size, int64_t stride, int64_t n) {
    if (stride == 1) {
        memcpy(d, from, (size_t)(n * size));
        return;
    }
    if (stride == 0) {
        spread(d, from, size, n);
        return;
    }
    switch (size) {
#define SIZE(bytes, T)                                                        \
    case bytes: {                                                             \
        T *p = d;                                                             \
        const T *q = from;                                                    \
        for (int64_t i = 0; i < n; i++)                                       \
            p[i] = q[i * stride];                                             \
        return;                                                               \
    }
        SIZE(1, uint8_t)
        SIZE(2, uint16_t)
        SIZE(4, uint32_t)
        SIZE(8, uint64_t)
#undef SIZE
    default:
        for (int64_t i = 0; i < n; i++)
            memcpy((char *)d + i * size, (const char *)from + i * stride * size, (size_t)size);
    }
}

static FAST_CLONES void count(void *d, tt_dtype dtype, int64_t from, int64_t step, int64_t n) {
    switch ((int)dtype) {
#define COUNT(type, T)                                                        \
    case TT_##type: {                                                         \
        T *p = d;                                                             \
        for (int64_t i = 0; i < n; i++)                                       \
            p[i] = (T)(from + i * step);                                      \
        return;                                                               \
    }
        COUNT(I8, int8_t)
        COUNT(I16, int16_t)
        COUNT(I32, int32_t)
        COUNT(I64, int64_t)
        COUNT(U8, uint8_t)
        COUNT(U16, uint16_t)
        COUNT(U32, uint32_t)
        COUNT(U64, uint64_t)
        COUNT(F32, float)
        COUNT(F64, double)
#undef COUNT
    default:
        for (int64_t i = 0; i < n; i++)
            tt_element_set(dtype, (char *)d + i * tt_dtype_size(dtype), (double)(from + i * step));
    }
}

static void fetch(const loop_source *s, void *d, const void *base, int64_t offset, int64_t stride, int64_t n) {
    if (s->kind == LOOP_IOTA)
        count(d, s->dtype, offset, stride, n);
    else
        walk(d, (const char *)base + offset * s->size, s->size, stride, n);
}

/* n elements from linear position p on, across rows. */
static void fetch_linear(const eng_loop *l, const loop_source *s, void *d, const void *base, int64_t p, int64_t n) {
    int last = l->n_dims - 1;
    int64_t at[64], rest = p, offset = s->offset;
    for (int k = last; k >= 0; k--) {
        at[k] = rest % l->dims[k];
        rest /= l->dims[k];
        offset += at[k] * s->strides[k];
    }
    while (n > 0) {
        int64_t m = loop_min(n, l->dims[last] - at[last]);
        fetch(s, d, base, offset, s->strides[last], m);
        d = (char *)d + m * s->size;
        n -= m;
        offset -= at[last] * s->strides[last];
        at[last] = 0;
        for (int k = last - 1; k >= 0; k--) {
            offset += s->strides[k];
            if (++at[k] < l->dims[k])
                break;
            offset -= l->dims[k] * s->strides[k];
            at[k] = 0;
        }
    }
}

/* ---- tiles ---- */

typedef struct frame {
    const void **at;       /* per slot: its tile */
    const char **base;     /* per source: the array it is read from */
    int64_t *offset;       /* per source in row mode: of the row's start */
    int64_t *filled;       /* per source in row mode: where the spread element came from, -1 none */
    int64_t *coordinate;
    int64_t tile;          /* elements a spread fills */
    int64_t gap;           /* bytes between rows of the output */
    void (*code)(const void *const *slots, int64_t n); /* the loop's, or NULL */
} frame;

static const char *source_base(const loop_source *s, void *const *inputs) {
    return s->input >= 0 ? inputs[s->input] : s->constant;
}

/* What repeats, copied row by row. */
static void fill_period(const loop_source *s, char *d, const char *base) {
    loop_source read = *s;
    int last = s->period_rank - 1;
    int64_t index[HLO_MAX_RANK + 1] = {0}, offset = s->period_offset, n = s->period_dims[last];
    read.kind = s->period_counts ? LOOP_IOTA : LOOP_MAP;
    for (int64_t done = 0; done < s->period; done += n, d += n * s->size) {
        fetch(&read, d, base, offset, s->period_strides[last], n);
        for (int k = last - 1; k >= 0; k--) {
            offset += s->period_strides[k];
            if (++index[k] < s->period_dims[k])
                break;
            offset -= s->period_dims[k] * s->period_strides[k];
            index[k] = 0;
        }
    }
}

static void frame_init(const eng_loop *l, frame *f, char *scratch, void *const *inputs) {
    f->gap = 0;
    f->at = (const void **)scratch;
    f->base = (const char **)scratch + l->n_slots;
    scratch += sizeof(void *) * (size_t)(l->n_slots + l->n_sources + 8) / 64 * 64 + 64;
    f->offset = (int64_t *)scratch;
    f->filled = f->offset + l->n_sources;
    f->coordinate = f->filled + l->n_sources;
    scratch += sizeof(int64_t) * (size_t)(2 * l->n_sources + l->n_dims + 8);
    scratch = (char *)(((uintptr_t)scratch + 63) & ~(uintptr_t)63);
    int64_t n = loop_min(l->tile, l->n);
    for (int i = 0; i < l->n_sources; i++) {
        const loop_source *s = &l->sources[i];
        f->at[i] = NULL;
        f->base[i] = source_base(s, inputs);
        if (s->kind == LOOP_DIRECT)
            continue;
        if (s->period) {
            fill_period(s, scratch, f->base[i]);
            f->base[i] = scratch;
            scratch += ((size_t)(s->period * s->size) + 127) & ~(size_t)63;
        }
        f->at[i] = scratch;
        if (s->kind == LOOP_SCALAR && (!l->code || s->uniform)) /* code holds other scalars itself */
            spread(scratch, source_base(s, inputs) + s->offset * s->size, s->size, l->code ? 16 : n);
        scratch += l->temp_bytes;
    }
    for (int i = 0; i < l->n_temps; i++, scratch += l->temp_bytes)
        f->at[l->n_sources + l->n_outputs + i] = scratch;
}

/* Code that takes whole vectors only: the elements after the last of them are brought to a vector of their own. */
static void run_code(const eng_loop *l, const void *const *at, int64_t n) {
    int64_t rest = n % l->whole, done = n - rest;
    if (done)
        l->code(at, done);
    if (!rest)
        return;
    enum { MOST = 12, VECTOR = 8 * 4 }; /* loop_jit.c: arrays of a loop, bytes of their elements */
    const void *slots[512];
    _Alignas(32) char room[MOST][VECTOR];
    int used = 0;
    for (int i = 0; i < l->n_sources; i++) {
        const loop_source *s = &l->sources[i];
        slots[i] = at[i];
        if (s->kind == LOOP_SCALAR || s->uniform || used == MOST)
            continue;
        memset(room[used], 0, VECTOR);
        memcpy(room[used], (const char *)at[i] + done * s->size, (size_t)(rest * s->size));
        slots[i] = room[used++];
    }
    int first = used;
    for (int i = 0; i < l->n_outputs && used < MOST; i++)
        slots[l->n_sources + i] = room[used++];
    l->code(slots, l->whole);
    for (int i = 0; first + i < used; i++)
        memcpy((char *)at[l->n_sources + i] + done * l->output_size[i], room[first + i], (size_t)(rest * l->output_size[i]));
}

static void run_instrs(const eng_loop *l, const frame *f, int64_t n) {
    const void **at = f->at;
    if (l->code && l->whole > 1) {
        run_code(l, at, n);
        return;
    }
    if (f->code) {
        f->code(at, n);
        return;
    }
    for (const loop_instr *q = l->instrs, *end = q + l->n_instrs; q < end; q++)
        q->kernel((void *)at[q->d], at[q->a], at[q->b], at[q->c], n);
}

/* Direct sources and outputs of the tile at linear position p. */
static void point(const eng_loop *l, frame *f, void *const *inputs, void *const *outputs, int64_t p) {
    for (int k = 0; k < l->n_moving; k++) {
        const int i = l->moving[k];
        if (i < l->n_sources)
            f->at[i] = source_base(&l->sources[i], inputs) + p * l->sources[i].size;
        else
            f->at[i] = (char *)outputs[i - l->n_sources] + p * l->output_size[i - l->n_sources];
    }
}

static void run_linear(const eng_loop *l, frame *f, void *const *inputs, void *const *outputs, int64_t from, int64_t to) {
    if (l->code && !l->has_maps) { /* no tiles between instructions, so no need to cut */
        point(l, f, inputs, outputs, from);
        run_instrs(l, f, to - from);
        return;
    }
    for (int64_t p = from; p < to; p += l->tile) {
        const int64_t n = loop_min(l->tile, to - p);
        point(l, f, inputs, outputs, p);
        if (l->has_maps)
            for (int i = 0; i < l->n_sources; i++)
                if (l->sources[i].kind >= LOOP_MAP)
                    fetch_linear(l, &l->sources[i], (void *)f->at[i], f->base[i], p, n);
        run_instrs(l, f, n);
    }
}

static void start_row(const eng_loop *l, frame *f, int64_t row) {
    for (int k = l->n_dims - 2; k >= 0; k--) {
        f->coordinate[k] = row % l->dims[k];
        row /= l->dims[k];
    }
    for (int i = 0; i < l->n_sources; i++) {
        const loop_source *s = &l->sources[i];
        f->offset[i] = s->offset;
        if (s->kind >= LOOP_MAP)
            for (int k = 0; k < l->n_dims - 1; k++)
                f->offset[i] += f->coordinate[k] * s->strides[k];
    }
}

static void next_row(const eng_loop *l, frame *f) {
    for (int k = l->n_dims - 2; k >= 0; k--) {
        const bool wraps = ++f->coordinate[k] == l->dims[k];
        const int64_t by = wraps ? 1 - l->dims[k] : 1;
        for (int i = 0; i < l->n_maps; i++)
            f->offset[l->maps[i]] += l->sources[l->maps[i]].strides[k] * by;
        if (!wraps)
            return;
        f->coordinate[k] = 0;
    }
}

/* A row source's piece: read in place if it lies side by side; what was brought to the tile is kept while it stays the same. */
static void row_source(const loop_source *s, frame *f, int i, int64_t stride, int64_t offset, int64_t n) {
    const char *base = f->base[i];
    if (s->kind == LOOP_MAP && stride == 1) {
        f->at[i] = base + offset * s->size;
        return;
    }
    if (f->filled[i] == offset) /* pieces of rows that begin alike are as long */
        return;
    f->filled[i] = offset;
    if (stride == 0) {
        if (s->uniform && s->size == 4) { /* one vector, known while compiling */
            spread((void *)f->at[i], base + offset * 4, 4, 16);
            return;
        }
        n = s->uniform ? 16 : f->tile;
    }
    fetch(s, (void *)f->at[i], base, offset, stride, n);
}

/* May code go from row to row? Each map then is a row that lies side by side, or one number of 4 bytes for all of it. */
enum { MOST_MAPS = 12 };
static bool has_plain_rows(const eng_loop *l) {
    bool plain = l->code && l->whole == 1 && l->chunks == 1 && l->n_dims > 1 && l->n_maps <= MOST_MAPS && l->n_moving <= MOST_MAPS;
    for (int k = 0; k < l->n_maps; k++) {
        const loop_source *s = &l->sources[l->maps[k]];
        const int64_t stride = s->strides[l->n_dims - 1];
        plain &= s->kind == LOOP_MAP && (stride == 1 || (stride == 0 && s->uniform && s->size == 4));
    }
    return plain;
}

/* Rows of such a loop: where the maps start, and the bytes by which they, and the moving slots, go from row to row. */
typedef struct plain_rows {
    int64_t n;
    const char *from[MOST_MAPS];
    int64_t step[MOST_MAPS], moves[MOST_MAPS];
} plain_rows;

static void move_rows(const eng_loop *l, frame *f, const plain_rows *p, int64_t rows) {
    for (int k = 0; k < l->n_moving; k++)
        f->at[l->moving[k]] = (const char *)f->at[l->moving[k]] + rows * p->moves[k];
}

/* The code goes from row to row. */
static void rows_at_once(const eng_loop *l, frame *f, const plain_rows *p) {
    int64_t block[2 + 2 * JIT_ROW_SLOTS] = {p->n, l->row}, *slots = block + 2, *moves = slots + JIT_ROW_SLOTS;
    for (int k = 0; k < l->n_sources; k++)
        slots[k] = (intptr_t)f->at[k];
    for (int k = 0; k < l->n_maps; k++)
        slots[l->maps[k]] = (intptr_t)p->from[k], moves[l->maps[k]] = p->step[k];
    for (int k = 0; k < l->n_moving; k++)
        slots[l->moving[k]] = (intptr_t)f->at[l->moving[k]], moves[l->moving[k]] = p->moves[k];
    l->rows((const void *const *)(const void *)slots, 0);
    move_rows(l, f, p, p->n);
}

static void rows_one_by_one(const eng_loop *l, frame *f, const plain_rows *p) {
    for (int64_t r = 0; r < p->n; r++) {
        for (int k = 0; k < l->n_maps; k++) {
            const char *from = p->from[k] + r * p->step[k];
            if (l->sources[l->maps[k]].strides[l->n_dims - 1])
                f->at[l->maps[k]] = from;
            else if (!r || p->step[k])
                spread((void *)f->at[l->maps[k]], from, 4, 16);
        }
        f->code(f->at, l->row);
        move_rows(l, f, p, 1);
    }
}

/* Runs such rows, up to the end of the dim that they lie along: how many. */
static int64_t run_plain_rows(const eng_loop *l, frame *f, int64_t rows) {
    const int along = l->n_dims - 2;
    plain_rows p = {.n = loop_min(rows, l->dims[along] - f->coordinate[along])};
    for (int k = 0; k < l->n_maps; k++) {
        const loop_source *s = &l->sources[l->maps[k]];
        p.from[k] = f->base[l->maps[k]] + f->offset[l->maps[k]] * s->size;
        p.step[k] = s->strides[along] * s->size;
        f->offset[l->maps[k]] += s->strides[along] * (p.n - 1);
        f->filled[l->maps[k]] = -1;
    }
    for (int k = 0; k < l->n_moving; k++)
        p.moves[k] = l->moving[k] < l->n_sources ? l->row * l->sources[l->moving[k]].size
                                                 : l->row * l->output_size[l->moving[k] - l->n_sources] + f->gap;
    (l->rows ? rows_at_once : rows_one_by_one)(l, f, &p);
    f->coordinate[along] += p.n - 1;
    next_row(l, f);
    return p.n;
}

static void run_rows(const eng_loop *l, frame *f, void *const *inputs, void *const *outputs, int64_t from, int64_t to) {
    const int last = l->n_dims - 1;
    int64_t row = from / l->row, c = from % l->row;
    start_row(l, f, row);
    f->tile = loop_min(l->tile, l->row);
    for (int i = 0; i < l->n_maps; i++)
        f->filled[l->maps[i]] = -1;
    point(l, f, inputs, outputs, from);
    const bool plain = has_plain_rows(l);
    while (from < to) {
        if (plain && !c && to - from >= l->row) {
            from += run_plain_rows(l, f, (to - from) / l->row) * l->row;
            continue;
        }
        const int64_t n = loop_min(loop_min(l->tile, l->row - c), to - from);
        for (int k = 0; k < l->n_maps; k++) {
            const int i = l->maps[k];
            const int64_t stride = l->sources[i].strides[last];
            row_source(&l->sources[i], f, i, stride, f->offset[i] + c * stride, n);
        }
        run_instrs(l, f, n);
        for (int k = 0; k < l->n_moving; k++) {
            const int i = l->moving[k];
            f->at[i] = (const char *)f->at[i] + n * (i < l->n_sources ? l->sources[i].size : l->output_size[i - l->n_sources]);
        }
        from += n;
        c += n;
        if (c == l->row) {
            c = 0;
            f->at[l->n_sources] = (const char *)f->at[l->n_sources] + f->gap;
            next_row(l, f);
        }
    }
}

/* Whether stores may go past the caches: rows begin at multiples of 64 bytes, and no output is an input, whose lines are there already. */
static bool may_stream(const eng_loop *l, void *const *inputs, void *const *outputs) {
    for (int i = 0; i < l->n_outputs; i++) {
        if ((uintptr_t)outputs[i] % 64 || l->row * l->output_size[i] % 64)
            return false;
        for (int k = 0; k < l->n_inputs; k++)
            if (inputs[k] == outputs[i])
                return false;
    }
    return true;
}

static void run_part(const eng_loop *l, frame *f, void *const *inputs, void *const *outputs, int64_t from, int64_t to) {
    if (l->row)
        run_rows(l, f, inputs, outputs, from, to);
    else
        run_linear(l, f, inputs, outputs, from, to);
}

static void run_range(const eng_loop *l, void *const *inputs, void *const *outputs, bool stream, int64_t from, int64_t to) {
    char *scratch = eng_scratch_need(LOOP_SCRATCH, l->scratch_bytes);
    frame f;
    frame_init(l, &f, scratch, inputs);
    f.code = stream && l->streams && may_stream(l, inputs, outputs) ? l->streams : l->code;
    run_part(l, &f, inputs, outputs, from, to);
}

void eng_loop_run_block(const eng_loop *l, void **inputs, void *const *outputs, int64_t from, int64_t count, int64_t rows, int64_t apart, int own,
                        int64_t step) {
    char *scratch = eng_scratch_need(LOOP_SCRATCH, l->scratch_bytes);
    frame f;
    frame_init(l, &f, scratch, inputs);
    f.code = l->code;
    for (; rows > 0; rows--, from += apart) {
        run_part(l, &f, inputs, outputs, from, from + count);
        inputs[own] = (char *)inputs[own] + step;
    }
}

void eng_loop_run_range(const eng_loop *l, void *const *inputs, void *const *outputs, int64_t from, int64_t to) {
    run_range(l, inputs, outputs, false, from, to);
}

int64_t eng_loop_elements(const eng_loop *l) {
    return l->n;
}

/* The first element of a tile; of the one after the last, where the loop ends. */
static int64_t tile_start(const eng_loop *l, int64_t tile) {
    return loop_min(l->n, l->row ? tile / l->chunks * l->row + tile % l->chunks * l->tile : tile * l->tile);
}

typedef struct run { const eng_loop *l; void *const *inputs, *const *outputs; } run;

static void plain_task(void *context, int64_t task, int worker) {
    const run *r = context;
    const eng_loop *l = r->l;
    const loop_instr *q = l->instrs;
    int64_t from = task * l->tiles_per_task * l->tile, n = loop_min(l->tiles_per_task * l->tile, l->n - from);
    const char *at[4] = {0};
    (void)worker;
    for (int k = 0; k < 3; k++) {
        int slot = k == 0 ? q->a : k == 1 ? q->b : q->c;
        if (slot < l->n_sources)
            at[k] = source_base(&l->sources[slot], r->inputs) + from * l->sources[slot].size;
    }
    q->kernel((char *)r->outputs[0] + from * l->output_size[0], at[0], at[1], at[2], n);
}

static void tiles_task(void *context, int64_t task, int worker) {
    const run *r = context;
    const int64_t from = task * r->l->tiles_per_task, to = loop_min(from + r->l->tiles_per_task, r->l->n_tiles);
    (void)worker;
    run_range(r->l, r->inputs, r->outputs, true, tile_start(r->l, from), tile_start(r->l, to));
}

void eng_loop_run(const eng_loop *l, void *const *inputs, void *const *outputs) {
    run r = {l, inputs, outputs};
    eng_task_fn task = l->plain ? plain_task : tiles_task;
    if (l->n_tasks == 1)
        task(&r, 0, 0);
    else if (l->n_tasks > 1)
        eng_parallel(l->n_tasks, task, &r);
}

/* ---- rows of a larger array ---- */
typedef struct into_run {
    const eng_loop *l;
    void *const *inputs;
    char *output;
    int64_t row, apart, rows, per_task;
} into_run;

static void into_task(void *context, int64_t task, int worker) {
    const into_run *r = context;
    const eng_loop *l = r->l;
    const int64_t from = task * r->per_task, to = loop_min(r->rows, from + r->per_task), bytes = r->row * l->output_size[0];
    char *scratch = eng_scratch_need(LOOP_SCRATCH, l->scratch_bytes);
    frame f;
    (void)worker;
    frame_init(l, &f, scratch, r->inputs);
    f.code = l->code;
    f.gap = r->apart - bytes;
    for (int64_t at = from; at < to; at += l->row ? to - from : 1) { /* where the first row of all would be if none had a gap before it */
        void *output = r->output + at * f.gap;
        run_part(l, &f, r->inputs, &output, at * r->row, (l->row ? to : at + 1) * r->row);
    }
}

void eng_loop_run_into(const eng_loop *l, void *const *inputs, char *output, int64_t row, int64_t apart) {
    into_run r = {l, inputs, output, row, apart, l->n / row, loop_max(1, l->tiles_per_task * loop_min(l->tile, row) / row)};
    if (apart == row * l->output_size[0])
        eng_loop_run(l, inputs, &(void *){output});
    else
        eng_parallel((r.rows + r.per_task - 1) / r.per_task, into_task, &r);
}

bool eng_loop_takes_rows(const eng_loop *l, int64_t row, int64_t apart) {
    return row == apart || l->row == row || (!l->row && !l->has_maps);
}

/* ---- some rows only ---- */
bool eng_loop_has_rows(const eng_loop *l) {
    for (int i = 0; i < l->n_sources; i++)
        if ((l->sources[i].kind != LOOP_DIRECT && l->sources[i].kind != LOOP_SCALAR) || l->sources[i].period)
            return false;
    return !l->row && !l->has_maps && l->n_outputs == 1;
}

typedef struct row_run {
    run whole;
    const int32_t *at;
    int64_t n, row, per_task;
} row_run;

static void rows_task(void *context, int64_t task, int worker) {
    enum { AHEAD = 8, ASKED = 256 };
    const row_run *r = context;
    const eng_loop *l = r->whole.l;
    const int64_t from = task * r->per_task, to = loop_min(r->n, from + r->per_task), step = l->code ? r->row : l->tile;
    char *scratch = eng_scratch_need(LOOP_SCRATCH, l->scratch_bytes);
    frame f;
    (void)worker;
    frame_init(l, &f, scratch, r->whole.inputs);
    f.code = l->code;
    for (int64_t i = from; i < to; i++) {
        for (int64_t at = 0; i + AHEAD < to && at < loop_min(ASKED, r->row * l->output_size[0]); at += 64)
            __builtin_prefetch((char *)r->whole.outputs[0] + r->at[i + AHEAD] * r->row * l->output_size[0] + at, 1);
        for (int64_t done = 0; done < r->row; done += step) {
            point(l, &f, r->whole.inputs, r->whole.outputs, r->at[i] * r->row + done);
            run_instrs(l, &f, loop_min(step, r->row - done));
        }
    }
}

/* Does an element stay as it is where input `zero` is 0? The sum of x and a zero is x for every x, if it is for -0. */
static bool keeps_old(const eng_loop *l, void *const *inputs, int old, int zero) {
    enum { N = 8 };
    _Alignas(64) char minus[8 * N] = {0}, zeros[8 * N] = {0}, result[8 * N];
    char *scratch = eng_scratch_need(LOOP_SCRATCH, l->scratch_bytes);
    frame f;
    frame_init(l, &f, scratch, inputs);
    f.code = l->code;
    for (int i = 0; i < N; i++)
        minus[(i + 1) * l->output_size[0] - 1] = (char)0x80;
    for (int i = 0; i < l->n_sources; i++) {
        const loop_source *s = &l->sources[i];
        if (s->kind != LOOP_DIRECT)
            continue;
        if (s->input != old && s->input != zero)
            return false;
        f.at[i] = s->input == old ? minus : zeros;
    }
    f.at[l->n_sources] = result;
    run_instrs(l, &f, N);
    return !memcmp(result, minus, (size_t)(N * l->output_size[0]));
}

bool eng_loop_run_rows(const eng_loop *l, void *const *inputs, void *const *outputs, int old, int zero, int64_t row, int64_t n, const int32_t *at) {
    row_run r = {{l, inputs, outputs}, at, n, row, loop_max(1, 65536 / row)};
    if (!keeps_old(l, inputs, old, zero))
        return false;
    eng_parallel((n + r.per_task - 1) / r.per_task, rows_task, &r);
    return true;
}

/* Is output o's element i in the same place as the source's? */
static bool same_place(const eng_loop *l, const loop_source *s, int output, int64_t start, int64_t row, int64_t apart) {
    if (s->size != l->output_size[output])
        return false;
    if (s->kind == LOOP_DIRECT)
        return !start && (row == apart || row == l->n);
    if (s->kind != LOOP_MAP || s->period || s->offset != start)
        return false;
    if (row == apart || row == l->n)
        return l->n_dims == 1 && s->strides[0] == 1;
    return l->n_dims == 2 && l->dims[1] == row && s->strides[1] == 1 && s->strides[0] == apart;
}

static bool reads_before_it_writes(const eng_loop *l, int output, int input, int64_t start, int64_t row, int64_t apart) {
    int first_write = l->n_instrs, last_read = -1;
    for (int i = 0; i < l->n_instrs; i++) {
        const loop_instr *q = &l->instrs[i];
        if (q->d == l->n_sources + output && i < first_write)
            first_write = i;
        int slots[3] = {q->a, q->b, q->c};
        for (int k = 0; k < 3; k++) {
            if (slots[k] >= l->n_sources || l->sources[slots[k]].input != input)
                continue;
            if (!same_place(l, &l->sources[slots[k]], output, start, row, apart))
                return false;
            last_read = i;
        }
    }
    return last_read <= first_write;
}

bool eng_loop_in_place(const eng_loop *l, int output, int input) {
    return reads_before_it_writes(l, output, input, 0, l->n, l->n);
}

bool eng_loop_reads_rows(const eng_loop *l, int input, int64_t start, int64_t row, int64_t apart) {
    return reads_before_it_writes(l, 0, input, start, row, apart);
}

/* A slice is so many elements at coordinate k, all of the dims after it, and fixed ones before. */
static bool source_slices(const eng_loop *l, const loop_source *s, int64_t bytes, int64_t slices) {
    if (s->kind == LOOP_DIRECT)
        return bytes == l->n * s->size;
    if (s->kind != LOOP_MAP || s->period || s->offset || bytes % (slices * s->size))
        return false;
    const int64_t own = bytes / slices / s->size; /* elements of a slice of the input */
    int64_t inner = l->n / slices, reach = 0, apart = own;
    int k = l->n_dims - 1;
    for (; k >= 0 && inner >= l->dims[k]; k--) { /* whole dims */
        if (inner % l->dims[k] || s->strides[k] < 0)
            return false;
        inner /= l->dims[k];
        reach += (l->dims[k] - 1) * s->strides[k];
    }
    if (inner > 1) { /* part of one */
        if (k < 0 || l->dims[k] % inner || s->strides[k] < 0 || s->strides[k] * inner != own)
            return false;
        reach += (inner - 1) * s->strides[k];
        apart *= l->dims[k] / inner;
        k--;
    }
    for (; k >= 0; k--) {
        if (l->dims[k] > 1 && s->strides[k] != apart)
            return false;
        apart *= l->dims[k];
    }
    return reach < own;
}

bool eng_loop_reads_slices(const eng_loop *l, int input, int64_t bytes, int64_t slices) {
    if (l->n % slices)
        return false;
    for (int i = 0; i < l->n_sources; i++)
        if (l->sources[i].input == input && !source_slices(l, &l->sources[i], bytes, slices))
            return false;
    return true;
}
