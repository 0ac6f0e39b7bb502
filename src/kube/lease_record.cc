#include "kube/lease_record.h"

#include <fmt/format.h>

#include <array>

#include "base/json_writer.h"
#include "codec/json_walk.h"

namespace tessera {
namespace {

class LeaseReader : public JsonWalk {
  public:
    bool read(std::string_view text, LeaseRecord& lease) {
        return document(text, [&](JsonItem item) {
            static constexpr std::array<LeaseRule, 2> kRules{
                {{"metadata", &LeaseReader::metadata}, {"spec", &LeaseReader::spec}}};
            return object<LeaseReader, LeaseRecord>(item, lease, kRules);
        });
    }

  private:
    friend class JsonWalk;
    using LeaseRule = Rule<LeaseReader, LeaseRecord>;

    bool metadata(JsonItem item, LeaseRecord& lease) {
        static constexpr std::array<LeaseRule, 1> kRules{
            {{"resourceVersion", &LeaseReader::text_of<&LeaseRecord::version>}}};
        return object<LeaseReader, LeaseRecord>(item, lease, kRules);
    }
    bool spec(JsonItem item, LeaseRecord& lease) {
        static constexpr std::array<LeaseRule, 5> kRules{
            {{"holderIdentity", &LeaseReader::text_of<&LeaseRecord::holder>},
             {"leaseDurationSeconds", &LeaseReader::duration},
             {"leaseTransitions", &LeaseReader::transitions},
             {"acquireTime", &LeaseReader::text_of<&LeaseRecord::acquired>},
             {"renewTime", &LeaseReader::text_of<&LeaseRecord::renewed>}}};
        return object<LeaseReader, LeaseRecord>(item, lease, kRules);
    }
    bool duration(JsonItem item, LeaseRecord& lease) { return count(item, lease.duration_seconds); }
    bool transitions(JsonItem item, LeaseRecord& lease) { return count(item, lease.transitions); }
};

void write_spec(JsonWriter& json, const LeaseRecord& record) {
    json.key("spec");
    json.begin_object();
    json.member("holderIdentity", record.holder);
    json.member("leaseDurationSeconds", record.duration_seconds);
    json.member("leaseTransitions", record.transitions);
    if (!record.acquired.empty()) {
        json.member("acquireTime", record.acquired);
    }
    json.member("renewTime", record.renewed);
    json.end_object();
}

}  // namespace

Expected<LeaseRecord> read_lease_json(std::string_view text) {
    LeaseRecord lease;
    LeaseReader reader;
    if (!reader.read(text, lease)) {
        return fail(ErrorKind::invalid, "this is no Lease: {}", reader.take_error().to_string());
    }
    if (lease.version.empty()) {
        return fail(ErrorKind::invalid, "this is no Lease: metadata.resourceVersion is missing");
    }
    return lease;
}

std::string new_lease_json(std::string_view space, std::string_view name,
                           const LeaseRecord& record) {
    JsonWriter json;
    json.begin_object();
    json.member("apiVersion", "coordination.k8s.io/v1");
    json.member("kind", "Lease");
    json.key("metadata");
    json.begin_object();
    json.member("name", name);
    json.member("namespace", space);
    json.end_object();
    write_spec(json, record);
    json.end_object();
    return json.take();
}

std::string lease_patch_json(const LeaseRecord& record) {
    JsonWriter json;
    json.begin_object();
    json.key("metadata");
    json.begin_object();
    json.member("resourceVersion", record.version);
    json.end_object();
    write_spec(json, record);
    json.end_object();
    return json.take();
}

}  // namespace tessera
