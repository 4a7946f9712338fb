/* The name by which Paddle includes PopDist. */
#ifndef POPDIST_POPDIST_POPLAR_HPP
#define POPDIST_POPDIST_POPLAR_HPP

#include "popdist/popdist.hpp"

#endif
