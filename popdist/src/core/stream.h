/* A sequence of chunks to or from one instance, a few in flight at a time, directly from or into memory that
 * belongs to the caller. The caller decides when: each step is passed how many chunks may start. */
#ifndef POPDIST_STREAM_H
#define POPDIST_STREAM_H

#include "popdist/backend.h"

#define STREAM_WINDOW 4

/* The way to the other instances. */
struct link {
    const struct popdist_backend *backend;
    void *self;
};

struct stream {
    bool sends;
    bool wraps; /* chunk i is at position i % STREAM_WINDOW of the memory */
    uint32_t instance;
    uint32_t tag;
    uint8_t *memory;
    size_t size; /* bytes of all chunks */
    size_t chunk;
    size_t begun; /* chunks */
    size_t done;  /* of them, in order */
    struct popdist_request requests[STREAM_WINDOW];
};

size_t stream_chunks(const struct stream *stream);
bool stream_is_done(const struct stream *stream);
/* Bytes of this chunk: the last may be shorter. */
size_t stream_chunk_size(const struct stream *stream, size_t chunk);
uint8_t *stream_chunk(const struct stream *stream, size_t chunk);
/* Starts chunks below limit and checks which are done. *moved becomes true if one is. */
enum popdist_status stream_step(struct stream *stream, const struct link *link, size_t limit, bool *moved,
                                struct popdist_error *error);

#endif
