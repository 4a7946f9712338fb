/* Registers the backend that the argument names, and uses it. */
#include <iostream>

#include <popdist/popdist.hpp>

int main(int, char **argv)
{
    float one = 1;

    try {
        popdist::registerBackend(argv[1]);
        popdist::initializeBackend();
        popdist::collectives::allReduceSum(&one, 1, poplar::FLOAT, "alone");
        popdist::finalizeBackend();
    } catch (const popdist::popdist_error &error) {
        std::cout << error.what() << std::endl;
        return 1;
    }
}
