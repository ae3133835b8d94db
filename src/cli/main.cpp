#include "cli/program.h"

int main(int argc, char** argv) { return qc::cli::program(argc, argv); }
