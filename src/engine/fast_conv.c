/* fast_conv.c - stablehlo.convolution: reads the node into strides and taps (fast_conv.h), splits base
 * dilation into phases, and runs each as a matrix product, an implicit one, or directly. Knows no program. */
#include "engine/fast_conv.h"
#include <string.h>

/* One spatial dimension as the op states it. */
typedef struct window {
    int64_t stride, low, base_dilation, dilation, size;
    bool reversed;
} window;

static int64_t at_or(const hlo_node *node, hlo_attr_name name, int64_t i, int64_t fallback) {
    hlo_ints v = hlo_attr_ints(node, name);
    return i < v.n ? v.v[i] : fallback;
}

static void dense_strides(const hlo_type *type, int64_t *out) {
    int64_t stride = 1;
    for (int i = type->rank - 1; i >= 0; i--) {
        out[i] = stride;
        stride *= type->dims[i];
    }
}

static int64_t gcd(int64_t a, int64_t b) {
    return b ? gcd(b, a % b) : a;
}

/* ---- from the node ---- */
static bool read_node(const hlo_node *node, const eng_tensor *x, const eng_tensor *w, const eng_tensor *out,
                      conv *c, window *windows) {
    const hlo_attr *attr = hlo_attr_find(node, HLO_A_DIMENSION_NUMBERS);
    const hlo_attr *padding = hlo_attr_find(node, HLO_A_PADDING);
    const tt_dtype dtype = x->type.dtype;
    const int spatial = x->type.rank - 2;
    if (!attr || !attr->dims || spatial < 0 || spatial > CONV_DIMS || w->type.dtype != dtype ||
        !eng_flavor_of(dtype) || (out->type.dtype != dtype && out->type.dtype != eng_flavor_of(dtype)->sum))
        return false;
    const int64_t *in_dims = attr->dims->a.v, *w_dims = attr->dims->b.v, *out_dims = attr->dims->c.v;
    const int64_t feature_groups = hlo_attr_int(node, HLO_A_FEATURE_GROUP_COUNT, 1);
    const int64_t batch_groups = hlo_attr_int(node, HLO_A_BATCH_GROUP_COUNT, 1);
    int64_t xs[HLO_MAX_RANK], ws[HLO_MAX_RANK], ys[HLO_MAX_RANK];
    dense_strides(&x->type, xs);
    dense_strides(&w->type, ws);
    dense_strides(&out->type, ys);
    c->f = eng_flavor_of(dtype);
    c->kernels = eng_kernels_get();
    c->dtype = dtype;
    c->bytes = tt_dtype_size(dtype);
    c->y_dtype = out->type.dtype;
    c->y_bytes = tt_dtype_size(c->y_dtype);
    c->sum_bytes = tt_dtype_size(c->f->sum);
    c->groups = feature_groups * batch_groups;
    c->batch = x->type.dims[in_dims[0]] / batch_groups;
    c->channels = x->type.dims[in_dims[1]] / feature_groups;
    c->outs = w->type.dims[w_dims[1]] / c->groups;
    c->x_batch = xs[in_dims[0]];
    c->x_channel = xs[in_dims[1]];
    c->x_group = batch_groups > 1 ? c->batch * c->x_batch : c->channels * c->x_channel;
    c->w_channel = ws[w_dims[0]];
    c->w_out = ws[w_dims[1]];
    c->w_group = c->outs * c->w_out;
    c->y_batch = ys[out_dims[0]];
    c->y_out = ys[out_dims[1]];
    c->y_group = c->outs * c->y_out;
    c->x = x->data;
    c->w = w->data;
    c->y = out->data;
    c->y_size = hlo_type_bytes(&out->type);
    for (int i = 0; i < CONV_DIMS; i++) {
        const int s = i - (CONV_DIMS - spatial);
        window *win = &windows[i];
        conv_dim *d = &c->dim[i];
        *win = (window){1, 0, 1, 1, 1, false};
        *d = (conv_dim){.in = 1, .out = 1, .x = 1, .w = 1, .y = 1};
        if (s < 0)
            continue;
        *d = (conv_dim){.in = x->type.dims[in_dims[2 + s]],
                        .out = out->type.dims[out_dims[2 + s]],
                        .x = xs[in_dims[2 + s]],
                        .w = ws[w_dims[2 + s]],
                        .y = ys[out_dims[2 + s]]};
        win->stride = at_or(node, HLO_A_WINDOW_STRIDES, s, 1);
        win->low = padding && padding->ints ? padding->ints[2 * s] : 0;
        win->base_dilation = at_or(node, HLO_A_LHS_DILATION, s, 1);
        win->dilation = at_or(node, HLO_A_RHS_DILATION, s, 1);
        win->size = w->type.dims[w_dims[2 + s]];
        win->reversed = at_or(node, HLO_A_WINDOW_REVERSAL, s, 0) != 0;
    }
    return true;
}

static int64_t phases(const window *w) {
    return w->base_dilation / gcd(w->stride, w->base_dilation);
}

/* Narrows dimension d to the outputs q * phases + r, at which only some taps fall on elements of x. */
static void enter_phase(tt_arena *arena, const window *w, int64_t r, conv_dim *d, int64_t *y_start) {
    const int64_t n = phases(w);
    int64_t *at = TT_NEW_N(arena, int64_t, w->size + 1), *weight = TT_NEW_N(arena, int64_t, w->size + 1);
    d->n_taps = 0;
    for (int64_t k = 0; k < w->size; k++) {
        const int64_t dilated = r * w->stride + k * w->dilation - w->low;
        if (dilated % w->base_dilation != 0)
            continue;
        at[d->n_taps] = dilated / w->base_dilation;
        weight[d->n_taps++] = w->reversed ? w->size - 1 - k : k;
    }
    d->at = at;
    d->weight = weight;
    d->tap_step = d->n_taps > 1 ? at[1] - at[0] : 1;
    d->out = d->out > r ? eng_blocks(d->out - r, n) : 0;
    d->step = w->stride * n / w->base_dilation;
    *y_start += r * d->y;
    d->y *= n;
}

/* ---- 1x1: a product of what lies in memory ---- */
static bool contiguous(const conv_dim *d, bool of_y) {
    for (int i = 0; i < CONV_DIMS - 1; i++)
        if (d[i].out > 1 &&
            (of_y ? d[i].y != d[i + 1].y * d[i + 1].out : d[i].x != d[i + 1].x * d[i + 1].out))
            return false;
    return true;
}

static bool pointwise(const conv *c) {
    for (int i = 0; i < CONV_DIMS; i++)
        if (c->dim[i].n_taps != 1 || c->dim[i].at[0] != 0 || c->dim[i].step != 1 ||
            c->dim[i].in != c->dim[i].out)
            return false;
    if (!contiguous(c->dim, false) || !contiguous(c->dim, true) || (c->w_channel != 1 && c->w_out != 1))
        return false;
    const char *w = c->w;
    for (int i = 0; i < CONV_DIMS; i++)
        w += c->dim[i].weight[0] * c->dim[i].w * c->bytes;
    const int64_t px = c->dim[2].x, py = c->dim[2].y, p = c->positions;
    const bool outs_inner = c->w_out == 1 && c->w_channel != 1; /* w stored [channel, out] */
    eng_gemm_args args = {.dtype = c->dtype, .c_dtype = c->y_dtype, .k = c->channels, .c = c->y, .follow = c->follow};
    if (c->x_channel == 1 && c->y_out == 1 && c->groups == 1 && c->x_batch == p * px &&
        c->y_batch == p * py && px > 1) {
        args.batch = 1;
        args.m = c->batch * p;
        args.n = c->outs;
        args.a = c->x;
        args.lda = px;
        args.b = w;
        args.ldb = outs_inner ? c->w_channel : c->w_out;
        args.b_transposed = !outs_inner;
        args.ldc = py;
        return eng_gemm(&args);
    }
    if (px != 1 || py != 1 || (c->groups > 1 && c->y_batch != c->groups * c->y_group))
        return false;
    args.batch = c->batch * c->groups;
    args.m = c->outs;
    args.n = p;
    args.a = w;
    args.lda = outs_inner ? c->w_channel : c->w_out;
    args.a_transposed = outs_inner;
    args.b = c->x;
    args.ldb = c->x_channel;
    args.ldc = c->y_out;
    args.stride_c = c->groups > 1 ? c->y_group : c->y_batch;
    int64_t *starts_a = TT_NEW_N(c->arena, int64_t, args.batch),
            *starts_b = TT_NEW_N(c->arena, int64_t, args.batch);
    for (int64_t i = 0; i < args.batch; i++) {
        starts_a[i] = i % c->groups * c->w_group;
        starts_b[i] = i / c->groups * c->x_batch + i % c->groups * c->x_group;
    }
    return eng_gemm_batched(&args, starts_a, starts_b);
}

/* Elements of dimensions that are walked as one, `spread` apart; 0: x (w) has gaps, or taps are not all of it in order. */
static int64_t whole_taps(const conv *c, bool of_w, int64_t spread) {
    int64_t elements = 1;
    for (int i = CONV_DIMS - 1; i >= 0; i--) {
        const conv_dim *d = &c->dim[i];
        if (d->out != 1 || d->at[0] != 0 || d->n_taps != d->in || (d->in > 1 && (d->tap_step != 1 || d->weight[0] != 0 || d->weight[1] != 1)) ||
            (d->in > 1 && (of_w ? d->w : d->x) != elements * spread))
            return 0;
        elements *= d->in;
    }
    return elements;
}

/* The gradient of a 1x1 kernel whose channels lie innermost: one product over all cells. */
static bool pointwise_gradient(const conv *c) {
    if (c->groups != 1 || c->x_batch != 1 || c->w_out != 1 || c->y_batch != 1 || c->batch < 2 || c->outs < 2)
        return false;
    const int64_t px = c->batch, pw = c->outs, cells = whole_taps(c, false, px);
    if (!cells || whole_taps(c, true, pw) != cells || (c->channels > 1 && (c->x_channel != cells * px || c->w_channel != cells * pw)))
        return false;
    const eng_gemm_args args = {.dtype = c->dtype, .c_dtype = c->y_dtype, .batch = 1, .m = c->outs, .n = c->batch, .k = c->channels * cells,
                                .a = c->w, .lda = pw, .a_transposed = true, .b = c->x, .ldb = px, .c = c->y, .ldc = c->y_out};
    return eng_gemm(&args);
}

/* ---- implicit product ---- */
enum { MOST_ROWS = 504, MOST_PANELS = 8, FEW_PANELS = 16, BLOCK_ROWS = 168, LIGHT = 2048, DOT_COLUMNS = 64 };
enum { LEAST_SPAN = 1024, LEAST_SPANS = 4, MOST_SPANS = 8, MOST_SUMS = 1 << 17 };

/* Weights are packed once for all tasks, or, where there are so few columns that one block holds them all, by each task
 * for its rows and block of k just before use: they then never leave the first cache. */
typedef struct product {
    const conv *c;
    char *panels;           /* of w: [group][row panel][k word][row]; NULL: tasks pack */
    int64_t words, steps;   /* of all k; k per block */
    int64_t mr, row_panels; /* rows in a panel; panels a group */
    int64_t block_rows, row_blocks, block_columns, column_blocks;
    int64_t packed_columns; /* at a time */
    bool blocks;            /* tasks pack all of their rows for a block of k */
    int64_t spans, span;    /* of k, of so many steps: the sums of each are kept apart and added up in the end */
    char *sums;             /* of spans: [span][group][row][column] */
    int64_t ld_sums;
} product;

static char *weight_panel(const product *p, int64_t g, int64_t i) {
    return p->panels + (g * p->c->outs + i) * p->words * p->c->f->word_bytes;
}

int64_t conv_spans(const conv *c, int64_t lanes) {
    const int64_t spans = eng_min(MOST_SPANS, c->k / LEAST_SPAN);
    return spans < LEAST_SPANS || c->groups * c->outs * lanes > MOST_SUMS ? 1 : spans;
}

bool conv_shared_evenly(int64_t tasks) {
    const int64_t threads = eng_pool_size();
    return threads == 1 || tasks >= 8 * threads || (tasks >= 2 * threads && tasks % threads == 0);
}

void conv_add_sums(const conv *c, char *to, const char *from, int64_t n) {
    if (c->f->sum == TT_F32)
        c->kernels->add((float *)(void *)to, (const float *)(const void *)from, n);
    else
        for (int64_t i = 0; i < n; i++)
            ((double *)(void *)to)[i] += ((const double *)(const void *)from)[i];
}

static int64_t weights_bytes(const conv *c) {
    return c->groups * c->outs * eng_words(c->f, c->k) * c->f->word_bytes;
}

/* Of the shared scratch, beside a copy of x. */
static int64_t product_bytes(const conv *c) {
    const int64_t ld = eng_round_up(c->columns, c->f->nr), sums = conv_spans(c, ld) * c->groups * c->outs * ld * c->sum_bytes;
    return eng_max(weights_bytes(c), sums) + 256;
}

void conv_pack_weights(const conv *c, int64_t g, int64_t i, int64_t m, int64_t k, int64_t kc, char *panel) {
    const eng_flavor *f = c->f;
    if (!c->tap_major && c->weights_step == 1 && (c->channels == 1 || c->w_channel == c->taps)) {
        const int64_t from = g * c->w_group + i * c->w_out + c->tap_weight[0] + k;
        f->pack_cols(panel, m, (int)m, c->w + from * c->bytes, c->w_out, m, kc);
        return;
    }
    const bool even = f->per_word == 1 || (k % 2 == 0 && c->taps % 2 == 0);
    if (!c->tap_major && c->weights_step == 1 && c->taps >= 16 && even) { /* weight gradients: a run for each channel */
        for (const int64_t end = k + kc; k < end;) {
            const int64_t t = k % c->taps, count = eng_min(c->taps - t, end - k);
            const int64_t from = g * c->w_group + i * c->w_out + k / c->taps * c->w_channel + c->tap_weight[t];
            f->pack_cols(panel, m, (int)m, c->w + from * c->bytes, c->w_out, m, count);
            panel += eng_words(f, count) * m * f->word_bytes;
            k += count;
        }
        return;
    }
    if (!c->tap_major && c->w_out < c->w_channel && c->taps < 16) { /* input gradients: neighbouring rows lie together */
        const bool as_is = f->per_word == 1 && f->word_bytes == f->element_bytes;
        char *steps = as_is ? panel : eng_scratch_need(ENG_SLOT_A, (size_t)(m * kc * c->bytes));
        conv_gather_steps(c, g, i, m, k, kc, steps);
        if (!as_is)
            f->pack_rows(panel, m, (int)m, steps, m, m, kc);
        return;
    }
    char *rows = eng_scratch_need(ENG_SLOT_A, (size_t)(m * kc * c->bytes));
    conv_gather_weights(c, g, i, m, k, kc, rows);
    f->pack_cols(panel, m, (int)m, rows, kc, m, kc);
}

static void weights_task(void *context, int64_t task, int worker) {
    (void)worker;
    const product *p = context;
    const conv *c = p->c;
    const int64_t g = task / p->row_panels, i = task % p->row_panels * p->mr, m = eng_min(c->outs - i, p->mr);
    for (int64_t k = 0; k < c->k; k += p->steps)
        conv_pack_weights(c, g, i, m, k, eng_min(c->k - k, p->steps),
                     weight_panel(p, g, i) + k / c->f->per_word * m * c->f->word_bytes);
}

/* Offset in y of a column, without group and row. */
static int64_t y_at(const conv *c, int64_t column) {
    int64_t n, pos[CONV_DIMS];
    conv_locate(c, column, &n, pos);
    return n * c->y_batch + pos[0] * c->dim[0].y + pos[1] * c->dim[1].y + pos[2] * c->dim[2].y;
}

/* Columns from `column` on whose places in y are evenly apart, by how much, at most n. */
static int64_t y_run(const conv *c, int64_t column, int64_t n, int64_t *out_step) {
    if (c->images_inner) {
        *out_step = c->y_batch;
        return eng_min(n, c->batch - column % c->batch);
    }
    *out_step = c->dim[2].y;
    return eng_min(n, c->y_linear ? c->positions - column % c->positions
                                  : c->dim[2].out - column % c->dim[2].out);
}

/* The same where rows are (out, phase): those of two neighbours in y are written in turn. */
static void put_joined(const conv *c, int64_t g, int64_t i, int64_t m, int64_t column, int64_t n, const void *sums, int64_t ld) {
    const bool wide = c->f->sum == TT_F64, as_is = c->y_dtype == c->f->sum;
    for (int64_t j = 0; j < n;) {
        const int64_t count = eng_min(n - j, c->dim[2].out - (column + j) % c->dim[2].out), at = g * c->y_group + y_at(c, column + j);
        for (int64_t r = 0; r < m; r += 2) {
            const char *pair[2] = {(const char *)sums + (r * ld + j) * (wide ? 8 : 4), (const char *)sums + ((r + 1) * ld + j) * (wide ? 8 : 4)};
            uint16_t rounded[2][ENG_MAX_NR];
            for (int u = 0; u < 2 && !as_is; u++) {
                c->kernels->narrow(c->y_dtype, rounded[u], (const float *)(const void *)pair[u], count);
                pair[u] = (const char *)rounded[u];
            }
            char *to = c->y + (at + (i + r) / c->joined * c->y_out + c->phase_y[(i + r) % c->joined]) * c->y_bytes;
            c->kernels->interleave((int)c->y_bytes, to, pair[0], pair[1], count);
        }
        j += count;
    }
}

/* Rounds a tile of sums (rows i.., columns column..) to where it belongs in y. */
static void put_tile(const conv *c, int64_t g, int64_t i, int64_t m, int64_t column, int64_t n,
                     const void *sums, int64_t ld) {
    if (c->joined) {
        put_joined(c, g, i, m, column, n, sums, ld);
        return;
    }
    char *y = c->y + (g * c->y_group + i * c->y_out) * c->y_bytes;
    const bool wide = c->f->sum == TT_F64;
    const int64_t sum_bytes = wide ? 8 : 4;
    if (c->y_out == 1 && c->positions * c->batch > 1 && !wide) { /* channels last: a column is contiguous */
        for (int64_t j = 0; j < n; j++) {
            float one[ENG_MAX_MR];
            for (int64_t r = 0; r < m; r++)
                one[r] = ((const float *)sums)[r * ld + j];
            c->kernels->narrow(c->y_dtype, y + y_at(c, column + j) * c->y_bytes, one, m);
        }
        return;
    }
    for (int64_t j = 0; j < n;) {
        int64_t step;
        const int64_t count = y_run(c, column + j, n - j, &step);
        char *to = y + y_at(c, column + j) * c->y_bytes;
        for (int64_t r = 0; r < m; r++, to += c->y_out * c->y_bytes) {
            const char *from = (const char *)sums + (r * ld + j) * sum_bytes;
            uint64_t rounded[ENG_MAX_NR];
            char *into = step == 1 ? to : (char *)rounded;
            if (wide)
                memcpy(into, from, (size_t)(count * 8));
            else
                c->kernels->narrow(c->y_dtype, into, (const float *)(const void *)from, count);
            if (step != 1)
                conv_copy(to, step, into, 1, count, c->y_bytes);
        }
        j += count;
    }
}

/* What a task works on, and where. */
typedef struct part {
    const product *p;
    int64_t g, i0, rows, j0, columns, panel; /* panel: bytes */
    int64_t k0, end;
    char *pb, *pa, *kept; /* panels of x and of w; sums, if they take several blocks of k */
    int64_t ld_kept;
} part;

/* Columns [j0 + from, j0 + end) of a task over steps [k, k + kc): panels of x, then all rows. */
static void product_block(const part *t, int64_t k, int64_t kc, int64_t from, int64_t end) {
    const product *p = t->p;
    const conv *c = p->c;
    const eng_flavor *f = c->f;
    const bool sums_fit = c->y_dtype == f->sum && c->y_linear && !c->images_inner && !p->sums;
    double last[ENG_MAX_MR * ENG_MAX_NR];
    for (int64_t j = from; j < end; j += f->nr)
        conv_pack_columns(c, t->g, t->j0 + j, eng_min(t->columns - j, f->nr), k, kc,
                          t->pb + (j - from) / f->nr * t->panel);
    for (int64_t i = t->i0; i < t->i0 + t->rows; i += p->mr) {
        const int64_t m = eng_min(t->i0 + t->rows - i, p->mr);
        char *pa = p->panels   ? weight_panel(p, t->g, i) + k / f->per_word * m * f->word_bytes
                   : p->blocks ? t->pa + (i - t->i0) * eng_words(f, p->steps) * f->word_bytes
                               : t->pa;
        if (!p->panels && (from == 0 || !p->blocks))
            conv_pack_weights(c, t->g, i, m, k, kc, pa);
        for (int64_t j = from; j < end; j += f->nr) {
            const int64_t n = eng_min(t->columns - j, f->nr), column = t->j0 + j;
            const bool direct = sums_fit && column / c->positions == (column + n - 1) / c->positions;
            void *to = direct ? (void *)(c->y + (t->g * c->y_group + i * c->y_out + y_at(c, column)) * c->y_bytes)
                       : t->kept ? (void *)(t->kept + ((i - t->i0) * t->ld_kept + j) * c->sum_bytes)
                                 : last;
            const int64_t ld = direct ? c->y_out : t->kept ? t->ld_kept : f->nr;
            f->tile[m](eng_words(f, kc), pa, t->pb + (j - from) / f->nr * t->panel, to, ld, k > t->k0, n);
            if (!direct && k + kc >= c->k && !p->sums)
                put_tile(c, t->g, i, m, column, n, to, ld);
        }
    }
}

static char *span_sums(const product *p, int64_t span, int64_t g, int64_t i) {
    return p->sums + ((span * p->c->groups + g) * p->c->outs + i) * p->ld_sums * p->c->sum_bytes;
}

static void product_task(void *context, int64_t task, int worker) {
    (void)worker;
    const product *p = context;
    const conv *c = p->c;
    const eng_flavor *f = c->f;
    const int64_t row_block = task % p->row_blocks, column_block = task / p->row_blocks % p->column_blocks;
    const int64_t words = eng_words(f, p->steps), span = task / p->row_blocks / p->column_blocks % p->spans;
    part t = {.p = p,
              .g = task / p->row_blocks / p->column_blocks / p->spans,
              .k0 = span * p->span,
              .i0 = row_block * p->block_rows,
              .j0 = column_block * p->block_columns,
              .panel = words * f->nr * f->word_bytes};
    t.rows = eng_min(c->outs - t.i0, p->block_rows);
    t.columns = eng_min(c->columns - t.j0, p->block_columns);
    t.end = eng_min(c->k, t.k0 + p->span);
    t.ld_kept = p->sums ? p->ld_sums : eng_round_up(t.columns, f->nr);
    const int64_t pa_rows = p->panels ? 0 : p->blocks ? eng_round_up(t.rows, p->mr) : p->mr;
    const int64_t pb_bytes = eng_blocks(eng_min(t.columns, p->packed_columns), f->nr) * t.panel;
    t.pb = eng_scratch_need(ENG_SLOT_B, (size_t)(pb_bytes + (pa_rows * words + ENG_MAX_NR) * f->word_bytes));
    t.pa = t.pb + pb_bytes;
    if (p->sums)
        t.kept = span_sums(p, span, t.g, t.i0) + t.j0 * c->sum_bytes;
    else if (p->steps < c->k)
        t.kept = eng_scratch_need(ENG_SLOT_C, (size_t)(t.rows * t.ld_kept * c->sum_bytes));
    for (int64_t k = t.k0; k < t.end; k += p->steps)
        for (int64_t j = 0; j < t.columns; j += p->packed_columns)
            product_block(&t, k, eng_min(t.end - k, p->steps), j, eng_min(t.columns, j + p->packed_columns));
}

/* A row panel of all spans, added up in their order. */
static void spans_task(void *context, int64_t task, int worker) {
    (void)worker;
    const product *p = context;
    const conv *c = p->c;
    const int64_t g = task / p->row_panels, i = task % p->row_panels * p->mr, m = eng_min(c->outs - i, p->mr);
    char *sums = span_sums(p, 0, g, i);
    for (int64_t s = 1; s < p->spans; s++)
        for (int64_t r = 0; r < m; r++)
            conv_add_sums(c, sums + r * p->ld_sums * c->sum_bytes, span_sums(p, s, g, i + r), c->columns);
    for (int64_t j = 0; j < c->columns; j += c->f->nr)
        put_tile(c, g, i, m, j, eng_min(c->columns - j, c->f->nr), sums + j * c->sum_bytes, p->ld_sums);
}

/* Cuts rows and columns as threads need; sums do not depend on it. */
static void cut_product(product *p) {
    const conv *c = p->c;
    const eng_flavor *f = c->f;
    p->block_rows = eng_round_up(eng_blocks(c->outs, eng_blocks(c->outs, p->panels ? MOST_ROWS : c->outs)), p->mr);
    /* weights from beyond the second cache are worth more columns */
    const bool far = weights_bytes(c) > 4 << 20;
    p->packed_columns = p->panels || p->blocks ? (far ? FEW_PANELS : MOST_PANELS) * f->nr : c->columns;
    /* columns of weight gradients share what they read of x: they pass over k together */
    p->block_columns = p->panels ? p->packed_columns * (c->shifted ? 8 : 1) : c->columns;
    for (;;) {
        p->row_blocks = eng_blocks(c->outs, p->block_rows);
        p->column_blocks = eng_blocks(c->columns, p->block_columns);
        if (conv_shared_evenly(c->groups * p->spans * p->row_blocks * p->column_blocks))
            break;
        if (p->panels && p->block_columns > 2 * f->nr && c->columns > 2 * f->nr)
            p->block_columns = eng_round_up(eng_min(p->block_columns, c->columns) / 2, f->nr);
        else if (p->block_rows > 4 * p->mr)
            p->block_rows = eng_round_up(p->block_rows / 2, p->mr);
        else
            break;
    }
}

/* ---- few rows and whole images: dot products, which read x once and where it lies ---- */
static void dots_task(void *context, int64_t task, int worker) {
    (void)worker;
    const product *p = context;
    const conv *c = p->c;
    const eng_flavor *f = c->f;
    const int64_t j = task % p->column_blocks * p->block_columns, n = task / p->column_blocks % p->spans, g = task / p->column_blocks / p->spans;
    char *rows = eng_scratch_need(ENG_SLOT_B, (size_t)eng_dots_bytes(f, c->outs, c->taps));
    f->pack_dots(rows, (int)c->outs, c->w + (g * c->w_group + n * c->w_channel + c->tap_weight[0]) * c->bytes, c->w_out, c->taps);
    f->dots[c->outs](c->taps, rows, c->x + (g * c->x_group + n * c->x_channel + j * c->x_batch) * c->bytes, c->x_batch,
                     (float *)(void *)span_sums(p, n, g, 0) + j, p->ld_sums, eng_min(p->block_columns, c->columns - j));
}

static bool has_dots(const conv *c) {
    return c->images_apart && c->outs <= c->f->dot_rows && c->f->dots[c->outs] && c->weights_step == 1 && c->columns >= 16 && c->taps >= 64;
}

/* Spans are images. */
static tt_status conv_by_dots(const conv *c) {
    product p = {.c = c, .mr = c->outs, .row_panels = 1, .spans = c->channels, .ld_sums = eng_round_up(c->columns, c->f->nr),
                 .block_columns = DOT_COLUMNS, .column_blocks = eng_blocks(c->columns, DOT_COLUMNS)};
    const int64_t bytes = p.spans * c->groups * c->outs * p.ld_sums * c->sum_bytes;
    TT_TRY(conv_shared_scratch(bytes, &p.sums));
    eng_parallel(c->groups * p.spans * p.column_blocks, dots_task, &p);
    eng_parallel(c->groups, spans_task, &p);
    return TT_OK;
}

/* `copied`: bytes at the start of the shared scratch that hold x. */
static tt_status implicit_product(const conv *c, int64_t copied) {
    const eng_flavor *f = c->f;
    product p = {.c = c, .words = eng_words(f, c->k), .mr = eng_even_rows(f, c->outs)};
    if (c->joined)
        p.mr = eng_round_up(p.mr, 2);
    p.row_panels = eng_blocks(c->outs, p.mr);
    p.blocks = c->shifted && c->groups == 1 && c->outs <= BLOCK_ROWS && c->columns <= 64 * f->nr;
    const bool panels = c->columns > FEW_PANELS * f->nr && !p.blocks;
    p.ld_sums = eng_round_up(c->columns, f->nr);
    p.spans = panels ? 1 : conv_spans(c, p.ld_sums);
    p.steps = eng_k_block(f, eng_blocks(c->k, p.spans));
    if (panels || p.spans > 1) {
        const int64_t bytes = copied + product_bytes(c);
        char *shared;
        TT_TRY(conv_shared_scratch(bytes, &shared));
        *(panels ? &p.panels : &p.sums) = shared + copied;
    }
    if (panels)
        eng_parallel(c->groups * p.row_panels, weights_task, &p);
    else if (c->columns > MOST_PANELS * f->nr && !p.blocks) /* more columns in the second cache, fewer steps */
        p.steps = eng_k_block(f, eng_blocks(c->k, eng_blocks(c->k, p.steps / 2)));
    p.span = eng_blocks(eng_blocks(c->k, p.steps), p.spans) * p.steps;
    p.spans = eng_blocks(c->k, p.span);
    cut_product(&p);
    eng_parallel(c->groups * p.spans * p.row_blocks * p.column_blocks, product_task, &p);
    if (p.sums)
        eng_parallel(c->groups * p.row_panels, spans_task, &p);
    return TT_OK;
}

void conv_over_taps(const conv *c, bool of_x, int64_t *out) {
    const conv_dim *d = c->dim;
    for (int64_t z = 0; z < d[0].n_taps; z++)
        for (int64_t y = 0; y < d[1].n_taps; y++) {
            const int64_t line = of_x ? d[0].at[z] * d[0].x + d[1].at[y] * d[1].x : d[0].weight[z] * d[0].w + d[1].weight[y] * d[1].w;
            const int64_t *place = of_x ? d[2].at : d[2].weight, step = of_x ? d[2].x : d[2].w;
            for (int64_t x = 0; x < d[2].n_taps; x++)
                *out++ = line + place[x] * step;
        }
}

static void set_tap_weights(conv *c) {
    int64_t *tap_weight = TT_NEW_N(c->arena, int64_t, c->taps);
    conv_over_taps(c, false, tap_weight);
    c->tap_weight = tap_weight;
    c->weights_step = c->taps > 1 ? tap_weight[1] - tap_weight[0] : 1;
    for (int64_t t = 1; t < c->taps && c->weights_step; t++)
        if (tap_weight[t] - tap_weight[t - 1] != c->weights_step)
            c->weights_step = 0;
}

/* Whether a column is what lies in x: weight gradients of 1x1 convolutions. */
static bool whole_images(const conv *c) {
    int64_t elements = 1;
    for (int i = CONV_DIMS - 1; i >= 0; i--) {
        const conv_dim *d = &c->dim[i];
        if (d->out != 1 || d->at[0] != 0 || d->n_taps != d->in || (d->in > 1 && (d->tap_step != 1 || d->x != elements)))
            return false;
        elements *= d->in;
    }
    return !c->tap_major && elements >= 16;
}

/* What the fields as a product follow from. */
static void describe_phase(conv *c) {
    const conv_dim *d = c->dim;
    c->taps = d[0].n_taps * d[1].n_taps * d[2].n_taps;
    c->positions = d[0].out * d[1].out * d[2].out;
    c->columns = c->batch * c->positions;
    c->k = c->channels * c->taps;
    const bool channels_inner = c->x_channel == 1 && c->channels >= 8, long_taps = d[2].n_taps > d[2].out;
    c->by_columns = !channels_inner && !long_taps;
    c->tap_major = channels_inner;
    c->images_inner = !channels_inner && long_taps && c->batch >= 16 && c->positions > 1;
    c->y_linear = d[2].y == 1 && contiguous(d, true);
    if (c->taps && !c->tap_weight)
        set_tap_weights(c);
}

tt_status conv_in_order(conv *c) {
    describe_phase(c);
    const conv_dim *d = c->dim;
    const bool long_taps = d[2].n_taps > d[2].out;
    if (pointwise(c))
        return TT_OK;
    if (conv_direct(c))
        return TT_OK;
    int64_t copied = 0;
    if (conv_has_lines(c))
        TT_TRY(conv_pad(c, conv_lines_bytes(c), &copied));
    if (c->shifted)
        return conv_by_lines(c, copied);
    bool done = false;
    c->images_apart = whole_images(c);
    if (has_dots(c))
        return conv_by_dots(c);
    const bool few = c->images_apart && conv_spans(c, eng_round_up(c->columns, c->f->nr)) > 1;
    if (!c->tap_major && c->y_out != 1 && c->taps > 1 && !few)
        TT_TRY(conv_by_lanes(c, 1, &done));
    if (done)
        return TT_OK;
    /* few products for each element of a panel: to clip every tap at the edges would take longer than they do */
    const bool light = c->by_columns && c->taps > 1 && c->outs >= 8 && c->channels * c->outs <= LIGHT;
    if (light || (long_taps && !c->tap_major && !c->images_apart))
        TT_TRY(conv_pad(c, product_bytes(c), &copied));
    c->shifted = c->shifted && !light;
    c->images_inner = c->images_inner && c->shifted;
    c->images_apart = c->images_apart || whole_images(c);
    return implicit_product(c, copied);
}

/* Phases of one and the same position of x, of which pairs are neighbours in y: windows that do not overlap. As one product. */
static bool join_phases(const conv *c, int64_t n, conv *out) {
    int64_t *phase_y = TT_NEW_N(c->arena, int64_t, n);
    for (int64_t p = 0; p < n; p++) {
        phase_y[p] = (c[p].y - c->y) / c->y_bytes;
        if (c[p].taps != 1 || c[p].tap_weight[0] != c->tap_weight[0] + p || (p % 2 && phase_y[p] != phase_y[p - 1] + 1))
            return false;
        for (int i = 0; i < CONV_DIMS; i++)
            if (c[p].dim[i].at[0] != c->dim[i].at[0] || c[p].dim[i].out != c->dim[i].out)
                return false;
    }
    *out = *c;
    out->joined = n;
    out->phase_y = phase_y;
    out->outs *= n;
    out->w_out = 1;
    return n % 2 == 0 && c->w_out == n && c->dim[2].y == 2;
}

/* What is neither of the ways that take phases together goes one by one. */
static tt_status run_phases(conv *c, int64_t full, bool whole) {
    const bool narrow = c->outs <= 8 && c->channels <= 8; /* conv_direct's */
    int64_t most_taps = 0;
    for (int64_t phase = 0; phase < full; phase++)
        most_taps = eng_max(most_taps, c[phase].taps);
    bool done = false;
    conv joined;
    if (full > 1 && whole && !narrow && join_phases(c, full, &joined))
        return implicit_product(&joined, 0);
    if (full > 1 && most_taps > 1 && !narrow && !c->tap_major && c->y_out != 1) {
        TT_TRY(conv_by_lanes(c, full, &done));
    } else if (full == 1) {
        TT_TRY(conv_by_winograd(c, &done));
        if (!done)
            TT_TRY(conv_by_winograd_grad(c, &done));
    }
    for (int64_t phase = 0; phase < full && !done; phase++)
        TT_TRY(conv_in_order(&c[phase]));
    return TT_OK;
}

/* The ways of channels that lie innermost. */
static tt_status run_last(const conv *c, int64_t full, bool *out_done) {
    *out_done = full == 1 && ((c->y_out == 1 && pointwise(c)) || pointwise_gradient(c));
    if (full == 1 && !*out_done)
        TT_TRY(conv_by_depth_grad(c, out_done));
    if (!*out_done)
        TT_TRY(conv_by_depth(c, full, out_done));
    if (!*out_done)
        TT_TRY(conv_by_tiles(c, full, out_done));
    return TT_OK;
}

/* Splits into phases and runs them. last: ways of channels innermost come first, and what has none is turned. */
static tt_status run_whole(const conv *whole, const window *windows, bool last) {
    const int64_t n[CONV_DIMS] = {phases(&windows[0]), phases(&windows[1]), phases(&windows[2])}, all = n[0] * n[1] * n[2];
    conv *c = TT_NEW_N(whole->arena, conv, all);
    int64_t full = 0;
    for (int64_t phase = 0; phase < all; phase++) {
        const int64_t r[CONV_DIMS] = {phase / n[2] / n[1], phase / n[2] % n[1], phase % n[2]};
        int64_t y_start = 0;
        c[full] = *whole;
        c[full].follow = all == 1 ? whole->follow : NULL; /* phases lie between each other */
        for (int i = 0; i < CONV_DIMS; i++)
            enter_phase(whole->arena, &windows[i], r[i], &c[full].dim[i], &y_start);
        c[full].y += y_start * whole->y_bytes;
        describe_phase(&c[full]);
        full += c[full].k > 0 && c[full].columns > 0 && whole->outs > 0;
    }
    if (full < all)
        memset(whole->y, 0, (size_t)whole->y_size); /* phases without taps */
    bool done = false;
    if (last && full)
        TT_TRY(run_last(c, full, &done));
    if (done || !full)
        return TT_OK;
    conv planes;
    if (last)
        TT_TRY(conv_turn(whole, &planes, &done));
    if (!done)
        return run_phases(c, full, full == all);
    TT_TRY(run_whole(&planes, windows, false));
    conv_turn_back(whole, &planes);
    return TT_OK;
}

tt_status eng_fast_convolution(eng_run *run, const hlo_graph *g, const hlo_node *node, const eng_tensor *in,
                               eng_tensor *out) {
    (void)g;
    conv whole = {.arena = run->arena, .follow = run->follow};
    window windows[CONV_DIMS];
    if (!read_node(node, &in[0], &in[1], out, &whole, windows))
        return eng_not_mine;
    const tt_arena_mark mark = tt_arena_mark_get(run->arena);
    const tt_status status = run_whole(&whole, windows, true);
    tt_arena_rewind(run->arena, mark);
    return status;
}

bool eng_conv(const hlo_graph *g, const hlo_node *node, const eng_tensor *x, const eng_tensor *w,
              eng_tensor *out) {
    const eng_tensor in[2] = {*x, *w};
    eng_run run = {.arena = tt_arena_create()};
    tt_status status = eng_fast_convolution(&run, g, node, in, out);
    tt_arena_destroy(run.arena);
    if (status && status != eng_not_mine)
        tt_status_free(status);
    return !status;
}
