/* How PopDist's C++ functions fail. */
#ifndef POPDIST_ERROR_HPP
#define POPDIST_ERROR_HPP

#include <stdexcept>

#include "popdist/popdist.h"

namespace popdist
{

class popdist_error : public std::runtime_error
{
  public:
    explicit popdist_error(const ::popdist_error &error)
        : std::runtime_error(error.text), status_(error.status)
    {
    }
    popdist_error(popdist_status status, const char *text) : std::runtime_error(text), status_(status)
    {
    }

    popdist_status status() const noexcept
    {
        return status_;
    }

  private:
    popdist_status status_;
};

namespace detail
{

/* check(popdist_init, args...): calls it with an error as last argument, and throws what it says. */
template <typename... Parameters, typename... Arguments>
void check(popdist_status (*function)(Parameters...), Arguments... arguments)
{
    ::popdist_error error;

    if (function(arguments..., &error) != POPDIST_OK)
        throw popdist::popdist_error(error);
}

inline unsigned query(popdist_status (*function)(uint32_t *, ::popdist_error *))
{
    uint32_t number = 0;

    check(function, &number);
    return number;
}

} // namespace detail
} // namespace popdist

#endif
