/* The names of the environment variables between the program that starts a distributed run (the in-pod
 * launcher, poprun) and PopDist in the started program. Only launchers write them and only PopDist reads
 * them; other products (PaddlePaddle, popxl) read them too, so names and meanings never change. Constants
 * only: nothing here needs to be linked. The numbers are decimal; the number of instances and the index of a
 * process are not passed but follow from the replicas: instances = total / local, instance = offset / local.
 */
#ifndef POPDIST_CONTRACT_H
#define POPDIST_CONTRACT_H

/* Model replicas of all instances together; its presence alone means "this is a PopDist run". */
#define POPDIST_ENV_NUM_TOTAL_REPLICAS "POPDIST_NUM_TOTAL_REPLICAS"
#define POPDIST_ENV_NUM_IPUS_PER_REPLICA "POPDIST_NUM_IPUS_PER_REPLICA"
/* Model replicas of this instance. */
#define POPDIST_ENV_NUM_LOCAL_REPLICAS "POPDIST_NUM_LOCAL_REPLICAS"
/* "1": every instance has the same number of replicas; "0": instance index and count are not defined. */
#define POPDIST_ENV_UNIFORM_REPLICAS_PER_INSTANCE "POPDIST_UNIFORM_REPLICAS_PER_INSTANCE"
/* The device that the launcher attached as parent; absent if it attached none. */
#define POPDIST_ENV_NODE_DEVICE_ID "POPDIST_NODE_DEVICE_ID"
/* Directories; absent if the feature is off. */
#define POPDIST_ENV_EXECUTABLE_CACHE_PATH "POPDIST_EXECUTABLE_CACHE_PATH"
#define POPDIST_ENV_AUTOREPORT_DIRECTORY "POPDIST_AUTOREPORT_DIRECTORY"
/* Index of this instance's first replica among all. */
#define POPDIST_ENV_REPLICA_INDEX_OFFSET "POPDIST_REPLICA_INDEX_OFFSET"
/* Index of this instance among those on its host. */
#define POPDIST_ENV_LOCAL_INSTANCE_INDEX "POPDIST_LOCAL_INSTANCE_INDEX"

/* The operator's, and Kubeflow's: where the job's programs report their progress; absent outside of a job. */
#define POPDIST_ENV_PROGRESS_URL "KUBEFLOW_TRAINER_SERVER_URL"

/* Poplar's own variable, not PopDist's: a JSON object of strings that describes the target. */
#define POPLAR_ENV_TARGET_OPTIONS "POPLAR_TARGET_OPTIONS"

#endif
