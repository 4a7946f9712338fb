#include "inproc.h"

#include <pthread.h>
#include <string.h>

#include "base/core/mem.h"
#include "popdist/src/core/fail.h"

struct letter {
    struct letter *next;
    uint32_t from, to, tag;
    bool sends;
    void *bytes;
    size_t size;
    bool done;
};

struct instance_handle {
    struct inproc *world;
    uint32_t index;
};

struct inproc {
    pthread_mutex_t lock;
    uint32_t instances;
    bool cut;
    struct letter *letters; /* data on its way, the oldest first */
    struct letter *control; /* likewise; bytes are the letter's own */
    struct instance_handle handles[];
};

struct inproc *inproc_new(uint32_t instances)
{
    struct inproc *world = mem_alloc(sizeof *world + instances * sizeof *world->handles);

    (void)pthread_mutex_init(&world->lock, NULL);
    world->instances = instances;
    for (uint32_t i = 0; i < instances; i++)
        world->handles[i] = (struct instance_handle){world, i};
    return world;
}

void inproc_free(struct inproc *world)
{
    struct letter *lists[] = {world->letters, world->control};

    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        while (lists[i]) {
            struct letter *letter = lists[i];

            lists[i] = letter->next;
            if (i == 1)
                mem_free(letter->bytes);
            mem_free(letter);
        }
    }
    (void)pthread_mutex_destroy(&world->lock);
    mem_free(world);
}

void inproc_cut(struct inproc *world)
{
    (void)pthread_mutex_lock(&world->lock);
    world->cut = true;
    (void)pthread_mutex_unlock(&world->lock);
}

static enum popdist_status open_seat(void **ret_self, struct popdist_error *error)
{
    (void)ret_self;
    return fail(error, POPDIST_UNAVAILABLE, "the tests open it");
}

static enum popdist_status close_seat(void *self, bool clean, struct popdist_error *error)
{
    (void)self, (void)clean, (void)error;
    return POPDIST_OK;
}

static uint32_t instances(void *self)
{
    return ((struct instance_handle *)self)->world->instances;
}

static uint32_t index_of(void *self)
{
    return ((struct instance_handle *)self)->index;
}

static void append(struct letter **list, struct letter *letter)
{
    while (*list)
        list = &(*list)->next;
    *list = letter;
}

static void take_out(struct letter **list, struct letter *letter)
{
    while (*list != letter)
        list = &(*list)->next;
    *list = letter->next;
}

/* Finds the other side of a letter; both are done then. */
static void meet(struct inproc *world, struct letter *letter)
{
    for (struct letter *other = world->letters; other && !world->cut; other = other->next) {
        struct letter *sender = letter->sends ? letter : other, *receiver = letter->sends ? other : letter;

        if (other->done || other->sends == letter->sends || other->from != letter->from ||
            other->to != letter->to || other->tag != letter->tag)
            continue;
        if (sender->size != receiver->size)
            abort(); /* the two sides cut their data differently */
        memcpy(receiver->bytes, sender->bytes, sender->size);
        letter->done = other->done = true;
        return;
    }
}

static void post(struct instance_handle *handle, struct letter letter, struct popdist_request *request)
{
    struct letter *kept = mem_dup(&letter, sizeof letter);

    (void)pthread_mutex_lock(&handle->world->lock);
    meet(handle->world, kept);
    append(&handle->world->letters, kept);
    (void)pthread_mutex_unlock(&handle->world->lock);
    memcpy(request->words, &kept, sizeof kept);
}

static enum popdist_status send_seat(void *self, uint32_t instance, uint32_t tag, const void *bytes,
                                     size_t size, struct popdist_request *request,
                                     struct popdist_error *error)
{
    struct instance_handle *handle = self;
    struct letter letter = {.from = handle->index, .to = instance, .tag = tag, .sends = true, .size = size};

    (void)error;
    *request = (struct popdist_request){{0, 0}};
    if (tag) {
        letter.bytes = (void *)(uintptr_t)bytes;
        post(handle, letter, request);
        return POPDIST_OK;
    }
    letter.bytes = mem_dup(bytes, size);
    (void)pthread_mutex_lock(&handle->world->lock);
    append(&handle->world->control, mem_dup(&letter, sizeof letter));
    (void)pthread_mutex_unlock(&handle->world->lock);
    return POPDIST_OK;
}

static enum popdist_status receive_seat(void *self, uint32_t instance, uint32_t tag, void *bytes, size_t size,
                                        struct popdist_request *request, struct popdist_error *error)
{
    struct instance_handle *handle = self;

    (void)error;
    post(handle,
         (struct letter){.from = instance, .to = handle->index, .tag = tag, .bytes = bytes, .size = size},
         request);
    return POPDIST_OK;
}

static enum popdist_status test_seat(void *self, struct popdist_request *request, bool *ret_done,
                                     struct popdist_error *error)
{
    struct instance_handle *handle = self;
    struct letter *letter;

    (void)error;
    memcpy(&letter, request->words, sizeof letter);
    *ret_done = true;
    if (!letter)
        return POPDIST_OK;
    (void)pthread_mutex_lock(&handle->world->lock);
    *ret_done = letter->done;
    if (letter->done) {
        take_out(&handle->world->letters, letter);
        mem_free(letter);
    }
    (void)pthread_mutex_unlock(&handle->world->lock);
    return POPDIST_OK;
}

static enum popdist_status take_seat(void *self, void *bytes, size_t *ret_size, uint32_t *ret_instance,
                                     struct popdist_error *error)
{
    struct instance_handle *handle = self;
    struct letter *letter;

    (void)error;
    *ret_size = 0;
    (void)pthread_mutex_lock(&handle->world->lock);
    for (letter = handle->world->control; letter && letter->to != handle->index;)
        letter = letter->next;
    if (letter) {
        *ret_size = letter->size;
        *ret_instance = letter->from;
        memcpy(bytes, letter->bytes, letter->size);
        take_out(&handle->world->control, letter);
        mem_free(letter->bytes);
        mem_free(letter);
    }
    (void)pthread_mutex_unlock(&handle->world->lock);
    return POPDIST_OK;
}

struct link inproc_link(struct inproc *world, uint32_t instance)
{
    static const struct popdist_backend backend = {
        .abi = POPDIST_BACKEND_ABI,
        .name = "threads",
        .open = open_seat,
        .close = close_seat,
        .instances = instances,
        .index = index_of,
        .send = send_seat,
        .receive = receive_seat,
        .test = test_seat,
        .take = take_seat,
    };

    return (struct link){&backend, &world->handles[instance]};
}
