// What tessera explain is asked: pods of a manifest, or one that flags describe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/cluster_state.h"
#include "model/demand.h"
#include "model/ids.h"

namespace tessera::cli {

struct Question {
    std::string name;  // in words, for the heading of several
    Demand demand;
    std::int64_t members = 1;
    bool together = true;   // all of them or none: a group. Else replicas, each on its own
    std::string dialect{};  // the vocabulary that it asks in; empty: flags
    std::vector<std::string> notes{};  // about this pod
};

struct Questions {
    std::vector<Question> asked;
    std::vector<std::string> notes;  // about the file or the cluster: told once
};

// As the flags of the same names say it; empty or 0 where a flag was not given.
struct DemandFlags {
    int gpus = 1;
    int milli = 0;
    std::string gpu_memory;
    std::string cpu = "0";
    std::string memory = "0";
    std::string models;
    std::int64_t members = 1;
};

Expected<Questions> questions_of_flags(const DemandFlags& flags, Vocabulary& names);
// "-" is standard input.
Expected<Questions> questions_of_manifest(const std::string& path, const ClusterState& state,
                                          Vocabulary& names);

// Without this note the answers would read as if GPUs of unknown memory were small.
void note_unknown_memory(const ClusterState& state, Questions& questions);

}  // namespace tessera::cli
