/* Every operation of the C++ headers, alone or under mpirun; prints "good" once per instance. */
#include <popdist/popdist.hpp>

#include <cstdint>
#include <iostream>
#include <set>
#include <thread>
#include <vector>

namespace
{

struct Engine {
    unsigned program = 0;
    void run(unsigned number, const std::string &name)
    {
        program = name == "step" ? number : 0;
    }
};

void expect(bool good, const char *what)
{
    if (!good)
        throw std::runtime_error(what);
}

void reduce(unsigned instances, unsigned index, std::size_t count, const std::string &key)
{
    std::vector<std::int32_t> data(count, static_cast<std::int32_t>(index + 1));

    popdist::collectives::allReduceSum(data.data(), count, poplar::INT, key);
    for (auto element : data)
        expect(element == static_cast<std::int32_t>(instances * (instances + 1) / 2), "allReduceSum");
}

void broadcast(unsigned instances, unsigned index)
{
    std::vector<double> data(3000, index);

    popdist::collectives::broadcast(data.data(), data.size(), poplar::DOUBLE, instances - 1, "weights");
    for (auto element : data)
        expect(!(element < instances - 1 || element > instances - 1), "broadcast");
}

void gather(unsigned instances, unsigned index)
{
    std::uint16_t own = static_cast<std::uint16_t>(index);
    std::vector<std::uint16_t> all(instances, 99), again(instances, own);

    popdist::collectives::allGather(&own, all.data(), 1, poplar::UNSIGNED_SHORT, "parts");
    popdist::collectives::allGather(nullptr, again.data(), 1, poplar::UNSIGNED_SHORT, "again", true);
    for (unsigned i = 0; i < instances; i++)
        expect(all[i] == i && again[i] == i, "allGather");
}

void mismatch(unsigned instances, unsigned index)
{
    float data[2] = {};

    try {
        popdist::collectives::allReduceSum(data, index == 0 ? 1 : 2, poplar::FLOAT, "odd");
        expect(instances == 1, "a mismatch went unnoticed");
    } catch (const popdist::popdist_error &error) {
        expect(error.status() == POPDIST_MISMATCH, error.what());
        expect(std::string(error.what()).find("Tensor layouts did not match on all instances") == 0,
               error.what());
    }
}

/* Even and odd instances in opposite order, from threads of their own. */
void threads(unsigned instances, unsigned index)
{
    std::thread one([=] { reduce(instances, index, 5, index % 2 ? "a" : "b"); });
    std::thread other([=] { reduce(instances, index, 5, index % 2 ? "b" : "a"); });

    one.join();
    other.join();
}

void pair(unsigned index)
{
    std::int64_t one = 1;

    popdist::registerCommunicator({0, 1}, "pair");
    if (index < 2) {
        popdist::collectives::allReduceSum(&one, 1, poplar::LONGLONG, "pair");
        expect(one == 2, "allReduceSum in a communicator");
    }
}

/* As kernels of graphcore/tensorflow call them:
 * tensorflow/compiler/plugin/poplar/kernels/popdist/broadcast.cc and all_reduce.cc at e717307a7c1f. */
void sequential(unsigned instances, unsigned index)
{
    std::int32_t sum = 1, first = static_cast<std::int32_t>(index);
    std::vector<std::int32_t> all(instances);

    popdist::collectives::sequential::broadcast(&first, 1, poplar::INT);
    popdist::collectives::sequential::allReduceSum(&sum, 1, poplar::INT);
    popdist::collectives::sequential::allReduceSum(&sum, 1, poplar::INT);
    popdist::collectives::sequential::allGather(&sum, all.data(), 1, poplar::INT);
    expect(first == 0, "sequential::broadcast");
    for (auto element : all)
        expect(element == static_cast<std::int32_t>(instances * instances), "sequential::allGather");
}

std::int32_t sum_of_ones(const std::string &key)
{
    std::int32_t one = 1;

    popdist::collectives::allReduceSum(&one, 1, poplar::INT, key);
    return one;
}

/* The id is optional (docs.graphcore.ai, poprun-user-guide, api_cpp.html): then it is that of all operations
 * without another one. */
void withoutName(unsigned instances, unsigned index)
{
    std::set<std::uint32_t> all;

    for (std::uint32_t i = 0; i < instances; i++)
        all.insert(i);
    popdist::registerCommunicator({0, 1});
    if (index < 2) {
        expect(sum_of_ones(popdist::defaultCommunicatorId()) == 2, "the default communicator");
        expect(sum_of_ones("key") == 2, "a key in the default communicator");
    } else {
        try {
            (void)sum_of_ones("key");
            expect(false, "an instance outside of the default communicator went unnoticed");
        } catch (const popdist::popdist_error &error) {
            expect(std::string(error.what()).find("is not one of communicator \"popdist.default\"") !=
                       std::string::npos,
                   error.what());
        }
    }
    popdist::registerCommunicator({0, 1});
    popdist::registerCommunicator(all);
    expect(sum_of_ones(popdist::defaultCommunicatorId()) == static_cast<std::int32_t>(instances),
           "the default communicator of all");
}

void misuse()
{
    popdist::init(); /* nothing */
    try {
        popdist::initializeBackend();
    } catch (const popdist::popdist_error &error) {
        expect(error.status() == POPDIST_MISUSE, error.what());
        return;
    }
    throw std::runtime_error("a second start went unnoticed");
}

#ifdef POPDIST_HAS_POPLAR
/* Poplar has types that no host computes with. */
void foreign()
{
    unsigned char data = 0;

    try {
        popdist::collectives::allReduceSum(&data, 1, poplar::QUARTER, "quarter");
    } catch (const popdist::popdist_error &error) {
        expect(std::string(error.what()) == "there is no collective operation on elements of type quarter",
               error.what());
        return;
    }
    throw std::runtime_error("a foreign type went unnoticed");
}
#endif

void all(unsigned instances, unsigned index)
{
    Engine engine;

    reduce(instances, index, 1, "small");
    reduce(instances, index, 300007, "large");
    broadcast(instances, index);
    gather(instances, index);
    mismatch(instances, index);
    threads(instances, index);
    sequential(instances, index);
    if (instances > 1) {
        pair(index);
        withoutName(instances, index);
    }
    misuse();
    popdist::run(engine, 7, "step");
    expect(engine.program == 7, "run");
    popdist::synchronize();
}

} // namespace

int main()
{
    try {
        popdist::init();
        all(popdist::getNumInstances(), popdist::getInstanceIndex());
        popdist::finalizeBackend();
        popdist::finalizeBackend(); /* nothing */
        expect(!popdist::isBackendInitialized(), "finalizeBackend");
    } catch (const std::exception &error) {
        std::cerr << error.what() << std::endl;
        return 1;
    }
#ifdef POPDIST_HAS_POPLAR
    foreign();
    std::cout << "good with Poplar's types\n";
#else
    std::cout << "good\n";
#endif
}
