/* program_bands.c - finds steps in a row that may go over their values together, slice by slice.
 *
 * A normalisation is a loop, sums of rows, a loop that reads them, and so on: each would pass over all of memory. Where every step
 * reads, of what the others computed, only the same part of the leading dims, a task takes one slice through all of them while it is in
 * the caches; what nobody else reads never has more memory than a slice. The kernels are those of single steps, so the bits are too.
 * A product can begin a band of another kind: the loop that reads its result runs on each part of it that is there (program_run.c).
 * Works on the drafts of program_plan.c, before program_place.c. */
#include "engine/program_place.h"
#include <string.h>

enum {
    LONGEST = 48,                 /* steps */
    SMALL = 4096,                 /* bytes of results of a step that runs before the slices */
    SLICE = 64 << 10,             /* bytes of the largest value that a task takes on, if slices are small */
    LARGEST_SLICE = 512 << 10,
    PRODUCTS = 16                 /* times as many bytes as of other bands: smaller results are in the caches anyway */
};

int64_t eng_bands_from = 256 << 10;

typedef struct search {
    eng_builder *b;
    int first, last, id;          /* the last: of a step in slices */
    int64_t slices;               /* 0: not known yet */
    int64_t largest, again;       /* bytes of the largest value in slices; of the largest that is read again */
} search;

static int64_t gcd(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static bool is_inside(const search *s, eng_value_place v) {
    return v.root >= 0 && s->b->roots[v.root].band == s->id;
}

static int64_t value_bytes(const eng_builder *b, const eng_draft *d, int k) {
    return d->values[k].root < 0 ? 0 : b->roots[d->values[k].root].bytes;
}

static bool is_whole(const eng_builder *b, const eng_draft *d, int k) {
    return d->values[k].root >= 0 && d->values[k].offset == 0 && hlo_type_bytes(d->step.types[k]) == value_bytes(b, d, k);
}

static bool is_reduce(const eng_builder *b, const eng_draft *d) {
    return d->step.kind == STEP_KERNEL && d->step.node->op == HLO_REDUCE && d->step.n_in == 2 && d->step.n_out == 1 && !d->step.n_captures &&
           !b->p->reference;
}

/* Does the step read input k by slices? */
static bool reads_slices(const eng_builder *b, const eng_draft *d, int k, int64_t slices) {
    if (!is_whole(b, d, k))
        return false;
    return d->step.kind == STEP_LOOP ? eng_loop_reads_slices(d->step.loop, k, value_bytes(b, d, k), slices) : k == 0;
}

/* In how many slices can the step run, at most? 0: in none. */
static int64_t most_slices(const search *s, const eng_draft *d) {
    if (d->updates_rows || d->step.into) /* program_rows.c, program_into.c */
        return 0;
    if (d->step.kind == STEP_LOOP)
        return eng_loop_elements(d->step.loop);
    return is_reduce(s->b, d) ? eng_reduce_slices(s->b->p->g, d->step.node) : 0;
}

static bool fits(const search *s, const eng_draft *d, int64_t slices) {
    if (most_slices(s, d) % slices)
        return false;
    for (int k = 0; k < d->step.n_in; k++)
        if (is_inside(s, d->values[k]) && !reads_slices(s->b, d, k, slices))
            return false;
    return true;
}

/* Takes the step in, if all steps then agree on a number of slices. */
static bool take(search *s, int at, bool *out_reads) {
    eng_builder *b = s->b;
    const eng_draft *d = &b->drafts[at];
    const int64_t most = most_slices(s, d);
    int64_t slices = s->slices, largest = 0, again = 0;
    *out_reads = at == s->first;
    for (int k = 0; k < d->step.n_in + d->step.n_out; k++) {
        const bool in = k < d->step.n_in, inside = in && is_inside(s, d->values[k]);
        *out_reads |= inside;
        largest = !in || inside || reads_slices(b, d, k, 1) ? larger(largest, value_bytes(b, d, k)) : largest;
        if (in && (inside || (d->values[k].root >= 0 && b->roots[d->values[k].root].read_by == s->id)))
            again = larger(again, value_bytes(b, d, k));
    }
    if (!*out_reads || !most)
        return false;
    if (d->step.kind != STEP_LOOP) /* reductions alone say what a slice is */
        slices = gcd(most, slices);
    largest = larger(largest, s->largest);
    if (!fits(s, d, slices ? slices : most) || (slices && (slices < 2 || largest / slices > LARGEST_SLICE)))
        return false;
    for (int i = s->first; i < at && slices != s->slices; i++)
        if (b->drafts[i].in_slices && !fits(s, &b->drafts[i], slices))
            return false;
    s->slices = slices;
    s->largest = largest;
    s->again = larger(s->again, again);
    return true;
}

static void enter(search *s, int at) {
    eng_draft *d = &s->b->drafts[at];
    d->in_slices = true;
    for (int k = 0; k < d->step.n_in; k++)
        if (d->values[k].root >= 0 && reads_slices(s->b, d, k, 1))
            s->b->roots[d->values[k].root].read_by = s->id;
    for (int k = 0; k < d->step.n_out; k++)
        s->b->roots[d->values[d->step.n_in + k].root].band = s->id;
    s->last = at;
}

/* A step that reads nothing of the band can run before it, if its results are small: weights that are converted. */
static bool runs_before(const search *s, const eng_draft *d) {
    int64_t bytes = 0;
    for (int k = 0; k < d->step.n_out; k++)
        bytes += value_bytes(s->b, d, d->step.n_in + k);
    for (int k = 0; k < d->step.n_in; k++)
        if (is_inside(s, d->values[k]))
            return false;
    return d->step.kind == STEP_LOOP && !d->updates_rows && !d->step.into && bytes <= SMALL;
}

static void forget(search *s, int from, int end) {
    for (int i = from; i < end; i++) {
        eng_draft *d = &s->b->drafts[i];
        d->in_slices = false;
        for (int k = 0; k < d->step.n_in + d->step.n_out; k++) {
            eng_root *root = d->values[k].root >= 0 ? &s->b->roots[d->values[k].root] : NULL;
            if (root && root->band == s->id)
                root->band = -1;
            if (root && root->read_by == s->id)
                root->read_by = -1;
        }
    }
}

/* The band that begins at this step: whether there is one. */
static bool grow(search *s) {
    int at = s->first;
    for (; at < s->b->n_drafts && at < s->first + LONGEST; at++) {
        bool reads;
        if (take(s, at, &reads))
            enter(s, at);
        else if (at == s->first || reads || !runs_before(s, &s->b->drafts[at]))
            break;
    }
    if (s->slices >= 2 && s->last > s->first && s->again >= eng_bands_from)
        return true;
    forget(s, s->first, at);
    return false;
}

static void band_add(eng_builder *b, int last, eng_band band) {
    if (b->plan->n_bands == b->cap_bands) {
        b->cap_bands = b->cap_bands ? 2 * b->cap_bands : 16;
        eng_band *list = TT_NEW_N(b->p->arena, eng_band, b->cap_bands);
        if (b->plan->n_bands)
            memcpy(list, b->plan->bands, sizeof *list * (size_t)b->plan->n_bands);
        b->plan->bands = list;
    }
    band.n = last - band.first + 1;
    for (int i = band.first; i <= last; i++)
        b->drafts[i].step.band = b->plan->n_bands;
    b->plan->bands[b->plan->n_bands++] = band;
}

/* ---- a product and the loop after it ---- */
static bool is_product(const eng_builder *b, const eng_draft *d) {
    const int op = d->step.kind == STEP_KERNEL ? d->step.node->op : HLO_INVALID;
    return (op == HLO_DOT_GENERAL || op == HLO_DOT || op == HLO_CONVOLUTION) && d->step.types[d->step.n_in]->dtype == TT_F32 &&
           value_bytes(b, d, d->step.n_in) / PRODUCTS >= eng_bands_from;
}

/* Does the loop read of the product's result nothing but the element that it computes? */
static bool follows(const eng_builder *b, const eng_draft *head, const eng_draft *d) {
    const int result = head->values[head->step.n_in].root;
    const int64_t n = hlo_type_elements(head->step.types[head->step.n_in]);
    int reads = 0;
    if (d->step.kind != STEP_LOOP || d->step.band >= 0 || d->updates_rows || d->step.into)
        return false;
    for (int k = 0; k < d->step.n_in; k++) {
        if (d->values[k].root == result && !reads_slices(b, d, k, n))
            return false;
        reads += d->values[k].root == result;
    }
    return reads == 1 && eng_loop_elements(d->step.loop) == n;
}

static void find_follower(eng_builder *b, int first) {
    search s = {.b = b, .id = b->plan->n_bands};
    eng_draft *head = &b->drafts[first];
    int at = first + 1;
    if (!is_product(b, head))
        return;
    eng_root *result = &b->roots[head->values[head->step.n_in].root];
    result->band = s.id;
    while (at < b->n_drafts && at < first + LONGEST && b->drafts[at].step.band < 0 && runs_before(&s, &b->drafts[at]))
        at++;
    result->band = -1;
    if (at == b->n_drafts || !follows(b, head, &b->drafts[at]))
        return;
    b->drafts[at].in_slices = true;
    band_add(b, at, (eng_band){.first = first, .slices = eng_loop_elements(b->drafts[at].step.loop), .head = true});
}

void eng_bands_find(eng_builder *b) {
    if (b->p->reference)
        return;
    for (int first = 0; first < b->n_drafts; first++) {
        search s = {.b = b, .first = first, .last = first, .id = b->plan->n_bands};
        if (!grow(&s))
            continue;
        const int64_t slice = s.largest / s.slices;
        band_add(b, s.last, (eng_band){.first = first, .slices = s.slices, .at_once = slice < SLICE ? SLICE / slice : 1});
        first = s.last;
    }
    for (int first = 0; first < b->n_drafts; first++)
        if (b->drafts[first].step.band < 0)
            find_follower(b, first);
}

bool eng_band_reads_slices(const eng_builder *b, const eng_draft *d, int input) {
    return d->in_slices && reads_slices(b, d, input, b->plan->bands[d->step.band].slices);
}
