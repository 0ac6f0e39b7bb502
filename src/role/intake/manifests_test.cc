// Manifests as users of the five systems have them: same kinds, resources, labels, annotations and
// scheduler names as the projects' own samples, in our words. Each is read as it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/kube_yaml.h"
#include "dialect/test_pods.h"
#include "role/intake/intake.h"

namespace tessera {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::World;

struct Read {
    PodSet set;
    PodDemand asked;

    const GpuRequest& request() const { return asked.demand.alternatives.front().requests.front(); }
    std::string_view dialect() const { return (*dialect_of(set.pod))->name; }
};

Expected<Read> read(std::string_view text, World& world) {
    TESSERA_TRY(KubeObjects objects, read_kube_yaml(text));
    Read result{std::move(objects.pods.at(0)), {}};
    TESSERA_TRY(result.asked, world.ask(result.set.pod));
    return result;
}

TEST(Manifests, CoschemlPodByProfiledMemory) {
    World world;
    world.context.options.gpushare_unit = MemoryUnit::mib;
    const auto pod = read(R"(
apiVersion: v1
kind: Pod
metadata:
  name: branches
spec:
   restartPolicy: Never
   containers:
     - name: branches
       image: registry.example/branches:3
       command:
       - "python"
       args:
       - "/app/branches.py"
       resources:
         limits:
            aliyun.com/gpu-mem: 300
       volumeMounts:
         - name: out
           mountPath: /out
   volumes:
     - name: out
       hostPath:
         path: /srv/out
)",
                          world);
    ASSERT_TRUE(pod) << pod.error().message;
    EXPECT_EQ(pod->dialect(), "gpushare");
    EXPECT_EQ(pod->request().memory, MemoryMib(300));
    EXPECT_EQ(pod->request().milli, MilliGpu(0));
}

std::string elastic(std::string_view limit) {
    return fmt::format(R"(
apiVersion: apps/v1
kind: Deployment
metadata:
  name: card-user
  labels:
    app: card-user
spec:
  replicas: 1
  selector:
    matchLabels:
      app: card-user
  template:
    metadata:
      labels:
        app: card-user
    spec:
      containers:
        - name: cuda
          image: registry.example/cuda:10
          command: [ "sleep", "9000" ]
          resources:
            limits:
              {}
)",
                       limit);
}

TEST(Manifests, ElasticDeploymentsByMemoryAndByCards) {
    World world;
    const auto part = read(elastic(R"(elasticgpu.io/gpu-memory: "256" # MiB)"), world);
    ASSERT_TRUE(part) << part.error().message;
    EXPECT_EQ(part->dialect(), "elastic");
    EXPECT_EQ(part->set.kind, "Deployment");
    EXPECT_EQ(part->request().gpus, 1);
    EXPECT_EQ(part->request().memory, MemoryMib(256));
    const auto cards = read(elastic(R"(elasticgpu.io/gpu-core: "200" # two cards)"), world);
    ASSERT_TRUE(cards) << cards.error().message;
    EXPECT_EQ(cards->request().gpus, 2);
    EXPECT_TRUE(cards->request().whole());
    const auto slashes = read(elastic(R"(elasticgpu.io/gpu-core: "200" // two cards)"), world);
    ASSERT_TRUE(slashes) << "as the project's own samples are written";
    EXPECT_EQ(slashes->request().gpus, 2);
}

TEST(Manifests, KetiJobWithMps) {
    World world;
    const auto job = read(R"(
apiVersion: batch/v1
kind: Job
metadata:
  name: bodies-mps # the job
  namespace: people
spec:
  template:
    spec:
      hostIPC: true
      schedulerName: gpu-scheduler
      containers:
        - image: registry.example/bodies:10
          name: bodies1
          args:
            - bodies
            - -benchmark
            - -numdevices=1
          resources:
            limits:
              keti.com/mpsgpu: 1 # GPUs
              cpu: "250m"
              memory: "6400Mi"
            requests:
              cpu: "250m"
              memory: "6400Mi"
          volumeMounts:
            - name: nvidia-mps
              mountPath: /tmp/nvidia-mps
      volumes:
        - name: nvidia-mps
          hostPath:
            path: /tmp/nvidia-mps
      restartPolicy: Never
)",
                          world);
    ASSERT_TRUE(job) << job.error().message;
    EXPECT_EQ(job->dialect(), "keti");
    EXPECT_EQ(job->set.pod.space, "people");
    EXPECT_EQ(job->request().gpus, 1);
    EXPECT_EQ(job->request().milli, MilliGpu(100));
    EXPECT_EQ(job->asked.demand.cpu, MilliCpu(250));
    EXPECT_EQ(job->asked.demand.memory, MemoryMib(6400));
    EXPECT_EQ(job->asked.demand.priority, 50);
}

TEST(Manifests, KubesharePod) {
    World world;
    const auto pod = read(R"(
apiVersion: v1
kind: Pod
metadata:
  name: digits
  labels:
    "sharedgpu/gpu_request": "0.5"
    "sharedgpu/gpu_limit": "1.0"
    "sharedgpu/gpu_model": "NVIDIA-GeForce-GTX-1080"
spec:
  schedulerName: kubeshare-scheduler
  restartPolicy: Never
  containers:
    - name: torch
      image:  registry.example/digits:1
      command: ["sh", "-c", "sleep infinity"]
      imagePullPolicy: Always #IfNotPresent
)",
                          world);
    ASSERT_TRUE(pod) << pod.error().message;
    EXPECT_EQ(pod->dialect(), "kubeshare");
    EXPECT_EQ(pod->request().milli, MilliGpu(500));
    EXPECT_EQ(pod->request().limit, MilliGpu(1000));
    EXPECT_EQ(pod->asked.demand.service, ServiceClass::opportunistic);
    // As the driver spells it.
    EXPECT_THAT(pod->asked.demand.models, SizeIs(1));
    Node node = testing::node({{"cpu", "8"}});
    node.annotations["tessera.dev/gpus"] =
        R"({"version":1,"gpus":[{"model":"NVIDIA GeForce GTX 1080","memoryMib":8119}]})";
    EXPECT_EQ(take_node(node, world.context)->gpus[0].model, pod->asked.demand.models[0]);
}

TEST(Manifests, KubeshareGroupedJob) {
    World world;
    const auto job = read(R"(
apiVersion: batch/v1
kind: Job
metadata:
  name: words-g
  labels:
    app: words-g
spec:
  completions: 5
  parallelism: 5
  template:
    metadata:
      name: words-o
      labels:
        "sharedgpu/gpu_request": "0.5"
        "sharedgpu/gpu_limit": "1.0"
        "sharedgpu/group_name": "a"
        "sharedgpu/group_headcount": "5"
        "sharedgpu/group_threshold": "0.2"
        "sharedgpu/priority": "100"
    spec:
      schedulerName: kubeshare-scheduler
      restartPolicy: Never
      containers:
        - name: torch
          image:  registry.example/words:1
          volumeMounts:
          - name: datasets
            mountPath: "/datasets/"
      volumes:
        - name: datasets
          hostPath:
            path: "/srv/datasets/"
)",
                          world);
    ASSERT_TRUE(job) << job.error().message;
    EXPECT_EQ(job->set.count, 5);
    ASSERT_TRUE(job->asked.demand.gang);
    EXPECT_EQ(job->asked.demand.gang->size, 5);
    EXPECT_EQ(job->asked.demand.gang->minimum, 1);
    EXPECT_EQ(job->asked.demand.service, ServiceClass::guaranteed);
    EXPECT_EQ(job->asked.demand.priority, 100);
}

TEST(Manifests, KubeshareSharePodOfTheFirstVersion) {
    World world;
    const auto pod = read(R"(
apiVersion: kubeshare.nthu/v1
kind: SharePod
metadata:
  name: first
  annotations:
    "kubeshare/gpu_request": "0.4"
    "kubeshare/gpu_limit": "1.0"
    "kubeshare/gpu_mem": "3145728000"
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - name: tf
    image: registry.example/tf:1
)",
                          world);
    ASSERT_TRUE(pod) << pod.error().message;
    EXPECT_EQ(pod->set.kind, "SharePod");
    EXPECT_EQ(pod->request().milli, MilliGpu(400));
    EXPECT_EQ(pod->request().memory, MemoryMib(3000));
}

TEST(Manifests, ResourceAwareJobByLabel) {
    World world;
    const auto job = read(R"(
apiVersion: batch/v1
kind: Job
metadata:
  name: vision-1
spec:
  backoffLimit: 20
  completions: 1
  parallelism: 1
  template:
    metadata:
      labels:
        GPU_MEM_REQ: '6994'
    spec:
      schedulerName: custom-scheduler
      hostIPC: true
      restartPolicy: OnFailure
      containers:
        - name: vision
          image: registry.example/vision:1
)",
                          world);
    ASSERT_TRUE(job) << job.error().message;
    EXPECT_EQ(job->dialect(), "kube-knots");
    EXPECT_EQ(job->request().memory, MemoryMib(6994));
    EXPECT_EQ(job->set.count, 1);
}

TEST(Manifests, APodWithoutAnyOfItIsARegularPod) {
    World world;
    const auto pod = read(R"(
kind: Pod
metadata: {generateName: plain-}
spec:
  containers: [{name: web, resources: {requests: {cpu: 1, memory: 1Gi}}}]
)",
                          world);
    ASSERT_TRUE(pod) << pod.error().message;
    EXPECT_EQ(pod->set.pod.name, "plain-");
    EXPECT_THAT(pod->asked.demand.alternatives, IsEmpty());
    EXPECT_EQ(pod->asked.demand.cpu, MilliCpu(1000));
}

}  // namespace
}  // namespace tessera
