/* ttc_device.c - .npy arrays and single runs for the commands of ttc.
 *
 * Above hlo/ and pjrt/, below the commands. */
#include "tool/ttc_device.h"
#include "base/env.h"
#include "hlo/build.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *ttc_plugin_path(tt_arena *a, const char *given) {
    const char *name = given && *given ? given : tt_env_text(TT_ENV_PLUGIN);
    if (*name && strcmp(name, "engine") != 0)
        return name;
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    char *slash = strrchr(self, '/');
    return tt_arena_printf(a, "%.*spjrt_cpu.so", slash ? (int)(slash - self + 1) : 0, self);
}

void ttc_arrays_free(int n, ttc_array *arrays) {
    for (int i = 0; arrays && i < n; i++) {
        free(arrays[i].data);
        arrays[i].data = NULL;
    }
}

/* ---- .npy: magic, version, header length, a Python dict, data ---- */
static const struct { const char *name; tt_dtype dtype; } npy_types[] = {
    {"|b1", TT_PRED}, {"|i1", TT_I8},  {"<i2", TT_I16}, {"<i4", TT_I32}, {"<i8", TT_I64}, {"|u1", TT_U8},   {"<u2", TT_U16}, {"<u4", TT_U32},
    {"<u8", TT_U64},  {"<f2", TT_F16}, {"<f4", TT_F32}, {"<f8", TT_F64}, {"<c8", TT_C64}, {"<c16", TT_C128}};
enum { N_NPY_TYPES = sizeof npy_types / sizeof npy_types[0] };

static tt_status npy_header(const char *path, const char *header, hlo_type *out) {
    const char *descr = strstr(header, "'descr': '"), *shape = strstr(header, "'shape': (");
    TT_CHECK(descr && shape && strstr(header, "'fortran_order': False"), INVALID_ARGUMENT,
             "%s: not a plain row-major .npy array (save it with numpy.ascontiguousarray)", path);
    *out = (hlo_type){0};
    for (int i = 0; i < N_NPY_TYPES; i++)
        if (!strncmp(descr + 10, npy_types[i].name, strlen(npy_types[i].name)))
            out->dtype = npy_types[i].dtype;
    TT_CHECK(out->dtype, INVALID_ARGUMENT, "%s: element type %.4s is not supported", path, descr + 10);
    for (char *p = (char *)(uintptr_t)shape + 10; *p && *p != ')';) {
        char *end;
        long long d = strtoll(p, &end, 10);
        if (end == p) {
            p++;
            continue;
        }
        TT_CHECK(d >= 0 && out->rank < HLO_MAX_RANK, INVALID_ARGUMENT, "%s: shape out of range", path);
        out->dims[out->rank++] = d;
        p = end;
    }
    TT_CHECK(hlo_type_valid(out), INVALID_ARGUMENT, "%s: shape out of range", path);
    return TT_OK;
}

tt_status ttc_npy_read(const char *path, ttc_array *out) {
    char *text;
    size_t length, at = 10;
    TT_TRY(ttc_read_file(path, &text, &length));
    tt_status error = TT_OK;
    size_t header = length > 12 ? (size_t)(uint8_t)text[8] | (size_t)(uint8_t)text[9] << 8 : 0;
    if (length > 12 && text[6] >= 2) {
        header |= (size_t)(uint8_t)text[10] << 16;
        at = 12;
    }
    if (length < 12 || memcmp(text, "\x93NUMPY", 6) != 0 || at + header > length) {
        error = TT_ERROR(INVALID_ARGUMENT, "%s is no .npy file", path);
    } else {
        char *copy = tt_calloc(1, header + 1);
        memcpy(copy, text + at, header);
        error = npy_header(path, copy, &out->type);
        free(copy);
    }
    size_t bytes = error ? 0 : (size_t)hlo_type_bytes(&out->type);
    if (!error && length - at - header < bytes)
        error = TT_ERROR(INVALID_ARGUMENT, "%s is truncated", path);
    if (!error) {
        out->data = tt_malloc(bytes + 1);
        memcpy(out->data, text + at + header, bytes);
    }
    free(text);
    return error;
}

tt_status ttc_npy_write(const char *path, const ttc_array *x) {
    const char *name = NULL;
    for (int i = 0; i < N_NPY_TYPES; i++)
        name = npy_types[i].dtype == x->type.dtype ? npy_types[i].name : name;
    TT_CHECK(name, UNIMPLEMENTED, "%s: .npy has no element type %s", path, tt_dtype_name(x->type.dtype));
    tt_str header = {0};
    tt_str_printf(&header, "{'descr': '%s', 'fortran_order': False, 'shape': (", name);
    for (int d = 0; d < x->type.rank; d++)
        tt_str_printf(&header, "%lld,", (long long)x->type.dims[d]);
    tt_str_puts(&header, "), }");
    while ((10 + header.length + 1) % 64)
        tt_str_puts(&header, " ");
    tt_str_puts(&header, "\n");
    FILE *f = fopen(path, "wb");
    bool good = f != NULL;
    if (f) {
        unsigned char start[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)header.length, (unsigned char)(header.length >> 8)};
        size_t bytes = (size_t)hlo_type_bytes(&x->type);
        good = fwrite(start, 1, 10, f) == 10 && fwrite(header.data, 1, header.length, f) == header.length && fwrite(x->data, 1, bytes, f) == bytes;
        good = fclose(f) == 0 && good;
    }
    tt_str_deinit(&header);
    TT_CHECK(good, UNAVAILABLE, "%s cannot be written: %s", path, strerror(errno));
    return TT_OK;
}

/* ---- arrays ---- */
void ttc_array_fill(ttc_array *x, uint64_t seed) {
    tt_dtype t = x->type.dtype, part = tt_dtype_real(t);
    int64_t n = hlo_type_elements(&x->type) * (tt_is_complex(t) ? 2 : 1);
    x->data = tt_calloc(1, (size_t)hlo_type_bytes(&x->type) + 16);
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        double u = (double)(seed >> 33) * 0x1p-31;
        char *p = (char *)x->data + i * tt_dtype_size(part);
        if (tt_is_float(part))
            tt_element_set(part, p, u * 4 - 2);
        else
            tt_element_set_int(part, p, tt_dtype_class(part) == TT_CLASS_SINT ? (int64_t)(u * 7) - 3 : (int64_t)(u * (part == TT_PRED ? 2 : 4)));
    }
}

void ttc_element_text(char *out, size_t bytes, tt_dtype t, const void *array, int64_t i) {
    const char *p = (const char *)array + i * tt_dtype_size(t);
    tt_dtype part = tt_dtype_real(t);
    if (tt_is_complex(t))
        snprintf(out, bytes, "(%.9g, %.9g)", tt_element_get(part, p), tt_element_get(part, p + tt_dtype_size(part)));
    else if (tt_is_float(t))
        snprintf(out, bytes, "%.9g", tt_element_get(t, p));
    else if (t == TT_PRED)
        snprintf(out, bytes, "%s", tt_element_get_int(t, p) ? "true" : "false");
    else if (t == TT_U64)
        snprintf(out, bytes, "%llu", (unsigned long long)tt_element_get_int(t, p));
    else
        snprintf(out, bytes, "%lld", (long long)tt_element_get_int(t, p));
}

void ttc_array_print(const ttc_array *x, int64_t limit) {
    tt_arena *a = tt_arena_create();
    int64_t n = hlo_type_elements(&x->type);
    char text[96];
    printf("%s [", hlo_type_print(a, &x->type));
    for (int64_t i = 0; i < n && i < limit && tt_dtype_size(x->type.dtype); i++) {
        ttc_element_text(text, sizeof text, x->type.dtype, x->data, i);
        printf("%s%s", i ? ", " : "", text);
    }
    printf("%s]\n", n > limit ? ", ..." : "");
    tt_arena_destroy(a);
}

tt_status ttc_arguments(const hlo_graph *g, int n_files, char **files, int *out_n, ttc_array **out_arrays) {
    TT_CHECK(g->n_funcs > 0, INVALID_ARGUMENT, "the program has no function");
    const hlo_block *b = g->funcs[0]->body;
    TT_CHECK(n_files <= b->n_params, INVALID_ARGUMENT, "%d arguments for a program that takes %d", n_files, b->n_params);
    ttc_array *arrays = tt_calloc((size_t)b->n_params + 1, sizeof *arrays);
    tt_status error = TT_OK;
    for (int i = 0; i < b->n_params && !error; i++) {
        const hlo_type *wanted = hlo_type_of(g, b->params[i]);
        if (i >= n_files) {
            arrays[i].type = *wanted;
            ttc_array_fill(&arrays[i], (uint64_t)i + 1);
            continue;
        }
        error = ttc_npy_read(files[i], &arrays[i]);
        bool bits = !error && wanted->dtype == TT_BF16 && arrays[i].type.dtype == TT_U16; /* NumPy has no bf16: its bits will do */
        if (bits)
            arrays[i].type.dtype = TT_BF16;
        if (!error && !hlo_type_equal(wanted, &arrays[i].type))
            error = TT_ERROR(INVALID_ARGUMENT, "%s is %s, the program's argument %d is %s", files[i], hlo_type_print(g->arena, &arrays[i].type),
                             i, hlo_type_print(g->arena, wanted));
    }
    *out_n = b->n_params;
    *out_arrays = arrays;
    if (error) {
        ttc_arrays_free(b->n_params, arrays);
        free(arrays);
    }
    return error;
}

/* ---- one run ---- */
void ttc_prepare(hlo_graph *g) {
    if (!g->n_funcs)
        return;
    hlo_func *f = g->funcs[0];
    f->name = "main";
    f->is_public = true;
    if (f->body->n_results)
        return;
    hlo_block *saved = g->block;
    hlo_func *saved_func = g->func;
    g->block = f->body;
    g->func = f;
    hlo_ref done = hlo_scalar_int(g, TT_PRED, 1);
    g->block = saved;
    g->func = saved_func;
    if (!done)
        return;
    f->body->results = TT_NEW(g->arena, hlo_ref);
    f->body->results[0] = done;
    f->body->n_results = 1;
}

static tt_status run_once(tt_client *client, tt_executable *program, int n_args, const ttc_array *args, int n_results, ttc_array *out_results) {
    tt_buffer **in = tt_calloc((size_t)n_args + 1, sizeof *in), **out = tt_calloc((size_t)n_results + 1, sizeof *out);
    tt_status error = TT_OK;
    for (int i = 0; i < n_args && !error; i++)
        error = tt_buffer_from_host(client, 0, args[i].type.dtype, args[i].type.rank, args[i].type.dims, args[i].data, false, &in[i]);
    if (!error)
        error = tt_executable_run(program, n_args, in, NULL, NULL, out);
    for (int i = 0; i < n_results && !error; i++) {
        size_t bytes = (size_t)hlo_type_bytes(&out_results[i].type);
        out_results[i].data = tt_calloc(1, bytes + 16);
        error = bytes ? tt_buffer_to_host(out[i], out_results[i].data, bytes) : tt_buffer_wait(out[i]);
    }
    for (int i = 0; i < n_args; i++)
        if (in[i])
            tt_buffer_release(in[i]);
    for (int i = 0; i < n_results; i++)
        if (out[i])
            tt_buffer_release(out[i]);
    free(in);
    free(out);
    return error;
}

tt_status ttc_execute(tt_client *client, const hlo_graph *g, const char *options, int n_args, const ttc_array *args,
                      ttc_array *out_results) {
    const hlo_block *b = g->funcs[0]->body;
    tt_str text = {0};
    tt_executable *program = NULL;
    hlo_print(g, &text);
    tt_status error = tt_client_compile(client, 0, text.data, text.length, options, &program);
    tt_str_deinit(&text);
    TT_TRY(error);
    for (int i = 0; i < b->n_results; i++)
        out_results[i] = (ttc_array){.type = *hlo_type_of(g, b->results[i])};
    if (tt_executable_output_count(program) != b->n_results)
        error = TT_ERROR(INTERNAL, "the plugin's program has %d results, its text %d", tt_executable_output_count(program), b->n_results);
    else
        error = run_once(client, program, n_args, args, b->n_results, out_results);
    if (error)
        ttc_arrays_free(b->n_results, out_results);
    tt_executable_release(program);
    return error;
}
