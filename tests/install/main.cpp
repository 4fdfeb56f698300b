#include <stoker/version.h>

#include <cstring>

int main() { return std::strcmp(stoker::kVersion, stoker::version()); }
