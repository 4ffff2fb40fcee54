/* program.c - programs and frames: from text to a plan, and what a device needs to run it.
 *
 * parse, verify, turn unknown composites into calls, inline, fold, plan. Knows no PJRT object. */
#include "base/log.h"
#include "engine/program_place.h"
#include "hlo/text.h"
#include <stdlib.h>
#include <string.h>

/* ---- composites ---- */
static bool keep_composite(const char *name) {
    (void)name;
    return true; /* those without a kernel are calls by now */
}

static void calls_from_composites(hlo_graph *g, bool reference) {
    for (uint32_t i = 1; i < g->n_nodes; i++) {
        hlo_node *n = &g->nodes[i];
        if (n->op != HLO_COMPOSITE || (!reference && eng_composite_known(g, n)))
            continue;
        const char *callee = hlo_attr_text(n, HLO_A_DECOMPOSITION, NULL);
        if (!callee)
            continue;
        hlo_attr *attr = TT_NEW(g->arena, hlo_attr);
        *attr = (hlo_attr){.name = HLO_A_CALLEE, .kind = HLO_K_SYMBOL, .text = callee};
        n->op = HLO_CALL;
        n->attrs = attr;
        n->n_attrs = 1;
    }
}

/* ---- constants ---- */
static tt_status fill_constants(eng_program *program, const eng_planner *p) {
    program->constant_bytes = p->constant_bytes;
    size_t bytes = ((size_t)p->constant_bytes + 127) & ~(size_t)63;
    program->constants = aligned_alloc(64, bytes);
    if (!program->constants)
        TT_FAIL(RESOURCE_EXHAUSTED, "out of memory: %zu bytes of constants", bytes);
    for (int i = 0; i < p->n_constants; i++) {
        const hlo_node *n = hlo_node_at(p->g, p->constants[i]);
        char *out = (char *)program->constants + p->constant_offsets[p->constants[i]];
        if (n->op == HLO_IOTA) {
            eng_tensor t = {*n->type, out};
            eng_run run = {.arena = p->temporary, .n_devices = 1, .reference = true};
            if (!eng_ref_kernels[HLO_IOTA])
                TT_FAIL(UNIMPLEMENTED, "stablehlo.iota is not supported by the engine");
            TT_TRY(eng_ref_kernels[HLO_IOTA](&run, p->g, n, NULL, &t));
            continue;
        }
        const hlo_attr *value = hlo_attr_find(n, HLO_A_VALUE);
        int64_t total = hlo_type_bytes(n->type);
        if (!value || !value->data)
            TT_FAIL(INVALID_ARGUMENT, "a constant has no value");
        if (!value->splat) {
            memcpy(out, value->data, (size_t)total);
            continue;
        }
        int64_t done = tt_dtype_size(n->type->dtype);
        if (eng_is_spread(p, n))
            total = done;
        if (total)
            memcpy(out, value->data, (size_t)done);
        for (; done < total; done *= 2) /* doubles what is there */
            memcpy(out + done, out, (size_t)(done <= total - done ? done : total - done));
    }
    return TT_OK;
}

/* ---- programs ---- */
static void describe(eng_program *program, const hlo_func *entry) {
    hlo_graph *g = program->graph;
    const hlo_block *body = entry->body;
    tt_arena *a = program->arena;
    program->n_params = body->n_params;
    program->n_results = body->n_results;
    program->param_types = TT_NEW_N(a, const hlo_type *, body->n_params);
    program->result_types = TT_NEW_N(a, const hlo_type *, body->n_results);
    program->donated = TT_NEW_N(a, bool, body->n_params);
    for (int i = 0; i < body->n_params; i++) {
        program->param_types[i] = hlo_type_of(g, body->params[i]);
        program->argument_bytes += hlo_type_bytes(program->param_types[i]);
        program->donated[i] = (entry->donated && entry->donated[i]) || (entry->alias && entry->alias[i] >= 0);
    }
    for (int i = 0; i < body->n_results; i++) {
        program->result_types[i] = hlo_type_of(g, body->results[i]);
        program->output_bytes += hlo_type_bytes(program->result_types[i]);
    }
    program->n_replicas = g->n_replicas > 0 ? g->n_replicas : 1;
    program->n_partitions = g->n_partitions > 0 ? g->n_partitions : 1;
}

static void describe_plan(eng_program *program, const eng_planner *p) {
    const eng_plan *plan = program->plan;
    program->written = plan->written;
    program->result_in_param = TT_NEW_N(program->arena, int, program->n_results);
    for (int i = 0; i < program->n_results; i++) {
        int param = plan->results[i].base - BASE_PARAMS;
        program->result_in_param[i] = param < program->n_params ? param : -1;
        if (param < program->n_params)
            program->alias_bytes += hlo_type_bytes(program->result_types[i]);
    }
    program->slab_bytes = plan->slab_bytes;
    program->flops = plan->flops;
    program->bytes_accessed = plan->bytes;
    program->estimate_ns = (int64_t)plan->ns;
    program->collective = p->collective;
    program->n_rows = plan->n_rows;
    program->rows = plan->rows;
}

static tt_status plan_program(eng_program *program, tt_arena *temporary) {
    hlo_graph *g = program->graph;
    TT_CHECK(g->n_funcs > 0 && g->funcs[0]->body, INVALID_ARGUMENT, "the module has no function");
    describe(program, g->funcs[0]);
    if (!program->reference)
        eng_canonicalise(g, g->funcs[0]->body);
    size_t n = g->n_nodes;
    eng_planner p = {
        .arena = program->arena, .temporary = temporary, .g = g, .reference = program->reference,
        .excess_precision = program->excess_precision};
    p.values = TT_NEW_N(temporary, eng_value_place, n);
    p.constant_offsets = TT_NEW_N(temporary, int64_t, n);
    for (size_t i = 0; i < n; i++) {
        p.values[i].root = ROOT_NONE;
        p.constant_offsets[i] = -1;
    }
    p.stamps = TT_NEW_N(temporary, uint32_t, n);
    p.positions = TT_NEW_N(temporary, int, n);
    p.escapes = TT_NEW_N(temporary, uint8_t, n);
    p.loops = tt_map_create();
    const tt_status status = eng_plan_block(&p, g->funcs[0]->body, 0, NULL, program->donated, g->funcs[0]->alias, false, &program->plan);
    tt_map_destroy(p.loops);
    TT_TRY(status);
    describe_plan(program, &p);
    TT_LOG(5,
           "plan=%s steps=%d params=%d results=%d slab_bytes=%lld constant_bytes=%lld alias_bytes=%lld "
           "estimate_us=%.1f",
           g->name ? g->name : "", program->plan->n_steps, program->n_params, program->n_results,
           (long long)program->slab_bytes, (long long)p.constant_bytes, (long long)program->alias_bytes,
           (double)program->estimate_ns * 1e-3);
    return fill_constants(program, &p);
}

tt_status eng_program_create(const char *text, size_t length, bool reference, bool excess_precision, eng_program **out) {
    *out = NULL;
    tt_arena *arena = tt_arena_create_small();
    eng_program *program = TT_NEW(arena, eng_program);
    program->arena = arena;
    program->reference = reference;
    program->excess_precision = excess_precision && !reference;
    tt_arena *temporary = tt_arena_create();
    tt_status status = hlo_parse(arena, text, length, &program->graph);
    if (!status)
        status = hlo_verify(program->graph);
    if (!status) {
        calls_from_composites(program->graph, reference);
        status = hlo_inline(program->graph, keep_composite);
    }
    if (!status)
        status = plan_program(program, temporary);
    tt_arena_destroy(temporary);
    if (status) {
        eng_program_destroy(program);
        return status;
    }
    *out = program;
    return TT_OK;
}

void eng_program_destroy(eng_program *program) {
    if (!program)
        return;
    free(program->constants);
    tt_arena_destroy(program->arena);
}

/* ---- frames ---- */
static eng_frame *frame_create(const eng_plan *plan, void *constants) {
    eng_frame *f = tt_calloc(1, sizeof *f);
    f->plan = plan;
    f->bases = tt_calloc((size_t)plan->n_bases, sizeof *f->bases);
    f->bases[BASE_CONSTANTS] = constants;
    f->tensors = tt_calloc((size_t)plan->n_tensors, sizeof *f->tensors);
    f->pointers = tt_calloc((size_t)plan->max_pointers, sizeof *f->pointers);
    f->children = tt_calloc((size_t)plan->n_children, sizeof *f->children);
    for (int i = 0; i < plan->n_steps; i++) {
        const eng_step *s = &plan->steps[i];
        if (s->kind == STEP_KERNEL || s->kind == STEP_COMPOSITE || s->kind == STEP_UPDATE)
            for (int k = 0; k < s->n_in + s->n_out; k++)
                if (s->types[k])
                    f->tensors[s->first_tensor + k].type = *s->types[k];
        if (s->kind == STEP_KERNEL)
            for (int k = 0; k < s->n_captures; k++)
                f->tensors[s->first_capture + k].type = *s->capture_types[k];
        for (int k = 0; k < s->n_blocks; k++)
            f->children[s->first_child + k] = frame_create(s->blocks[k], constants);
    }
    return f;
}

eng_frame *eng_frame_create(const eng_program *program) {
    return frame_create(program->plan, program->constants);
}

void eng_frame_destroy(eng_frame *f) {
    if (!f)
        return;
    for (int i = 0; i < f->plan->n_children; i++)
        eng_frame_destroy(f->children[i]);
    free(f->bases);
    free(f->tensors);
    free(f->pointers);
    free(f->children);
    free(f);
}
