// The API server as an election sees it, for tests: one Lease with versions and preconditions.
#pragma once

#include <string>

#include "base/assert.h"
#include "codec/json_value.h"
#include "kube/fake_objects.h"
#include "kube/lease_record.h"
#include "net/http_client.h"

namespace tessera {

class FakeLease {
  public:
    LeaseRecord lease{};  // without a version there is none
    bool space_exists = true;

    ClientAnswer answer(const ClientCall& call) {
        if (call.method == "POST") {
            return create(call.body);
        }
        if (lease.version.empty()) {
            return status_answer(404, "NotFound");
        }
        return call.method == "GET" ? ClientAnswer{.status = 200, .body = json()}
                                    : patch(call.body);
    }
    void remove() { lease = {}; }
    std::string json() const {
        return R"({"metadata":{"name":"l","resourceVersion":")" + lease.version + R"("},"spec":)" +
               spec_ + "}";
    }

  private:
    ClientAnswer create(const std::string& body) {
        if (!space_exists) {
            return status_answer(404, "NotFound");
        }
        if (!lease.version.empty()) {
            return status_answer(409, "AlreadyExists");
        }
        return take(body, 201);
    }
    ClientAnswer patch(const std::string& body) {
        const auto wanted = read_lease_json(body);
        TESSERA_ASSERT(wanted, "a patch of a Lease");
        return wanted->version == lease.version ? take(body, 200) : status_answer(409, "Conflict");
    }
    ClientAnswer take(const std::string& body, int status) {
        spec_ = body.substr(body.find(R"("spec":)") + 7);
        spec_.pop_back();
        lease.version = std::to_string(++version_);
        const auto now = read_lease_json(json());
        TESSERA_ASSERT(now, "what was written can be read");
        lease = *now;
        return {.status = status, .body = json()};
    }

    int version_ = 100;
    std::string spec_;
};

}  // namespace tessera
