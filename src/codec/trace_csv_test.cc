#include "codec/trace_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using testing::HasSubstr;

constexpr TraceReadOptions kStrict{"pods.csv", false};
constexpr TraceReadOptions kLenient{"pods.csv", true};

TEST(TraceCsv, ReadsOpenbPodsWithEveryColumn) {
    Interner<ModelIndex> models;
    const auto trace = read_pod_trace(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
        "deletion_time,scheduled_time\n"
        "a,12000,16384,1,460,V100M16|T4,LS,Running,10,110,40\n"
        "b,8000,30517,0,0,,BE,Pending,20,30,\n",
        kStrict, models);
    ASSERT_TRUE(trace.has_value()) << trace.error().message;
    ASSERT_EQ(trace->pods.size(), 2U);
    const TracePod& a = trace->pods[0];
    EXPECT_EQ(a.cpu, MilliCpu(12000));
    EXPECT_EQ(a.memory, MemoryMib(16384));
    EXPECT_EQ(a.gpus, 1);
    EXPECT_EQ(a.gpu_milli, MilliGpu(460));
    EXPECT_EQ(a.models, (std::vector{models.find("V100M16"), models.find("T4")}));
    EXPECT_EQ(a.priority, 2);
    EXPECT_EQ(a.submit_s, 10);
    EXPECT_EQ(a.duration_s, 70);
    const TracePod& b = trace->pods[1];
    EXPECT_EQ(b.gpus, 0);
    EXPECT_EQ(b.row, 1U);
    EXPECT_EQ(b.priority, 0);
    EXPECT_FALSE(b.duration_s.has_value()) << "a pod that never started has no duration";
}

TEST(TraceCsv, ReadsOpenbPodsWithoutOptionalColumns) {
    Interner<ModelIndex> models;
    const auto trace = read_pod_trace("name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,2,8,1000\n",
                                      kStrict, models);
    ASSERT_TRUE(trace.has_value());
    EXPECT_EQ(trace->pods[0].gpu_milli_total(), 8000);
    EXPECT_TRUE(trace->pods[0].models.empty());
    EXPECT_FALSE(trace->pods[0].submit_s.has_value());
}

TEST(TraceCsv, NamesFileLineAndColumnOfEveryBrokenRow) {
    Interner<ModelIndex> models;
    const std::string text =
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"
        "a,12x,16384,1,460,\n"
        "b,12000,16384,1,1001,\n"
        "c,12000,16384,1,500\n"
        "d,1,1,0,5,\n"
        "e,1,1,17,1000,\n"
        "f,1,1,1,1000,T4||A10\n"
        "g,1,-1,1,1000,\n"
        ",1,1,1,1000,\n"
        "ok,1,1,1,1000,\n";
    const auto strict = read_pod_trace(text, kStrict, models);
    ASSERT_FALSE(strict.has_value());
    const std::string& message = strict.error().message;
    EXPECT_THAT(message, HasSubstr("pods.csv:2:3: cpu_milli: \"12x\" is not a whole number"));
    EXPECT_THAT(message, HasSubstr("pods.csv:3:17: gpu_milli: \"1001\" is not a whole number from "
                                   "1 to 1000"));
    EXPECT_THAT(message, HasSubstr("pods.csv:4:1: the row has 5 fields, the header 6"));
    EXPECT_THAT(message, HasSubstr("pods.csv:5:9: gpu_milli: \"5\" is not a whole number from 0 to "
                                   "0"));
    EXPECT_THAT(message, HasSubstr("pods.csv:6:7: num_gpu: \"17\""));
    EXPECT_THAT(message, HasSubstr("pods.csv:7:14: gpu_spec: \"T4||A10\" has an empty model"));
    EXPECT_THAT(message, HasSubstr("pods.csv:8:5: memory_mib: \"-1\""));
    EXPECT_THAT(message, HasSubstr("pods.csv:9:1: name: \"\" is empty"));

    const auto lenient = read_pod_trace(text, kLenient, models);
    ASSERT_TRUE(lenient.has_value());
    EXPECT_EQ(lenient->skipped.count, 8U);
    EXPECT_EQ(lenient->rows, 9U);
    ASSERT_EQ(lenient->pods.size(), 1U);
    EXPECT_EQ(lenient->pods[0].row, 8U) << "order files count the broken rows too";
}

TEST(TraceCsv, RefusesUnknownAndDoubledHeaders) {
    Interner<ModelIndex> models;
    EXPECT_THAT(read_pod_trace("a,b\n1,2\n", kStrict, models).error().message,
                HasSubstr("not a pod list that is known"));
    EXPECT_THAT(read_pod_trace("", kStrict, models).error().message, HasSubstr("empty"));
    EXPECT_THAT(read_pod_trace("name,cpu_milli,name\n", kStrict, models).error().message,
                HasSubstr("pods.csv:1:16: the header names column \"name\" twice"));
    EXPECT_THAT(read_node_trace("a,b\n", kStrict, models).error().message,
                HasSubstr("not a node list that is known"));
}

TEST(TraceCsv, SplitsWidePhillyJobsIntoNodes) {
    Interner<ModelIndex> models;
    const auto trace = read_pod_trace(
        "timestamp,duration,num_gpus,gpu_time,cluster\n"
        "2017-10-09 07:01:55,66.0,1,66.0,11cb48\n"
        "2017-10-10 07:01:55,100.5,20,2010,11cb48\n",
        kStrict, models);
    ASSERT_TRUE(trace.has_value()) << trace.error().message;
    EXPECT_EQ(trace->format, TraceFormat::philly);
    ASSERT_EQ(trace->pods.size(), 4U);
    EXPECT_EQ(trace->pods[0].cpu, MilliCpu(6000));
    EXPECT_EQ(trace->pods[0].memory, MemoryMib(48 * 1024));
    EXPECT_EQ(trace->pods[1].gpus, 8);
    EXPECT_EQ(trace->pods[2].gpus, 8);
    EXPECT_EQ(trace->pods[3].gpus, 4);
    EXPECT_EQ(trace->pods[3].name, "philly-1-2");
    EXPECT_EQ(trace->pods[3].duration_s, 100.5);
    EXPECT_EQ(*trace->pods[1].submit_s - *trace->pods[0].submit_s, 86400);
    EXPECT_EQ(*trace->pods[0].submit_s, 1507532515.0);
}

TEST(TraceCsv, RefusesImpossibleTimes) {
    Interner<ModelIndex> models;
    for (const char* time : {"2017-02-29 00:00:00", "2017-13-01 00:00:00", "2017-10-09 24:00:00",
                             "yesterday", "2017-10-09"}) {
        const auto trace = read_pod_trace(
            fmt::format("timestamp,duration,num_gpus\n{},1,1\n", time), kStrict, models);
        ASSERT_FALSE(trace.has_value()) << time;
        EXPECT_THAT(trace.error().message, HasSubstr("pods.csv:2:1: timestamp"));
    }
    EXPECT_FALSE(
        read_pod_trace("timestamp,duration,num_gpus\n2016-02-29 00:00:00,nan,1\n", kStrict, models)
            .has_value());
}

TEST(TraceCsv, ReadsV2025Instances) {
    Interner<ModelIndex> models;
    const auto trace = read_pod_trace(
        "instance_sn,role,cpu_request,gpu_request,memory_request,creation_time,scheduled_time,"
        "deletion_time\n"
        "i0,HN,12,1,120.0,,,\n"
        "i1,CN,64,0,320.5,475.00000000000006,623.0,91730.0\n",
        kStrict, models);
    ASSERT_TRUE(trace.has_value()) << trace.error().message;
    EXPECT_EQ(trace->format, TraceFormat::v2025);
    EXPECT_EQ(trace->pods[0].gpu_milli, MilliGpu(1000));
    EXPECT_FALSE(trace->pods[0].submit_s.has_value());
    EXPECT_EQ(trace->pods[1].cpu, MilliCpu(64000));
    EXPECT_EQ(trace->pods[1].memory, MemoryMib(328192));
    EXPECT_EQ(trace->pods[1].gpu_milli, MilliGpu(0));
    EXPECT_EQ(trace->pods[1].duration_s, 91730.0 - 623.0);
}

TEST(TraceCsv, ReadsBothNodeLists) {
    Interner<ModelIndex> models;
    const auto openb = read_node_trace(
        "sn,cpu_milli,memory_mib,gpu,model\nn0,64000,262144,2,P100\nn1,8000,1024,0,\n", kStrict,
        models);
    ASSERT_TRUE(openb.has_value()) << openb.error().message;
    EXPECT_EQ(openb->nodes[0].gpus.size(), 2U);
    EXPECT_EQ(openb->nodes[0].gpus[1].model, models.find("P100"));
    EXPECT_TRUE(openb->nodes[1].gpus.empty());
    const auto spot = read_node_trace(
        "gpu_model,gpu_capacity_num,cpu_num,node_name\nA10,1,128,17\n", kStrict, models);
    ASSERT_TRUE(spot.has_value());
    EXPECT_EQ(spot->nodes[0].memory, MemoryMib(128 * 8 * 1024));
    EXPECT_EQ(spot->nodes[0].name, "17");
}

TEST(TraceCsv, WhatIsWrittenReadsBack) {
    Interner<ModelIndex> models;
    TracePod pod;
    pod.name = "with, comma";
    pod.cpu = MilliCpu(1500);
    pod.memory = MemoryMib(77);
    pod.gpus = 1;
    pod.gpu_milli = MilliGpu(142);
    pod.models = {models.intern("A10"), models.intern("T4")};
    pod.priority = 1;
    pod.submit_s = 12.5;
    pod.duration_s = 3600;
    const auto back = read_pod_trace(write_pod_trace({pod}, models), kStrict, models);
    ASSERT_TRUE(back.has_value()) << back.error().message;
    EXPECT_EQ(back->pods, std::vector{pod});
    const auto nodes = read_node_trace(
        "sn,cpu_milli,memory_mib,gpu,model\nn0,64000,262144,2,P100\nn1,8000,1024,0,\n", kStrict,
        models);
    EXPECT_EQ(write_node_trace(nodes->nodes, models),
              "sn,cpu_milli,memory_mib,gpu,model\nn0,64000,262144,2,P100\nn1,8000,1024,0,\n");
}

TEST(TraceCsv, TimesOfSomePodsOnlyAreKept) {
    Interner<ModelIndex> models;
    TracePod timed;
    timed.name = "timed";
    timed.submit_s = 7;
    timed.duration_s = 60;
    TracePod never_started;
    never_started.name = "never-started";
    never_started.submit_s = 9;
    never_started.row = 1;
    TracePod untimed;
    untimed.name = "untimed";
    untimed.row = 2;
    const std::vector pods{timed, never_started, untimed};
    const auto back = read_pod_trace(write_pod_trace(pods, models), kStrict, models);
    ASSERT_TRUE(back.has_value()) << back.error().message;
    EXPECT_EQ(back->pods, pods);
}

TEST(TraceCsv, GpusHaveTheMemoryOfTheirColumnOrTheirModel) {
    Interner<ModelIndex> models;
    const std::string text =
        "sn,cpu_milli,memory_mib,gpu,model,gpu_memory_mib\n"
        "given,1000,1,2,T4,20480\nusual,1000,1,2,T4,\nunknown,1000,1,2,X9,\nnone,1000,1,0,,\n";
    const auto nodes = read_node_trace(text, kStrict, models);
    ASSERT_TRUE(nodes.has_value()) << nodes.error().message;
    EXPECT_EQ(nodes->nodes[0].gpus[1].memory, MemoryMib(20480));
    EXPECT_EQ(nodes->nodes[1].gpus[1].memory, MemoryMib(15109));
    EXPECT_EQ(nodes->nodes[2].gpus[1].memory, MemoryMib(0));
    const auto back = read_node_trace(write_node_trace(nodes->nodes, models), kStrict, models);
    ASSERT_TRUE(back.has_value()) << back.error().message;
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(back->nodes[i].gpus[0].memory, nodes->nodes[i].gpus[0].memory) << i;
    }
    EXPECT_THAT(
        read_node_trace("sn,cpu_milli,memory_mib,gpu,gpu_memory_mib\na,1,1,1,-5\n", kStrict, models)
            .error()
            .message,
        HasSubstr(":2:9: gpu_memory_mib: \"-5\""));
}

TEST(TraceCsv, NodesHaveNamesOfTheirOwn) {
    Interner<ModelIndex> models;
    const std::string text = "sn,cpu_milli,memory_mib,gpu\na,1,1,1\nb,1,1,1\na,1,1,1\n";
    EXPECT_THAT(read_node_trace(text, kStrict, models).error().message,
                HasSubstr("pods.csv:4:1: sn: \"a\" is the name of an earlier node too"));
    EXPECT_EQ(read_node_trace(text, kLenient, models)->nodes.size(), 2U);
}

TEST(TraceCsv, TheHeaderTellsNodesFromPods) {
    EXPECT_TRUE(is_node_trace("model,gpu,memory_mib,cpu_milli,sn\n"));
    EXPECT_TRUE(is_node_trace("gpu_model,gpu_capacity_num,cpu_num,node_name\n"));
    EXPECT_FALSE(is_node_trace("name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"));
    EXPECT_FALSE(is_node_trace(""));
}

TEST(TraceCsv, OrdersStayWithinTheirRows) {
    const OrderReadOptions options{"o.csv", "pod_row", 3};
    EXPECT_EQ(*read_order("pod_row\n2\n0\n2\n", options), (std::vector<std::uint32_t>{2, 0, 2}));
    EXPECT_THAT(read_order("pod_row\n3\n", options).error().message,
                testing::Not(HasSubstr("--lenient")));
    EXPECT_THAT(read_order("pod_row\n", options).error().message, HasSubstr("header but no row"));
    EXPECT_THAT(read_order("pod_row\n3\n", options).error().message,
                HasSubstr("o.csv:2:1: pod_row: \"3\" is not a whole number from 0 to 2"));
    EXPECT_THAT(read_order("node_row\n3\n", options).error().message,
                HasSubstr("no column pod_row"));
}

TEST(TraceCsv, TooManyModelsAreAnErrorNotACrash) {
    Interner<ModelIndex> models;
    std::string text = "sn,cpu_milli,memory_mib,gpu,model\n";
    for (int i = 0; i < 1002; ++i) {
        text += fmt::format("n{},1000,1,1,model-{}\n", i, i);
    }
    const auto nodes = read_node_trace(text, kLenient, models);
    ASSERT_TRUE(nodes.has_value());
    EXPECT_EQ(nodes->skipped.count, 2U);
    EXPECT_EQ(nodes->nodes.size(), kTraceModelsMax);
}

TEST(TraceCsv, SpotNodesHaveTheirMemoryWhereItIsGiven) {
    Interner<ModelIndex> models;
    const auto read = read_node_trace(
        "gpu_model,gpu_capacity_num,cpu_num,memory_gib,node_name\nA100,8,96,768.5,a\nA100,8,96,,"
        "b\n",
        {"n.csv", false}, models);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->nodes[0].memory, MemoryMib(786'944));
    EXPECT_NE(read->nodes[1].memory, read->nodes[0].memory) << "by its cores";
    EXPECT_GT(read->nodes[1].memory, MemoryMib(0));
    const auto wrong = read_node_trace(
        "gpu_model,gpu_capacity_num,cpu_num,memory_gib,node_name\nA100,8,96,much,a\n",
        {"n.csv", false}, models);
    EXPECT_THAT(wrong.error().message, HasSubstr("n.csv:2:"));
}

}  // namespace
}  // namespace tessera
