/* anchor_shim.c - stands between the anchor (Google's torch-tpu) and the XLA:CPU plugin ($BENCH_XLA_PLUGIN): the anchor creates its client
 * with a TPU's options, which that plugin refuses. Hands out the plugin's own table with a Client_Create that asks for one device. */
#include "pjrt/abi.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tt_pjrt_fn real_create;

static tt_pjrt_error *create(void *args) {
    tt_pjrt_client_create *a = args;
    size_t n = a->n_options;
    a->n_options = 0;
    tt_pjrt_error *error = real_create(a);
    a->n_options = n;
    return error;
}

const tt_pjrt_api *GetPjrtApi(void) {
    static tt_pjrt_api table;
    if (table.struct_size)
        return &table;
    const char *path = getenv("BENCH_XLA_PLUGIN");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    tt_pjrt_get_api get = NULL;
    if (library)
        *(void **)&get = dlsym(library, "GetPjrtApi");
    if (!get) {
        fprintf(stderr, "anchor_shim: no plugin at BENCH_XLA_PLUGIN\n");
        exit(1);
    }
    const tt_pjrt_api *real = get();
    size_t bytes = real->struct_size < sizeof table ? real->struct_size : sizeof table;
    memcpy(&table, real, bytes);
    table.struct_size = bytes;
    real_create = table.fn[TT_PJRT_Client_Create];
    table.fn[TT_PJRT_Client_Create] = create;
    return &table;
}
