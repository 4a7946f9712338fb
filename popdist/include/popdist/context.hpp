/* Who this instance is among all. */
#ifndef POPDIST_CONTEXT_HPP
#define POPDIST_CONTEXT_HPP

#include <string>
#include <vector>

#include "popdist/backend.hpp"
#include "popdist/error.hpp"
#include "popdist/poplar.hpp"

namespace popdist
{

inline bool isPopdistEnvSet()
{
    return popdist_is_env_set();
}

inline unsigned getNumTotalReplicas()
{
    return detail::query(popdist_num_total_replicas);
}

inline unsigned getNumLocalReplicas()
{
    return detail::query(popdist_num_local_replicas);
}

inline unsigned getNumIpusPerReplica()
{
    return detail::query(popdist_num_ipus_per_replica);
}

inline unsigned getReplicaIndexOffset()
{
    return detail::query(popdist_replica_index_offset);
}

/* These two are defined only when every instance has the same number of replicas. */
inline unsigned getNumInstances()
{
    return detail::query(popdist_num_instances);
}

inline unsigned getInstanceIndex()
{
    return detail::query(popdist_instance_index);
}

/* Among the instances of this host. */
inline unsigned getLocalInstanceIndex()
{
    return detail::query(popdist_local_instance_index);
}

/* The device for this instance; 0: as many IPUs per replica as the environment says. */
inline unsigned getDeviceId(unsigned ipus_per_replica = 0)
{
    uint32_t device = 0;

    detail::check(popdist_device_id, ipus_per_replica, &device);
    return device;
}

/* False when the environment says another number. */
inline bool checkNumIpusPerReplica(unsigned ipus_per_replica)
{
    bool fits = false;

    detail::check(popdist_check_num_ipus_per_replica, ipus_per_replica, &fits);
    return fits;
}

/* Reports to the operator how far this program is; metrics such as "loss=0.23". False: the last report has
 * not arrived. See popdist_progress. */
inline bool progress(unsigned percent, long long remainingSeconds = -1,
                     const std::vector<std::string> &metrics = {})
{
    std::vector<const char *> words;
    ::popdist_error error;

    for (const auto &metric : metrics)
        words.push_back(metric.c_str());
    words.push_back(nullptr);
    const auto status = popdist_progress(percent, remainingSeconds, words.data(), &error);
    if (status != POPDIST_OK && status != POPDIST_UNAVAILABLE)
        throw popdist::popdist_error(error);
    return status == POPDIST_OK;
}

inline void init()
{
    detail::check(popdist_init);
}

/* A barrier. */
inline void synchronize(const std::string &id = defaultCommunicatorId())
{
    detail::check(popdist_synchronize, id.c_str());
}

/* Sends the reports of this instance where poprun --autoreport-dir says, and nothing without it. */
inline void setEngineOptions(poplar::OptionFlags &options)
{
    char directory[4096];
    bool enable_all = false;

    detail::check(popdist_autoreport, &directory[0], sizeof directory, &enable_all);
    if (directory[0])
        options.set("autoReport.directory", directory);
    if (enable_all)
        options.set("autoReport.all", "true");
}

} // namespace popdist

#endif
