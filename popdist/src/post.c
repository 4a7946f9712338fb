#include "popdist/src/post.h"

#include "popdist/src/fail.h"
#include "popdist/src/memory.h"

static struct post *post_new(const struct wire_message *message, uint32_t count)
{
    struct post *post = memory_new(1, sizeof *post + count * sizeof *post->requests + wire_size(message));

    if (!post)
        return NULL;
    post->requests = (struct popdist_request *)(void *)(post + 1);
    post->bytes = (uint8_t *)(post->requests + count);
    post->count = count;
    wire_write(message, post->bytes);
    return post;
}

enum popdist_status post_send(const struct wire_message *message, const struct group *group,
                              const struct link *link, struct post **ret, struct popdist_error *error)
{
    struct post *post = post_new(message, group->count);

    if (!post)
        return fail_memory(error);
    *ret = post;
    post->held = true;
    /* Everybody begins with his right neighbour, so that not all of them talk to the first at once. */
    for (uint32_t step = 1; step < group->count; step++) {
        uint32_t rank = (group->self + step) % group->count;
        enum popdist_status status =
            link->backend->send(link->self, group->members[rank], 0, post->bytes, wire_size(message),
                                &post->requests[post->left], error);

        if (status)
            return status;
        post->left++;
    }
    return POPDIST_OK;
}

enum popdist_status post_step(struct post *post, const struct link *link, bool *moved,
                              struct popdist_error *error)
{
    for (uint32_t i = 0; i < post->left;) {
        bool done = false;
        enum popdist_status status = link->backend->test(link->self, &post->requests[i], &done, error);

        if (status)
            return status;
        if (done) {
            post->requests[i] = post->requests[--post->left];
            *moved = true;
        } else {
            i++;
        }
    }
    return POPDIST_OK;
}

void post_free(struct post *post)
{
    memory_free(post);
}
