// Elastic GPU's policies: the rate of a node is the rate of the best assignment of the pod's
// containers to its cards (formulas/elastic.h).
#pragma once

#include <memory>

#include "policy/formulas/elastic.h"
#include "policy/policy.h"

namespace tessera {

class ElasticPolicy final : public Policy {
  public:
    ElasticPolicy(std::string_view name, ElasticRater rater) : name_(name), rater_(rater) {}

    std::string_view name() const override { return name_; }
    std::shared_ptr<const Scorer> scorer(const Catalog& catalog) override;

  private:
    std::string_view name_;  // of the registry
    ElasticRater rater_;
};

}  // namespace tessera
