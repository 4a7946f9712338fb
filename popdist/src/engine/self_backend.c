#include "popdist/src/engine/self_backend.h"

#include "popdist/src/core/fail.h"

static enum popdist_status open_alone(void **ret_self, struct popdist_error *error)
{
    (void)error;
    *ret_self = NULL;
    return POPDIST_OK;
}

static enum popdist_status close_alone(void *self, bool clean, struct popdist_error *error)
{
    (void)self, (void)clean, (void)error;
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

static enum popdist_status no_peer(struct popdist_error *error)
{
    return fail(error, POPDIST_BROKEN, "no other instance");
}

static enum popdist_status send_alone(void *self, uint32_t instance, uint32_t tag, const void *bytes,
                                      size_t size, struct popdist_request *request,
                                      struct popdist_error *error)
{
    (void)self, (void)instance, (void)tag, (void)bytes, (void)size, (void)request;
    return no_peer(error);
}

static enum popdist_status receive_alone(void *self, uint32_t instance, uint32_t tag, void *bytes,
                                         size_t size, struct popdist_request *request,
                                         struct popdist_error *error)
{
    (void)self, (void)instance, (void)tag, (void)bytes, (void)size, (void)request;
    return no_peer(error);
}

static enum popdist_status test_alone(void *self, struct popdist_request *request, bool *ret_done,
                                      struct popdist_error *error)
{
    (void)self, (void)request, (void)ret_done;
    return no_peer(error);
}

static enum popdist_status take_alone(void *self, void *bytes, size_t *ret_size, uint32_t *ret_instance,
                                      struct popdist_error *error)
{
    (void)self, (void)bytes, (void)ret_instance, (void)error;
    *ret_size = 0;
    return POPDIST_OK;
}

const struct popdist_backend *self_backend(void)
{
    static const struct popdist_backend backend = {
        .abi = POPDIST_BACKEND_ABI,
        .name = "alone",
        .open = open_alone,
        .close = close_alone,
        .instances = instances,
        .index = index_of,
        .send = send_alone,
        .receive = receive_alone,
        .test = test_alone,
        .take = take_alone,
    };

    return &backend;
}
