/* A third-party backend: one instance, which prints the calls it gets. */
#include <stdio.h>

#include <popdist/backend.h>

static enum popdist_status open_it(void **ret_self, struct popdist_error *error)
{
    (void)error;
    *ret_self = NULL;
    puts("open");
    return POPDIST_OK;
}

static enum popdist_status close_it(void *self, bool clean, struct popdist_error *error)
{
    (void)self, (void)error;
    printf("close %d\n", clean);
    fflush(stdout);
    return POPDIST_OK;
}

static uint32_t instances(void *self)
{
    (void)self;
    return 1;
}

static uint32_t index_of(void *self)
{
    (void)self;
    return 0;
}

static enum popdist_status carry(void *self, uint32_t instance, uint32_t tag, const void *bytes, size_t size,
                                 struct popdist_request *request, struct popdist_error *error)
{
    (void)self, (void)instance, (void)tag, (void)bytes, (void)size, (void)request, (void)error;
    return POPDIST_BROKEN;
}

static enum popdist_status fetch(void *self, uint32_t instance, uint32_t tag, void *bytes, size_t size,
                                 struct popdist_request *request, struct popdist_error *error)
{
    return carry(self, instance, tag, bytes, size, request, error);
}

static enum popdist_status test(void *self, struct popdist_request *request, bool *ret_done,
                                struct popdist_error *error)
{
    (void)self, (void)request, (void)error;
    *ret_done = true;
    return POPDIST_OK;
}

static enum popdist_status take(void *self, void *bytes, size_t *ret_size, uint32_t *ret_instance,
                                struct popdist_error *error)
{
    (void)self, (void)bytes, (void)ret_instance, (void)error;
    *ret_size = 0;
    return POPDIST_OK;
}

const struct popdist_backend *popdist_backend(void);

const struct popdist_backend *popdist_backend(void)
{
    static const struct popdist_backend backend = {
        POPDIST_BACKEND_ABI, "test", open_it, close_it, instances, index_of, carry, fetch, test, take,
    };

    return &backend;
}
