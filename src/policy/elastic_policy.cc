#include "policy/elastic_policy.h"

#include <algorithm>
#include <limits>

#include "policy/assignment.h"
#include "policy/cards.h"

namespace tessera {
namespace {

class ElasticScorer final : public Scorer {
  public:
    ElasticScorer(ElasticRater rater, const Catalog& catalog) : rater_(rater), catalog_(catalog) {}

    Selection selection() const override {
        return rater_ == ElasticRater::random ? Selection::uniform : Selection::best;
    }

    void score(const NodeState& node, std::span<const ClassIndex> classes,
               std::span<Key> keys) const override {
        for (std::size_t i = 0; i < classes.size(); ++i) {
            keys[i] = key_of(rate(node, classes[i]));
        }
    }

    void choose(const NodeState& node, ClassIndex demand_class, const LinkMatrix& links,
                std::uint64_t draw, DeviceList& devices) const override {
        const auto choice = best(node, demand_class, draw);
        if (choice) {
            list_cards(choice->cards, devices);
        } else {
            // What Elastic has no word for (rules over groups of devices) goes by the plain rule.
            assign_devices(node, (*catalog_.classes)[demand_class], catalog_, links, devices);
        }
    }

    std::vector<TermValue> explain(const NodeState& node, ClassIndex demand_class) const override {
        return {{"rate", static_cast<double>(rate(node, demand_class))}};
    }

  private:
    std::optional<ElasticChoice> best(const NodeState& node, ClassIndex demand_class,
                                      std::uint64_t draw) const {
        const DemandClass& wanted = (*catalog_.classes)[demand_class];
        const bool ruled =
            !wanted.requests.empty() && wanted.requests.front().rule != GroupRule::none;
        if (!wanted.wants_gpu() || ruled) {
            return std::nullopt;
        }
        const NodeCards cards = cards_of(node, wanted, catalog_);
        return elastic_choice(needs_of(wanted, cards.largest), cards.view(), rater_, draw);
    }

    std::int64_t rate(const NodeState& node, ClassIndex demand_class) const {
        const auto choice = best(node, demand_class, 0);
        return choice ? choice->rate : 0;
    }

    ElasticRater rater_;
    Catalog catalog_;
};

}  // namespace

std::shared_ptr<const Scorer> ElasticPolicy::scorer(const Catalog& catalog) {
    return std::make_shared<ElasticScorer>(rater_, catalog);
}

}  // namespace tessera
