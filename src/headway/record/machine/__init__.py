"""The machine: facts about the host, the CPUs that the program may use, and counters of the CPUs."""
