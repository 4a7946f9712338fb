/* All of PopDist for C++. */
#ifndef POPDIST_POPDIST_HPP
#define POPDIST_POPDIST_HPP

#include "popdist/backend.hpp"
#include "popdist/collectives.hpp"
#include "popdist/context.hpp"
#include "popdist/error.hpp"

#endif
