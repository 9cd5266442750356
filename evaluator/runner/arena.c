/* Allocator of the runner's output arena: blocks of one mapped segment, first fit, plain device memory beyond it.
 * Built by the C compiler of the machine; it needs no CUDA headers, since the driver's entry points are passed in. */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MAX_BLOCKS 4096
#define ALIGN 512

typedef int (*driver_alloc)(uint64_t *pointer, size_t size);
typedef int (*driver_free)(uint64_t pointer);

struct block { size_t offset, size; };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t arena_base;
static size_t arena_size;
static struct block blocks[MAX_BLOCKS]; /* in use, sorted by offset */
static size_t block_count;
static driver_alloc fallback_alloc;
static driver_free fallback_free;

void arena_init(uint64_t base, size_t size, void *alloc, void *release) {
    arena_base = base;
    arena_size = size;
    block_count = 0;
    fallback_alloc = (driver_alloc)alloc;
    fallback_free = (driver_free)release;
}

static int place(size_t size, uint64_t *pointer) {
    size_t start = 0, at = 0;
    if (block_count == MAX_BLOCKS) return 0;
    for (; at < block_count; at++) {
        if (blocks[at].offset - start >= size) break;
        start = blocks[at].offset + blocks[at].size;
    }
    if (arena_size - start < size) return 0;
    for (size_t i = block_count; i > at; i--) blocks[i] = blocks[i - 1];
    blocks[at].offset = start;
    blocks[at].size = size;
    block_count++;
    *pointer = arena_base + start;
    return 1;
}

void *arena_malloc(ssize_t size, int device, void *stream) {
    uint64_t pointer = 0;
    size_t rounded = ((size_t)size + ALIGN - 1) / ALIGN * ALIGN;
    (void)device; (void)stream;
    if (size <= 0) return NULL;
    pthread_mutex_lock(&lock);
    int placed = place(rounded, &pointer);
    pthread_mutex_unlock(&lock);
    if (!placed && (!fallback_alloc || fallback_alloc(&pointer, rounded) != 0)) return NULL;
    return (void *)pointer;
}

void arena_free(void *address, ssize_t size, int device, void *stream) {
    uint64_t pointer = (uint64_t)address;
    (void)size; (void)device; (void)stream;
    if (pointer < arena_base || pointer >= arena_base + arena_size) {
        if (fallback_free) fallback_free(pointer);
        return;
    }
    pthread_mutex_lock(&lock);
    for (size_t at = 0; at < block_count; at++) {
        if (blocks[at].offset != pointer - arena_base) continue;
        for (; at + 1 < block_count; at++) blocks[at] = blocks[at + 1];
        block_count--;
        break;
    }
    pthread_mutex_unlock(&lock);
}
