/* plugin.c - finds out whether a file is a PJRT plugin that we can use, and starts it. The only user of
 * dlopen. Every refusal is a sentence that names the path and what to do. */
#include "pjrt/plugin.h"
#include "base/arena.h"
#include "base/log.h"
#include "pjrt/call.h"
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static tt_plugin *plugins; /* under lock; never freed */

/* What no use of a plugin can do without; the rest is optional where it is called. */
static const tt_pjrt_slot required[] = {
    TT_PJRT_Error_Destroy,
    TT_PJRT_Error_Message,
    TT_PJRT_Error_GetCode,
    TT_PJRT_Event_Destroy,
    TT_PJRT_Event_Await,
    TT_PJRT_Event_OnReady,
    TT_PJRT_Client_Create,
    TT_PJRT_Client_Destroy,
    TT_PJRT_Client_PlatformName,
    TT_PJRT_Client_AddressableDevices,
    TT_PJRT_Client_Compile,
    TT_PJRT_Client_BufferFromHostBuffer,
    TT_PJRT_Device_GetDescription,
    TT_PJRT_DeviceDescription_Id,
    TT_PJRT_Executable_Destroy,
    TT_PJRT_Executable_NumOutputs,
    TT_PJRT_Executable_OutputElementTypes,
    TT_PJRT_Executable_OutputDimensions,
    TT_PJRT_LoadedExecutable_Destroy,
    TT_PJRT_LoadedExecutable_GetExecutable,
    TT_PJRT_LoadedExecutable_Execute,
    TT_PJRT_Buffer_Destroy,
    TT_PJRT_Buffer_ToHostBuffer,
    TT_PJRT_Buffer_ReadyEvent,
};

static tt_status check_api(const char *path, const tt_pjrt_api *api) {
    TT_CHECK(api, FAILED_PRECONDITION,
             "%s: GetPjrtApi gave nothing; the plugin is broken or wants another machine", path);
    TT_CHECK(api->struct_size >= offsetof(tt_pjrt_api, fn), FAILED_PRECONDITION,
             "%s: its PJRT function table has only %zu bytes; the plugin is broken", path, api->struct_size);
    TT_CHECK(api->version.major == TT_PJRT_MAJOR, FAILED_PRECONDITION,
             "%s speaks PJRT %d.%d, this build speaks major version %d; install a plugin of that version",
             path, api->version.major, api->version.minor, TT_PJRT_MAJOR);
    for (size_t i = 0; i < sizeof required / sizeof required[0]; i++)
        TT_CHECK(tt_pjrt_has(api, required[i]), FAILED_PRECONDITION,
                 "%s (PJRT 0.%d) lacks %s, which we cannot do without; install a newer plugin", path,
                 api->version.minor, tt_pjrt_slot_name(required[i]));
    return TT_OK;
}

static tt_status load(const char *path, tt_plugin *out) {
    TT_CHECK(path && *path, INVALID_ARGUMENT,
             "no PJRT plugin was named; set TORCH_TPU_PLUGIN to 'engine', 'libtpu' or the path of a plugin");
    TT_CHECK(!strchr(path, '/') || access(path, R_OK) == 0, NOT_FOUND,
             "cannot read the PJRT plugin %s: %s; check TORCH_TPU_PLUGIN or TPU_LIBRARY_PATH", path,
             strerror(errno));
    /* XLA logs I-lines to stderr by default; the user's own setting wins. */
    setenv("TF_CPP_MIN_LOG_LEVEL", "2", 0);
    void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!so) {
        const char *why = dlerror();
        TT_FAIL(FAILED_PRECONDITION, "cannot load the PJRT plugin %s: %s", path,
                why ? why : "unknown reason");
    }
    void *symbol = dlsym(so, "GetPjrtApi");
    if (!symbol) {
        dlclose(so);
        TT_FAIL(FAILED_PRECONDITION,
                "%s is a library but no PJRT plugin (it exports no GetPjrtApi); check TORCH_TPU_PLUGIN",
                path);
    }
    tt_pjrt_get_api get;
    memcpy(&get, &symbol, sizeof get); /* ISO C has no conversion from an object to a function pointer */
    const tt_pjrt_api *api = get();
    TT_TRY(check_api(path, api));
    *out = (tt_plugin){.api = api, .path = path, .minor = api->version.minor};
    if (tt_pjrt_has(api, TT_PJRT_Plugin_Initialize)) {
        TT_PJRT_ARGS(none, args);
        TT_TRY_IN(TT_PJRT_CALL(out, Plugin_Initialize, args), "starting the PJRT plugin %s", path);
    }
    return TT_OK;
}

tt_status tt_plugin_open(const char *path, const tt_plugin **out_plugin) {
    *out_plugin = NULL;
    pthread_mutex_lock(&lock);
    tt_status error = TT_OK;
    tt_plugin *p = plugins;
    while (p && strcmp(p->path, path ? path : ""))
        p = p->next;
    if (!p) {
        tt_plugin fresh;
        error = load(path, &fresh);
        if (!error) {
            p = tt_malloc(sizeof *p);
            *p = fresh;
            p->path = tt_strdup(path);
            p->next = plugins;
            plugins = p;
            TT_LOG(1, "pjrt plugin=%s version=0.%d", p->path, p->minor);
        }
    }
    pthread_mutex_unlock(&lock);
    *out_plugin = p;
    return error;
}
