// tessera: everything a person or the control plane runs, by sub-command.
#include "role/cli/command.h"

int main(int argc, char** argv) { return tessera::cli::run_command_line(argc, argv); }
