/* The queries and run() of the C++ headers. "queries" prints what a program knows, "options" which engine
 * options it sets, and "run" has the first instance alone run a program. */
#include <popdist/backend.hpp>
#include <popdist/collectives.hpp>
#include <popdist/context.hpp>

#include <iostream>
#include <string>

namespace
{

struct Engine {
    void run(unsigned program, const std::string &name)
    {
        std::cout << "ran " << program << " " << name << std::endl;
    }
};

void queries()
{
    float one = 1;

    std::cout << popdist::isPopdistEnvSet() << " " << popdist::getNumTotalReplicas() << " "
              << popdist::getNumLocalReplicas() << " " << popdist::getNumIpusPerReplica() << " "
              << popdist::getReplicaIndexOffset() << " " << popdist::getNumInstances() << " "
              << popdist::getInstanceIndex() << " " << popdist::getLocalInstanceIndex() << " "
              << popdist::getDeviceId(1) << " " << popdist::checkNumIpusPerReplica(1) << " "
              << popdist::defaultCommunicatorId() << "\n";
    popdist::collectives::allReduceSum(&one, 1, poplar::FLOAT);
    popdist::collectives::broadcast(&one, 1, poplar::FLOAT);
}

void options()
{
    poplar::OptionFlags flags;

    popdist::setEngineOptions(flags);
    if (flags.empty())
        std::cout << "nothing\n";
    else
        std::cout << flags.at("autoReport.directory") << " " << flags.at("autoReport.all") << "\n";
}

/* Where the others do not come, only a run that waits for nobody ends. */
void run_first()
{
    Engine engine;

    popdist::init();
    if (popdist::getInstanceIndex() == 0)
        popdist::run(engine, 7);
    popdist::synchronize();
    popdist::finalizeBackend();
}

} // namespace

int main(int argc, char **argv)
{
    const std::string what = argc == 2 ? argv[1] : "";

    try {
        if (what == "queries")
            queries();
        else if (what == "options")
            options();
        else
            run_first();
    } catch (const popdist::popdist_error &error) {
        std::cerr << error.what() << std::endl;
        return 1;
    }
}
