/* program_place.c - where values lie: who shares memory with whom, which result ends in which parameter, the
 * slab.
 *
 * Works on the drafts of program_plan.c, in time linear in steps. An output takes over the memory of an input
 * that dies at the same step where the step can work in place; through chains of such steps an update of a
 * donated parameter happens in the parameter's own memory. */
#include "engine/program_place.h"
#include <string.h>

enum { ALIGN = 64, FREE_SCAN = 256 };

int eng_root_new(eng_builder *b, int kind, int64_t bytes, int def) {
    if (b->n_roots == b->cap_roots) {
        int capacity = b->cap_roots ? b->cap_roots * 2 : 64;
        eng_root *list = TT_NEW_N(b->p->temporary, eng_root, capacity);
        if (b->n_roots)
            memcpy(list, b->roots, sizeof *list * (size_t)b->n_roots);
        b->roots = list;
        b->cap_roots = capacity;
    }
    b->roots[b->n_roots] = (eng_root){.kind = kind,
                                      .param = -1,
                                      .base = -1,
                                      .bytes = bytes,
                                      .def = def,
                                      .latest = def,
                                      .last = def,
                                      .merged = -1,
                                      .band = -1,
                                      .read_by = -1,
                                      .result = -1,
                                      .writable = kind == ROOT_TEMP};
    return b->n_roots++;
}

int eng_root_find(eng_builder *b, int root) {
    while (root >= 0 && b->roots[root].merged >= 0)
        root = b->roots[root].merged;
    return root;
}

static void use(eng_builder *b, eng_value_place v, int step) {
    if (v.root >= 0 && b->roots[v.root].last < step)
        b->roots[v.root].last = step;
}

static int band_end(const eng_builder *b, int step) {
    const int band = b->drafts[step].step.band;
    return band < 0 ? step : b->plan->bands[band].first + b->plan->bands[band].n - 1;
}

static void find_last_uses(eng_builder *b) {
    for (int s = 0; s < b->n_drafts; s++) {
        const eng_draft *d = &b->drafts[s];
        for (int k = 0; k < d->step.n_in; k++) /* what is not read by slices is read until after the last of them */
            use(b, d->values[k], d->step.band < 0 || eng_band_reads_slices(b, d, k) ? s : band_end(b, s) + 1);
        for (int k = 0; k < d->step.n_captures; k++)
            use(b, d->captures[k], s);
    }
    for (int i = 0; i < b->plan->n_results; i++)
        use(b, b->results[i], LAST_RESULT);
}

/* Products that need no memory: one loop reads them, and does not work in place. Those of few rows or columns are not handed over, nor are
 * all convolutions. */
static void find_passing(eng_builder *b) {
    enum { FEW_ROWS = 28 };
    for (int i = 0; i < b->plan->n_bands; i++) {
        eng_band *band = &b->plan->bands[i];
        const eng_draft *d = &b->drafts[band->first];
        const hlo_type *t = d->step.types[d->step.n_in];
        eng_root *product = band->head ? &b->roots[d->values[d->step.n_in].root] : NULL;
        band->passing = product && product->last == band_end(b, band->first) && product->latest == band->first && t->rank > 1 &&
                        t->dims[t->rank - 2] > FEW_ROWS && t->dims[t->rank - 1] > FEW_ROWS && d->step.node->op != HLO_CONVOLUTION;
        if (band->passing)
            product->base = BASE_NOTHING;
    }
}

/* Slices of a band are at different steps: its memory is given back when all are done. */
static void last_until_bands_end(eng_builder *b) {
    for (int r = 0; r < b->n_roots; r++)
        if (b->roots[r].last >= 0 && b->roots[r].last < b->n_drafts)
            b->roots[r].last = band_end(b, b->roots[r].last);
}

/* Results that nobody reads need no memory where the kernel can do without them. */
static void skip_unread(eng_builder *b) {
    for (int s = 0; s < b->n_drafts; s++) {
        const eng_draft *d = &b->drafts[s];
        for (int k = 0; d->step.kind == STEP_COMPOSITE && k < d->step.n_out; k++) {
            eng_root *root = &b->roots[d->values[d->step.n_in + k].root];
            if (root->last == root->def && eng_composite_may_skip(d->step.node, k))
                root->base = BASE_NOTHING;
        }
    }
}

/* ---- in place ---- */
static bool used_once(eng_builder *b, const eng_draft *d, int input) {
    int root = eng_root_find(b, d->values[input].root);
    for (int k = 0; k < d->step.n_in; k++)
        if (k != input && eng_root_find(b, d->values[k].root) == root)
            return false;
    for (int k = 0; k < d->step.n_captures; k++)
        if (eng_root_find(b, d->captures[k].root) == root)
            return false;
    return true;
}

static bool may_take(eng_builder *b, const eng_draft *d, int step, int input, int output) {
    eng_value_place from = d->values[input], to = d->values[d->step.n_in + output];
    int a = eng_root_find(b, from.root);
    if (a < 0 || from.offset)
        return false;
    const eng_root *ra = &b->roots[a], *rb = &b->roots[to.root];
    return ra->writable && ra->last == step && ra->latest < step && ra->bytes == rb->bytes &&
           rb->merged < 0 && (d->step.into || used_once(b, d, input)); /* of a loop that writes rows program_into.c knows what it reads */
}

static bool merge(eng_builder *b, const eng_draft *d, int step, int input, int output) {
    if (!may_take(b, d, step, input, output))
        return false;
    int a = eng_root_find(b, d->values[input].root), o = d->values[d->step.n_in + output].root;
    eng_root *ra = &b->roots[a], *ro = &b->roots[o];
    ro->merged = a;
    ra->latest = step;
    ra->last = ro->last;
    if (ra->kind == ROOT_PARAM)
        b->plan->written[ra->param] = true;
    return true;
}

static void merge_step(eng_builder *b, int s) {
    eng_draft *d = &b->drafts[s];
    switch (d->step.kind) {
    case STEP_LOOP:
        if (d->step.into)
            merge(b, d, s, d->step.n_in - 1, 0);
        for (int o = 0; d->over && o < d->step.n_out; o++)
            for (int i = 0; i < d->step.n_in; i++)
                if (d->over[o * d->step.n_in + i] && merge(b, d, s, i, o))
                    break;
        break;
    case STEP_UPDATE:
        merge(b, d, s, 0, 0);
        break;
    case STEP_KERNEL:
        /* the fast scatter copies operand 0 to the result (onto itself: nothing) before it updates it */
        if (d->step.node->op == HLO_SCATTER && d->step.n_out == 1 && !b->p->reference &&
            d->step.kernel != d->step.fallback)
            merge(b, d, s, 0, 0);
        break;
    case STEP_WHILE:
        d->step.carried_in_place = TT_NEW_N(b->p->arena, bool, d->step.n_out);
        for (int k = 0; k < d->step.n_out; k++)
            d->step.carried_in_place[k] = merge(b, d, s, k, k);
        break;
    default:
        break;
    }
}

/* ---- results ---- */
static bool param_may_hold(const eng_builder *b, int param, int result) {
    return !b->results_in_own_params || param == result;
}

/* A parameter that is dead before step `def` and whose memory fits result i. */
static int dead_param(eng_builder *b, int i, int def) {
    int alias_first = -1;
    for (int k = 0; b->alias && k < b->plan->n_own_params; k++)
        if (b->alias[k] == i)
            alias_first = k;
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < b->plan->n_own_params; k++) {
            const eng_root *r = &b->roots[k]; /* parameters are the first roots */
            if (pass == 0 && k != alias_first)
                continue;
            if (r->writable && r->result < 0 && r->last < def && r->bytes == b->result_bytes[i] && r->bytes &&
                param_may_hold(b, k, i))
                return k;
        }
    return -1;
}

static void copy_result(eng_builder *b, int i) {
    /* room was left for one more draft per result */
    eng_draft *d = &b->drafts[b->n_drafts++];
    *d = (eng_draft){.step = {.kind = STEP_COPY, .n_in = 1, .n_out = 1, .bytes = b->result_bytes[i], .band = -1}};
    d->values = TT_NEW_N(b->p->temporary, eng_value_place, 2);
    d->values[0] = b->results[i];
    int root = eng_root_new(b, ROOT_TEMP, b->result_bytes[i], b->n_drafts - 1);
    b->roots[root].base = BASE_PARAMS + b->plan->n_params + i;
    b->roots[root].last = LAST_RESULT;
    b->roots[root].result = i;
    d->values[1] = (eng_value_place){root, 0};
    b->results[i] = d->values[1];
}

static void place_results(eng_builder *b) {
    int n_results = b->plan->n_results;
    eng_draft *room = TT_NEW_N(b->p->temporary, eng_draft, b->n_drafts + n_results);
    if (b->n_drafts)
        memcpy(room, b->drafts, sizeof *room * (size_t)b->n_drafts);
    b->drafts = room;
    for (int i = 0; i < n_results; i++) {
        eng_value_place v = b->results[i];
        int r = eng_root_find(b, v.root);
        if (r < 0 || v.offset || b->roots[r].result >= 0 || b->roots[r].bytes != b->result_bytes[i]) {
            copy_result(b, i);
            continue;
        }
        eng_root *root = &b->roots[r];
        if (root->kind == ROOT_PARAM) {
            if (!root->writable || !param_may_hold(b, root->param, i)) {
                copy_result(b, i);
                continue;
            }
            b->plan->written[root->param] = true; /* the result takes the memory: the run must own it */
        } else {
            root->base = BASE_PARAMS + b->plan->n_params + i;
        }
        root->result = i;
    }
    /* fresh results in memory of donated parameters that nobody reads any more */
    for (int i = 0; i < n_results; i++) {
        int r = eng_root_find(b, b->results[i].root);
        if (b->roots[r].kind != ROOT_TEMP || b->roots[r].result != i)
            continue;
        int k = dead_param(b, i, b->roots[r].def);
        if (k < 0)
            continue;
        b->roots[k].result = i;
        b->roots[r].base = BASE_PARAMS + k;
        b->plan->written[k] = true;
    }
}

/* ---- the slab ---- */
typedef struct span {
    int64_t offset, bytes;
} span;
typedef struct slab {
    span *free;
    int n, capacity;
    int64_t top;
    tt_arena *arena;
} slab;

static int64_t slab_take(slab *s, int64_t bytes) {
    int best = -1;
    for (int i = 0; i < s->n && i < FREE_SCAN; i++)
        if (s->free[i].bytes >= bytes && (best < 0 || s->free[i].bytes < s->free[best].bytes))
            best = i;
    if (best >= 0) {
        int64_t at = s->free[best].offset;
        s->free[best].offset += bytes;
        s->free[best].bytes -= bytes;
        if (!s->free[best].bytes)
            memmove(s->free + best, s->free + best + 1, sizeof(span) * (size_t)(--s->n - best));
        return at;
    }
    int64_t at = s->top;
    if (s->n && s->free[s->n - 1].offset + s->free[s->n - 1].bytes == s->top) /* grow the last hole */
        at = s->free[--s->n].offset;
    s->top = at + bytes;
    return at;
}

static void slab_give(slab *s, int64_t offset, int64_t bytes) {
    int low = 0, high = s->n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (s->free[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    bool joins_left = low > 0 && s->free[low - 1].offset + s->free[low - 1].bytes == offset;
    bool joins_right = low < s->n && offset + bytes == s->free[low].offset;
    if (joins_left && joins_right) {
        s->free[low - 1].bytes += bytes + s->free[low].bytes;
        memmove(s->free + low, s->free + low + 1, sizeof(span) * (size_t)(--s->n - low));
    } else if (joins_left) {
        s->free[low - 1].bytes += bytes;
    } else if (joins_right) {
        s->free[low].offset = offset;
        s->free[low].bytes += bytes;
    } else {
        if (s->n == s->capacity) {
            span *list = TT_NEW_N(s->arena, span, s->capacity * 2);
            memcpy(list, s->free, sizeof(span) * (size_t)s->n);
            s->free = list;
            s->capacity *= 2;
        }
        memmove(s->free + low + 1, s->free + low, sizeof(span) * (size_t)(s->n++ - low));
        s->free[low] = (span){offset, bytes};
    }
}

static int64_t aligned(int64_t bytes) {
    return (bytes + ALIGN - 1) & ~(int64_t)(ALIGN - 1);
}

/* A value that only the steps of a band use has memory for the slices that a task takes on. */
static bool place_slices(eng_builder *b, eng_root *root) {
    eng_band *band = root->band < 0 ? NULL : &b->plan->bands[root->band];
    if (!band || root->last >= band->first + band->n)
        return false;
    root->base = BASE_SLICE;
    root->offset = band->scratch_bytes;
    band->scratch_bytes += aligned(root->bytes / band->slices * band->at_once);
    return true;
}

static void place_slab(eng_builder *b) {
    /* roots were made in the order of the steps that define them; those that die at a step are linked by it
     */
    slab s = {.capacity = 64, .arena = b->p->temporary};
    s.free = TT_NEW_N(b->p->temporary, span, s.capacity);
    int *dies = TT_NEW_N(b->p->temporary, int, b->n_drafts),
        *next = TT_NEW_N(b->p->temporary, int, b->n_roots);
    for (int i = 0; i < b->n_drafts; i++)
        dies[i] = -1;
    int r = 0;
    for (int step = 0; step < b->n_drafts; step++) {
        for (; r < b->n_roots && b->roots[r].def <= step; r++) {
            eng_root *root = &b->roots[r];
            if (root->kind != ROOT_TEMP || root->merged >= 0 || root->base >= 0 || place_slices(b, root))
                continue;
            int64_t bytes = aligned(root->bytes);
            root->base = BASE_SLAB;
            root->offset = bytes ? slab_take(&s, bytes) : 0;
            if (bytes && root->last < b->n_drafts) {
                next[r] = dies[root->last];
                dies[root->last] = r;
            }
        }
        for (int k = dies[step]; k >= 0; k = next[k])
            slab_give(&s, b->roots[k].offset, aligned(b->roots[k].bytes));
    }
    b->plan->slab_bytes = s.top;
}

/* ---- the finished plan ---- */
static eng_place place_of(eng_builder *b, eng_value_place v) {
    if (v.root == ROOT_CONSTANTS)
        return (eng_place){BASE_CONSTANTS, v.offset};
    const eng_root *r = &b->roots[eng_root_find(b, v.root)];
    return (eng_place){r->base, r->offset + v.offset};
}

static eng_place *places_of(eng_builder *b, const eng_value_place *values, int n) {
    eng_place *places = TT_NEW_N(b->p->arena, eng_place, n);
    for (int k = 0; k < n; k++)
        places[k] = place_of(b, values[k]);
    return places;
}

/* Of each place of a step in slices the bytes of a slice, if it is memory of slices. */
static int64_t *slices_of(eng_builder *b, const eng_draft *d) {
    const int n = d->step.n_in + d->step.n_out;
    int64_t *bytes = TT_NEW_N(b->p->arena, int64_t, n + 1);
    for (int k = 0; k < n; k++)
        if (d->step.places[k].base == BASE_SLICE)
            bytes[k] = b->roots[eng_root_find(b, d->values[k].root)].bytes / b->plan->bands[d->step.band].slices;
    return bytes;
}

static void finish_step(eng_builder *b, eng_draft *d) {
    eng_step *s = &d->step;
    s->places = places_of(b, d->values, s->n_in + s->n_out);
    s->slice_bytes = d->in_slices ? slices_of(b, d) : NULL;
    s->capture_places = places_of(b, d->captures, s->n_captures);
    s->first_tensor = b->plan->n_tensors;
    if (s->kind == STEP_KERNEL || s->kind == STEP_COMPOSITE || s->kind == STEP_UPDATE)
        b->plan->n_tensors += s->n_in + s->n_out;
    s->first_capture = b->plan->n_tensors;
    if (s->kind == STEP_KERNEL)
        b->plan->n_tensors += s->n_captures;
    s->first_child = b->plan->n_children;
    b->plan->n_children += s->n_blocks;
    if (s->n_blocks) {
        s->slabs = TT_NEW_N(b->p->arena, eng_place, s->n_blocks);
        for (int k = 0; k < s->n_blocks; k++)
            s->slabs[k] = place_of(b, (eng_value_place){d->slab_roots[k], 0});
    }
    if (d->other_roots) {
        s->other = TT_NEW_N(b->p->arena, eng_place, s->n_out);
        for (int k = 0; k < s->n_out; k++)
            s->other[k] = d->other_roots[k] < 0 ? (eng_place){-1, 0}
                                                : place_of(b, (eng_value_place){d->other_roots[k], 0});
    }
    if (s->kind == STEP_WHILE && 2 * s->n_out > b->plan->max_pointers)
        b->plan->max_pointers = 2 * s->n_out;
}

tt_status eng_places_assign(eng_builder *b) {
    find_last_uses(b);
    skip_unread(b);
    for (int s = 0; s < b->n_drafts; s++)
        merge_step(b, s);
    find_passing(b);
    last_until_bands_end(b);
    place_results(b);
    place_slab(b);
    eng_plan *plan = b->plan;
    plan->n_steps = b->n_drafts;
    plan->steps = TT_NEW_N(b->p->arena, eng_step, b->n_drafts);
    for (int s = 0; s < b->n_drafts; s++) {
        finish_step(b, &b->drafts[s]);
        plan->steps[s] = b->drafts[s].step;
    }
    plan->results = places_of(b, b->results, plan->n_results);
    if (b->block == b->p->g->funcs[0]->body)
        eng_rows_assign(b);
    return TT_OK;
}
