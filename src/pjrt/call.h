/* call.h - inside pjrt/: the one way to call a plugin. Logged at TORCH_TPU_DEBUG 5, failed on purpose by
 * TORCH_TPU_FAULT=pjrt:N (the Nth call, counted from 1; destructors and error accessors are neither counted
 * nor failed), plugin errors turned into tt_status. */
#ifndef TT_CALL_H
#define TT_CALL_H
#include "pjrt/plugin.h"

/* args: a struct declared with TT_PJRT_ARGS; its size is filled in here. A slot the plugin lacks:
 * UNIMPLEMENTED. */
TT_MUST_CHECK tt_status tt_pjrt_call(const tt_plugin *, tt_pjrt_slot, void *args, size_t args_size);
/* For destructors: the plugin's error is dropped. object NULL: nothing happens. */
void tt_pjrt_destroy(const tt_plugin *, tt_pjrt_slot, void *object);
const char *tt_pjrt_slot_name(tt_pjrt_slot);

/* A zeroed args struct with the tail that newer minors may want: name.a has the fields. */
#define TT_PJRT_ARGS(type, name)                                                                             \
    TT_PJRT_PADDED(tt_pjrt_##type) name;                                                                     \
    __builtin_memset(&name, 0, sizeof name)
#define TT_PJRT_CALL(plugin, slot, name) tt_pjrt_call((plugin), TT_PJRT_##slot, &(name), sizeof(name))

/* Fails the nth call from now on (1: the next); 0: none. For tests; the environment sets it at start. */
void tt_pjrt_fault_set(long nth);
/* Counted calls still to go before the fault; 0 once it has struck. */
long tt_pjrt_fault_left(void);
#endif
