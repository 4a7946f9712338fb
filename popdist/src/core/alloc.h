/* Memory, always zeroed. NULL: out of memory; the caller reports it with fail_memory(). */
#ifndef POPDIST_MEMORY_H
#define POPDIST_MEMORY_H

#include <stddef.h>

void *popdist_alloc(size_t count, size_t size);
void popdist_free(void *memory); /* accepts NULL */

#endif
