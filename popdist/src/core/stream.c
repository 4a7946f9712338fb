#include "popdist/src/core/stream.h"

size_t stream_chunks(const struct stream *stream)
{
    return (stream->size + stream->chunk - 1) / stream->chunk;
}

bool stream_is_done(const struct stream *stream)
{
    return stream->done == stream_chunks(stream);
}

size_t stream_chunk_size(const struct stream *stream, size_t chunk)
{
    size_t left = stream->size - chunk * stream->chunk;

    return left < stream->chunk ? left : stream->chunk;
}

uint8_t *stream_chunk(const struct stream *stream, size_t chunk)
{
    return stream->memory + (stream->wraps ? chunk % STREAM_WINDOW : chunk) * stream->chunk;
}

static enum popdist_status begin(struct stream *stream, const struct link *link, struct popdist_error *error)
{
    struct popdist_request *request = &stream->requests[stream->begun % STREAM_WINDOW];
    uint8_t *bytes = stream_chunk(stream, stream->begun);
    size_t size = stream_chunk_size(stream, stream->begun);

    stream->begun++;
    if (stream->sends)
        return link->backend->send(link->self, stream->instance, stream->tag, bytes, size, request, error);
    return link->backend->receive(link->self, stream->instance, stream->tag, bytes, size, request, error);
}

enum popdist_status stream_step(struct stream *stream, const struct link *link, size_t limit, bool *moved,
                                struct popdist_error *error)
{
    size_t chunks = stream_chunks(stream);
    enum popdist_status status;

    while (stream->done < stream->begun) {
        bool done = false;

        status =
            link->backend->test(link->self, &stream->requests[stream->done % STREAM_WINDOW], &done, error);
        if (status)
            return status;
        if (!done)
            break;
        stream->done++;
        *moved = true;
    }
    if (limit > chunks)
        limit = chunks;
    while (stream->begun < limit && stream->begun - stream->done < STREAM_WINDOW) {
        status = begin(stream, link, error);
        if (status)
            return status;
    }
    return POPDIST_OK;
}
