#include "fleet/router/children/model_plan.h"

#include <gtest/gtest.h>

#include <string>

namespace cairn {
namespace {

using Models = std::vector<PlannedModel>;

PlannedModel Stopped() {
  return {};
}
PlannedModel Waited(uint64_t number) {
  PlannedModel model;
  model.oldest_wait = number;
  return model;
}
PlannedModel Ready(double last_used_ms, size_t in_use = 0) {
  PlannedModel model;
  model.phase = ModelPhase::kReady;
  model.last_used_ms = last_used_ms;
  model.in_use = in_use;
  return model;
}
PlannedModel In(ModelPhase phase) {
  PlannedModel model;
  model.phase = phase;
  return model;
}
PlannedModel Pinned(PlannedModel model) {
  model.pinned = true;
  return model;
}

PlannedModel Large(uint64_t bytes, PlannedModel model) {
  model.bytes = bytes;
  return model;
}

void Add(const char* name, const std::vector<size_t>& indexes, std::string* text) {
  for (const size_t i : indexes) *text += name + std::to_string(i) + " ";
}
std::string Planned(const Models& models, const ModelLimits& limits, double now_ms = 1000) {
  const ModelsPlan plan = PlanModels(models, limits, now_ms);
  std::string text;
  Add("start", plan.start, &text);
  Add("stop", plan.stop, &text);
  Add("drain", plan.drain, &text);
  Add("hopeless", plan.hopeless, &text);
  if (plan.next_ms < 1e300) text += "at" + std::to_string(static_cast<int>(plan.next_ms));
  return text;
}

TEST(ModelsPlan, StartsWhatRequestsWaitForAndNothingElse) {
  EXPECT_EQ(Planned({Stopped(), Waited(3), Stopped()}, {4}), "start1 ");
  EXPECT_EQ(Planned({In(ModelPhase::kLoading), Ready(1)}, {4}), "");
}

TEST(ModelsPlan, StartsTheModelOfTheOldestRequestFirst) {
  EXPECT_EQ(Planned({Waited(7), Waited(2), Waited(5)}, {2}), "start1 start2 ");
  EXPECT_EQ(Planned({Waited(7), Waited(2), Waited(5)}, {}), "start1 start2 start0 ");
}

TEST(ModelsPlan, StopsTheLeastRecentlyUsedForAnother) {
  EXPECT_EQ(Planned({Ready(30), Ready(10), Ready(20), Waited(1)}, {3}), "stop1 ");
}

TEST(ModelsPlan, StopsAnIdleModelBeforeABusyOne) {
  EXPECT_EQ(Planned({Ready(10, 1), Ready(30), Waited(1)}, {2}), "stop1 ");
}

TEST(ModelsPlan, DrainsABusyModelWhereAllAreBusy) {
  EXPECT_EQ(Planned({Ready(20, 1), Ready(10, 2), Waited(1)}, {2}), "drain1 ");
}

// Each model has two clients, which send the next request as soon as the model accepts it.
TEST(ModelsPlan, LetsNoTwoBusyModelsTakeTurnsAtDraining) {
  Models models = {Ready(10, 2), Ready(20, 2), Waited(1)};
  for (size_t end = 0; end < 10; ++end) {
    const ModelsPlan plan = PlanModels(models, {.models = 2}, 1000);
    if (!plan.stop.empty()) return;
    for (size_t i = 0; i < 2; ++i) {
      models[i].drains = plan.drain == std::vector<size_t>{i};
      if (!models[i].drains) models[i].in_use = 2;
    }
    --models[end % 2].in_use;
    models[end % 2].last_used_ms = static_cast<double>(100 + end);
  }
  FAIL() << "no model became idle";
}

TEST(ModelsPlan, WaitsForOnePlaceForEachWaitingModel) {
  EXPECT_EQ(Planned({In(ModelPhase::kStopping), Ready(1), Waited(1)}, {2}), "");
  EXPECT_EQ(Planned({In(ModelPhase::kStopping), Ready(1), Waited(1), Waited(2)}, {2}), "stop1 ");
}

TEST(ModelsPlan, WaitsForAModelThatLoads) {
  EXPECT_EQ(Planned({In(ModelPhase::kLoading), Waited(1)}, {1}), "");
}

TEST(ModelsPlan, NeverStopsAPinnedModelForAnother) {
  EXPECT_EQ(Planned({Pinned(Ready(1)), Ready(9), Waited(1)}, {2}), "stop1 ");
  EXPECT_EQ(Planned({Pinned(Ready(1)), Waited(1)}, {1}), "hopeless1 ");
  EXPECT_EQ(Planned({Pinned(In(ModelPhase::kLoading)), Waited(1)}, {1}), "hopeless1 ");
  EXPECT_EQ(Planned({Pinned(Ready(1)), In(ModelPhase::kLoading), Waited(1)}, {2}), "");
}

TEST(ModelsPlan, StopsAModelThatWasIdleForLong) {
  PlannedModel model = Ready(100);
  model.idle_ms_max = 500;
  EXPECT_EQ(Planned({model}, {1}, 599), "at600");
  EXPECT_EQ(Planned({model}, {1}, 600), "stop0 ");
  EXPECT_EQ(Planned({Pinned(model)}, {1}, 600), "");
  model.in_use = 1;
  EXPECT_EQ(Planned({model}, {1}, 600), "");
  model.in_use = 0;
  model.oldest_wait = 1;
  EXPECT_EQ(Planned({model}, {1}, 600), "");
}

TEST(ModelsPlan, StopsAModelWhenAskedAfterItsLastRequest) {
  PlannedModel model = Ready(100, 1);
  model.stop_asked = true;
  EXPECT_EQ(Planned({model}, {1}), "drain0 ");
  model.in_use = 0;
  EXPECT_EQ(Planned({Pinned(model)}, {1}), "stop0 ");
}

TEST(ModelsPlan, StartsAFailedModelOnlyAfterItsPause) {
  PlannedModel model = Waited(1);
  model.start_after_ms = 2000;
  EXPECT_EQ(Planned({model}, {1}, 1999), "at2000");
  EXPECT_EQ(Planned({model}, {1}, 2000), "start0 ");
}

TEST(ModelsPlan, RestartsOnlyWhereThereIsAPlace) {
  PlannedModel model = Stopped();
  model.restart = true;
  EXPECT_EQ(Planned({model, Waited(1)}, {2}), "start1 start0 ");
  EXPECT_EQ(Planned({model, Waited(1)}, {1}), "start1 ");
  EXPECT_EQ(Planned({model, Ready(1)}, {1}), "");
}

TEST(ModelsPlan, StopsAsManyAsTheMemoryOfAnotherNeeds) {
  const ModelLimits limits = {.models = 4, .bytes = 100};
  EXPECT_EQ(Planned({Large(40, Ready(2)), Large(60, Waited(1))}, limits), "start1 ");
  EXPECT_EQ(Planned({Large(40, Ready(2)), Large(61, Waited(1))}, limits), "stop0 ");
  EXPECT_EQ(
      Planned({Large(30, Ready(2)), Large(30, Ready(1)), Large(30, Ready(3)), Large(60, Waited(1))},
              limits),
      "stop1 stop0 ");
  EXPECT_EQ(Planned({Large(40, In(ModelPhase::kStopping)), Large(61, Waited(1))}, limits), "");
}

TEST(ModelsPlan, RunsAModelThatIsLargerThanTheMemoryAlone) {
  const ModelLimits limits = {.models = 4, .bytes = 100};
  EXPECT_EQ(Planned({Large(500, Waited(1))}, limits), "start0 ");
  EXPECT_EQ(Planned({Large(1, Ready(1)), Large(500, Waited(1))}, limits), "stop0 ");
  EXPECT_EQ(Planned({Large(500, Ready(1)), Large(1, Waited(1))}, limits), "stop0 ");
  EXPECT_EQ(Planned({Large(UINT64_MAX, Ready(1)), Large(UINT64_MAX, Waited(1))}, limits), "stop0 ");
}

TEST(ModelsPlan, StopsNoneWhereThatWouldNotMakeEnoughRoom) {
  const ModelLimits limits = {.models = 4, .bytes = 100};
  EXPECT_EQ(
      Planned({Large(60, In(ModelPhase::kLoading)), Large(20, Ready(1)), Large(50, Waited(1))},
              limits),
      "");
  EXPECT_EQ(
      Planned({Pinned(Large(60, Ready(2))), Large(20, Ready(1)), Large(50, Waited(1))}, limits),
      "hopeless2 ");
}

TEST(ModelsPlan, KeepsTheRoomThatAnOlderRequestWaitsFor) {
  const ModelLimits limits = {.models = 4, .bytes = 100};
  // 80 of the 100 are for model 1, once model 0 has stopped.
  EXPECT_EQ(Planned({Large(60, In(ModelPhase::kStopping)), Large(80, Waited(1)),
                     Large(30, Waited(2)), Large(20, Waited(3))},
                    limits),
            "start3 ");
}

}  // namespace
}  // namespace cairn
