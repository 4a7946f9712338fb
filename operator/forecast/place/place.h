/* Where a claim starts, and which block is kept for one that must wait. Pure: it looks, and takes nothing. */
#pragma once

#include "operator/forecast/place/occupancy.h"

/* Whether the room could ever hold it with the IPUs that exist. */
bool place_is_possible(const struct forecast_controller *controller, uint32_t size);
/* Whether an aligned block of it is free, kept for a claim or not. */
bool place_is_free(const struct occupancy *o, uint32_t room, uint32_t size);

/* The place for a claim that ends at this key. Blocks that are kept for others are passed over unless it ends
 * before they begin; a block that is kept but open comes after all others. A domain in use that it does not
 * keep in use longer comes first; then the smallest free block that it is cut from, the domain that it keeps
 * in use the least longer, the fuller domain, the lowest one. A wholly free domain comes last, at the begin
 * of the shortest run of such domains. */
bool place_find(const struct occupancy *o, uint32_t room, uint32_t size, uint32_t end,
                struct forecast_block *ret);
/* Who ends by the result finds a place; 0: nobody, KEY_GONE: everybody. */
uint32_t place_limit(const struct occupancy *o, uint32_t room, uint32_t size);

/* The block that is free earliest, with a key of at most `latest`; of equal ones the one with the fewest free
 * IPUs, then the lowest. Blocks of earlier fences are free when their claims have ended. False: none. */
bool place_earliest(struct occupancy *o, uint32_t room, uint32_t size, uint32_t latest,
                    struct forecast_block *ret, uint32_t *ret_key);
/* Whether a claim of this size can have this block. */
bool place_is_valid(const struct occupancy *o, uint32_t room, const struct forecast_block *block,
                    uint32_t size);
/* The key of this block, by the same rule. */
uint32_t place_key(const struct occupancy *o, uint32_t room, const struct forecast_block *block);
uint32_t place_free_ipus(const struct occupancy *o, uint32_t room, const struct forecast_block *block);
