package burst.controller.scheduler

import burst.controller.definition.Packing
import burst.protocol.InvokerId
import munit.FunSuite

/** What a flare that can never run is told. */
class AdmissionControlSuite extends FunSuite:
  private val round =
    SchedulingRound(PlacementPolicy.all(Samples.settings.defaultGranularity), 0, depth = 100)
  private def refusal(size: Int, granularity: Option[Int], packing: Packing, machines: Int*) =
    val cluster = machines.zipWithIndex.foldLeft(ClusterState.empty) { case (state, (slots, i)) =>
      state.up(InvokerId(s"m$i"), slots)
    }
    val request = Samples.request(size, granularity = granularity, packing = packing)
    AdmissionControl.refusal(round, cluster.view, request, 100)

  for packing <- Vector(Packing.Homogeneous, Packing.Mixed) do
    test(s"a granularity that no machine can hold is named, with the largest machine: $packing"):
      assertEquals(refusal(6, Some(6), packing, 4, 4), Some(Refusal.UnitTooLarge(6, 4)))
      assertEquals(refusal(3, Some(8), packing, 2, 2), Some(Refusal.UnitTooLarge(3, 2)))

    test(s"a granularity that leaves slots unused is named, with those that are left: $packing"):
      assertEquals(refusal(8, Some(3), packing, 4, 4), Some(Refusal.UnitsTooLarge(8, 3, 6, 8)))

    test(s"too few slots are too few, whatever the granularity: $packing"):
      assertEquals(refusal(9, Some(6), packing, 4, 4), Some(Refusal.TooLarge(9, 8)))
      assertEquals(refusal(9, None, packing, 4, 4), Some(Refusal.TooLarge(9, 8)))
      assertEquals(refusal(8, None, packing, 4, 4), None)
