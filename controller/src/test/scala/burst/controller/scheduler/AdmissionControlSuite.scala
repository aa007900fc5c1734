package burst.controller.scheduler

import burst.controller.flare.{ActivationFields, FlareRequest}
import burst.controller.placement.Packing
import burst.node.MonotonicTime
import burst.protocol.{ClusterRoom, FlareId, InvokerId, NodeRoom}
import munit.FunSuite
import scala.concurrent.duration.Duration

/** How a flare that can never run is refused. */
class AdmissionControlSuite extends FunSuite:
  private val round =
    SchedulingRound(Packing.policies(Samples.settings.defaultGranularity), Duration.Zero, depth = 100)
  private def refusal(size: Int, granularity: Option[Int], packing: Packing, machines: Int*) =
    val cluster = machines.zipWithIndex.foldLeft(ClusterState.empty) { case (state, (slots, i)) =>
      state.up(InvokerId(s"m$i"), slots)
    }
    val request = Samples.request(size, granularity = granularity, packing = packing)
    AdmissionControl.refusal(round, cluster.view, cluster.most, request, 100)

  for packing <- Vector(Packing.Homogeneous, Packing.Mixed) do
    test(s"a granularity that no machine can hold is refused with the largest machine's slots: $packing"):
      assertEquals(refusal(6, Some(6), packing, 4, 4), Some(Refusal.UnitTooLarge(6, 4)))
      assertEquals(refusal(3, Some(8), packing, 2, 2), Some(Refusal.UnitTooLarge(3, 2)))

    test(s"a granularity with too few usable slots is refused with their number: $packing"):
      assertEquals(refusal(8, Some(3), packing, 4, 4), Some(Refusal.UnitsTooLarge(8, 3, 6, 8)))

    test(s"a flare larger than the cluster is refused as too large at any granularity: $packing"):
      assertEquals(refusal(9, Some(6), packing, 4, 4), Some(Refusal.TooLarge(9, 8)))
      assertEquals(refusal(9, None, packing, 4, 4), Some(Refusal.TooLarge(9, 8)))
      assertEquals(refusal(8, None, packing, 4, 4), None)

  test(
    "a flare too large for the cluster now waits if the cluster can grow to hold it, and is refused otherwise"
  ):
    def refusal(size: Int, limit: Int, slots: Int*) =
      val nodes = slots.zipWithIndex.map((slots, i) => NodeRoom(s"n$i", slots, 1L << 20)).toVector
      val room = ClusterRoom(nodes, packMemory = 64, most = 16)
      val cluster = ClusterState.empty.up(InvokerId("m"), slots.sum, Some(room))
      AdmissionControl.refusal(round, cluster.view, cluster.most, Samples.request(size), limit)
    assertEquals(refusal(8, 100, 4, 2), None)
    assertEquals(refusal(8, 100), None, "with no node at all")
    assertEquals(refusal(17, 100, 4, 2), Some(Refusal.TooLarge(17, 16)))
    assertEquals(refusal(8, 7, 4, 2), Some(Refusal.OverLimit("concurrent slots", 8, 7)))

  private def overflow(waiting: Seq[FlareRequest], next: FlareRequest) =
    val settings = Samples.settings.copy(queueLimit = 3, namespaceQueueLimit = 2)
    val queue = (waiting :+ next).foldLeft(FlareQueue.empty): (queue, request) =>
      queue.enqueue(Waiting(FlareId.random(), 1, request, since = MonotonicTime.Zero))
    AdmissionControl.overflow(queue, next, settings)

  private def whole(namespace: String) = Samples.request(1, namespace)
  private def part(namespace: String) =
    val cause = Some(FlareId.random())
    val fields = ActivationFields("guest/hello", "0.0.1", "t", 10, 1, cause, true, None, false, None)
    whole(namespace).copy(activation = Some(fields))

  test("a namespace's queue and the queue of all can each be full"):
    assertEquals(overflow(Seq(whole("a")), whole("a")), None)
    assertEquals(overflow(Seq.fill(2)(whole("a")), whole("a")), Some(Refusal.QueueFull(2)))
    assertEquals(overflow(Seq("a", "a", "b").map(whole), whole("b")), Some(Refusal.QueueFull(3)))

  test("a part of an accepted sequence waits, and takes no place in the queue's limits"):
    assertEquals(overflow(Seq.fill(5)(whole("a")), part("a")), None)
    assertEquals(overflow(Seq.fill(5)(part("a")) :+ whole("a"), whole("a")), None)
    assertEquals(
      overflow(Seq.fill(5)(part("a")) ++ Seq.fill(2)(whole("a")), whole("a")),
      Some(Refusal.QueueFull(2))
    )
