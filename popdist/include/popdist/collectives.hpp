/* Collective operations on host memory. They are matched by id: any order, any thread, several at a time.
 * An id that names a communicator means that one, without a key; any other is a key among all instances.
 * Whatever fails throws popdist_error: "Tensor layouts did not match on all instances", who did not come in
 * time, and so on. */
#ifndef POPDIST_COLLECTIVES_HPP
#define POPDIST_COLLECTIVES_HPP

#include <cstddef>
#include <string>

#include "popdist/backend.hpp"
#include "popdist/error.hpp"
#include "popdist/poplar.hpp"

namespace popdist
{
namespace detail
{

inline popdist_type typeOf(const poplar::Type &type)
{
    static const struct {
        const char *name;
        popdist_type type;
    } types[] = {
        {"half", POPDIST_HALF},
        {"float", POPDIST_FLOAT},
        {"double", POPDIST_DOUBLE},
        {"bool", POPDIST_BOOL},
        {"char", POPDIST_INT8},
        {"signed char", POPDIST_INT8},
        {"unsigned char", POPDIST_UINT8},
        {"short", POPDIST_INT16},
        {"unsigned short", POPDIST_UINT16},
        {"int", POPDIST_INT32},
        {"unsigned int", POPDIST_UINT32},
        {"long", sizeof(long) == 8 ? POPDIST_INT64 : POPDIST_INT32},
        {"unsigned long", sizeof(long) == 8 ? POPDIST_UINT64 : POPDIST_UINT32},
        {"long long", POPDIST_INT64},
        {"unsigned long long", POPDIST_UINT64},
        {"longlong", POPDIST_INT64},
        {"unsigned longlong", POPDIST_UINT64},
    };
    std::string name = type.toString();

    for (const auto &row : types)
        if (name == row.name)
            return row.type;
    throw popdist_error(POPDIST_INVALID,
                        ("there is no collective operation on elements of type " + name).c_str());
}

} // namespace detail

namespace collectives
{

/* In place, from the participant root, counted from 0. */
inline void broadcast(void *data, std::size_t nelem, poplar::Type type, unsigned root = 0,
                      const std::string &id = defaultCommunicatorId())
{
    detail::check(popdist_broadcast, data, nelem, detail::typeOf(type), root, id.c_str());
}

/* In place; a mean is the caller's division. */
inline void allReduceSum(void *data, std::size_t nelem, poplar::Type type,
                         const std::string &id = defaultCommunicatorId())
{
    detail::check(popdist_all_reduce_sum, data, nelem, detail::typeOf(type), id.c_str());
}

/* out holds nelem elements of each participant. inplace: in is nullptr, this instance's are there already. */
inline void allGather(const void *in, void *out, std::size_t nelem, poplar::Type type,
                      const std::string &id = defaultCommunicatorId(), bool inplace = false)
{
    if (inplace != (in == nullptr) && nelem)
        throw popdist_error(POPDIST_INVALID, "an all-gather has no input exactly when it is in place");
    detail::check(popdist_all_gather, in, out, nelem, detail::typeOf(type), id.c_str());
}

/* The forms of SDK 3.0. Operations without a name: the n-th one of an instance matches the n-th of the
 * others. */
namespace sequential
{

inline void broadcast(void *data, std::size_t nelem, poplar::Type type, unsigned root = 0)
{
    collectives::broadcast(data, nelem, type, root);
}

inline void allReduceSum(void *data, std::size_t nelem, poplar::Type type)
{
    collectives::allReduceSum(data, nelem, type);
}

inline void allGather(const void *in, void *out, std::size_t nelem, poplar::Type type)
{
    collectives::allGather(in, out, nelem, type);
}

} // namespace sequential

/* And with a name, in any order. */
namespace parallel
{

inline void broadcast(void *data, std::size_t nelem, poplar::Type type, const std::string &name,
                      unsigned root = 0)
{
    collectives::broadcast(data, nelem, type, root, name);
}

inline void allReduceSum(void *data, std::size_t nelem, poplar::Type type, const std::string &name)
{
    collectives::allReduceSum(data, nelem, type, name);
}

inline void allGather(const void *in, void *out, std::size_t nelem, poplar::Type type,
                      const std::string &name)
{
    collectives::allGather(in, out, nelem, type, name);
}

} // namespace parallel
} // namespace collectives
} // namespace popdist

#endif
