/* cache.c - the disk tier of the program cache: one file an executable, in the user's cache folder.
 *
 * A file is a header {magic, format, key, length, checksum} and the plugin's serialized executable. Writers make a temporary file and rename it, so
 * readers see whole files or none; a file that is short, damaged or of another key is a miss and is removed. Many
 * processes may share the folder. When it outgrows TORCH_TPU_CACHE_BYTES the least recently read files go (under a file lock). */
#include "base/env.h"
#include "base/log.h"
#include "run/internal.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct header { char magic[8]; uint64_t format; tt_hash key, checksum; uint64_t length; } header;
static const char magic[8] = "ttcache";
enum { FORMAT = 1, PATH_BYTES = 4096 };

static bool make_folders(char *path) {
    for (char *p = path + 1; *p; p++) {
        if (*p != '/') continue;
        *p = 0;
        int failed = mkdir(path, 0777);
        *p = '/';
        (void)failed; /* an existing parent is fine; a missing one shows at the last mkdir */
    }
    struct stat info;
    return mkdir(path, 0777) == 0 || (stat(path, &info) == 0 && S_ISDIR(info.st_mode));
}

/* The folder, made anew each time it is gone; false: the disk tier is off. */
bool tt_cache_folder(char *path, size_t size) {
    const char *set = tt_env_text(TT_ENV_CACHE_DIR), *xdg = tt_env_text(TT_ENV_XDG_CACHE), *home = tt_env_text(TT_ENV_HOME);
    if (!strcmp(set, "off")) return false;
    int n;
    if (*set) n = snprintf(path, size, "%s", set);
    else if (*xdg) n = snprintf(path, size, "%s/torch_tpu", xdg);
    else if (*home) n = snprintf(path, size, "%s/.cache/torch_tpu", home);
    else return false;
    return n > 0 && (size_t)n < size && make_folders(path);
}

static bool key_path(tt_hash key, const char *suffix, char *path, size_t size) {
    if (!tt_cache_folder(path, size)) return false;
    size_t used = strlen(path);
    int n = snprintf(path + used, size - used, "/%016llx%016llx%s", (unsigned long long)key.a, (unsigned long long)key.b, suffix);
    return n > 0 && (size_t)n < size - used;
}

static bool read_all(int fd, void *data, size_t length) {
    for (char *p = data; length;) {
        ssize_t n = read(fd, p, length);
        if (n <= 0) return false;
        p += n; length -= (size_t)n;
    }
    return true;
}

static bool write_all(int fd, const void *data, size_t length) {
    for (const char *p = data; length;) {
        ssize_t n = write(fd, p, length);
        if (n <= 0) return false;
        p += n; length -= (size_t)n;
    }
    return true;
}

static bool read_entry(int fd, tt_hash key, void **out_data, size_t *out_length) {
    header h; struct stat info;
    if (!read_all(fd, &h, sizeof h) || fstat(fd, &info)) return false;
    if (memcmp(h.magic, magic, sizeof magic) || h.format != FORMAT || !tt_hash_equal(h.key, key)) return false;
    if (h.length != (uint64_t)info.st_size - sizeof h) return false;
    void *data = malloc(h.length ? h.length : 1);
    if (!data) return false;
    if (!read_all(fd, data, h.length) || !tt_hash_equal(tt_hash_bytes(data, h.length, key), h.checksum)) { free(data); return false; }
    *out_data = data; *out_length = h.length;
    return true;
}

bool tt_disk_get(tt_hash key, void **out_data, size_t *out_length) {
    char path[PATH_BYTES];
    if (!key_path(key, ".bin", path, sizeof path)) return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    bool found = read_entry(fd, key, out_data, out_length);
    if (found) futimens(fd, NULL); /* recently used */
    close(fd);
    if (!found) { unlink(path); TT_LOG(1, "cache entry=%s damaged, removed", path); }
    return found;
}

typedef struct file { char name[64]; int64_t bytes; struct timespec used; } file;

static int older_first(const void *a, const void *b) {
    const file *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec) return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    return x->used.tv_nsec < y->used.tv_nsec ? -1 : x->used.tv_nsec > y->used.tv_nsec;
}

/* Bytes that this process may write before it looks at the folder again: to look costs a call a file, so it is not done at every
 * write. A quarter of the room that was left, since others write too. */
static _Atomic int64_t before_next_look;

static void trim(const char *folder, int64_t limit) {
    int lock_at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock_at < 0) return;
    DIR *dir = flock(lock_at, LOCK_EX | LOCK_NB) ? NULL : fdopendir(dup(lock_at));
    file *files = NULL; size_t n = 0, cap = 0; int64_t total = 0;
    for (struct dirent *e; dir && (e = readdir(dir));) {
        struct stat info;
        if (!strstr(e->d_name, ".bin") || strlen(e->d_name) >= sizeof files->name || fstatat(lock_at, e->d_name, &info, 0)) continue;
        if (n == cap) files = tt_realloc(files, sizeof *files * (cap = cap ? 2 * cap : 64));
        files[n] = (file){.bytes = info.st_size, .used = info.st_mtim};
        strcpy(files[n++].name, e->d_name);
        total += info.st_size;
    }
    if (n) qsort(files, n, sizeof *files, older_first);
    int64_t target = total > limit ? limit - limit / 8 : limit; /* some room, or the next write looks again */
    for (size_t i = 0; i < n && total > target; i++) { unlinkat(lock_at, files[i].name, 0); total -= files[i].bytes; }
    if (dir) before_next_look = limit > total ? (limit - total) / 4 : 0;
    free(files);
    if (dir) closedir(dir);
    close(lock_at);
}

void tt_disk_put(tt_hash key, const void *data, size_t length) {
    char folder[PATH_BYTES], path[PATH_BYTES], temporary[PATH_BYTES + 64];
    if (!tt_cache_folder(folder, sizeof folder) || !key_path(key, ".bin", path, sizeof path)) return;
    snprintf(temporary, sizeof temporary, "%s.%ld.tmp", path, (long)getpid());
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) return;
    header h = {.format = FORMAT, .key = key, .checksum = tt_hash_bytes(data, length, key), .length = length};
    memcpy(h.magic, magic, sizeof magic);
    bool ok = write_all(fd, &h, sizeof h) && write_all(fd, data, length);
    ok = close(fd) == 0 && ok;
    if (!ok || rename(temporary, path)) unlink(temporary);
    if ((before_next_look -= (int64_t)(sizeof h + length)) < 0) trim(folder, tt_env_int(TT_ENV_CACHE_BYTES));
}

int tt_disk_lock(tt_hash key) {
    char path[PATH_BYTES];
    if (!key_path(key, ".lock", path, sizeof path)) return -1;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    while (fd >= 0 && flock(fd, LOCK_EX)) {
        if (errno == EINTR) continue;
        close(fd); /* a file system without locks: each compiles for itself */
        fd = -1;
    }
    return fd;
}

void tt_disk_unlock(tt_hash key, int lock) {
    char path[PATH_BYTES];
    if (lock < 0) return;
    if (key_path(key, ".lock", path, sizeof path)) unlink(path);
    close(lock);
}
