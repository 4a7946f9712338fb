/* Every operation of the C++ headers, alone or under mpirun; prints "good" once per instance. */
#include <popdist/popdist.hpp>

#include <cstdint>
#include <iostream>
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

void misuse()
{
    try {
        popdist::init();
    } catch (const popdist::popdist_error &error) {
        expect(error.status() == POPDIST_MISUSE, error.what());
        return;
    }
    throw std::runtime_error("a second init went unnoticed");
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
    if (instances > 1)
        pair(index);
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
