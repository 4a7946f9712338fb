/* The backend that connects the instances: register, initialise, finalise, in this order. And how an instance
 * runs a Poplar engine together with the others. */
#ifndef POPDIST_BACKEND_HPP
#define POPDIST_BACKEND_HPP

#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "popdist/error.hpp"

namespace popdist
{

/* The communicator of operations that have no other: all instances, unless it is registered for others. */
constexpr const char *defaultCommunicatorId()
{
    return "popdist.default";
}

/* The Open MPI backend; for a program that runs alone, one that needs no library. */
inline void registerDefaultBackend()
{
    detail::check(popdist_register_default_backend);
}

inline void registerBackend(const std::string &file_path_backend)
{
    detail::check(popdist_register_backend, file_path_backend.c_str());
}

inline void initializeBackend()
{
    detail::check(popdist_initialize_backend);
}

inline bool isBackendInitialized()
{
    return popdist_is_backend_initialized();
}

/* Waits until all instances have come here. */
inline void finalizeBackend()
{
    detail::check(popdist_finalize_backend);
}

/* All instances call it with the same arguments. Without an id: for all operations that have no other
 * communicator, until the next call. */
inline void registerCommunicator(const std::set<uint32_t> &participants,
                                 const std::string &communicator_id = defaultCommunicatorId())
{
    std::vector<uint32_t> list(participants.begin(), participants.end());

    detail::check(popdist_register_communicator, static_cast<const uint32_t *>(list.data()), list.size(),
                  communicator_id.c_str());
}

/* How long run() waits for instances that are still busy on their host: with loading, validating, saving. */
constexpr long long runTimeoutMs = 3600 * 1000;

/* Runs the engine's program on all instances at the same time: none waits on the device for one that is still
 * busy on its host. POPDIST_RUN_DISABLE_SYNC=1 leaves the waiting out. */
template <typename Engine> void run(Engine &engine, unsigned program, const std::string &debugName = "")
{
    const char *disabled = std::getenv("POPDIST_RUN_DISABLE_SYNC");

    if (isBackendInitialized() && !(disabled && std::string(disabled) == "1"))
        detail::check(popdist_synchronize_for, "popdist.run", static_cast<int64_t>(runTimeoutMs));
    engine.run(program, debugName);
}

} // namespace popdist

#endif
