package burst.controller.scheduler

import burst.controller.flare.FlareRequest
import burst.protocol.{ClusterRoom, FlareId, InvokerId, NodeRoom, WantedPacks}

/** What a cluster would have to grow by. */
class DemandSuite extends munit.FunSuite:
  private def waiting(request: FlareRequest) = Waiting(FlareId.random(), 1, request, 0)

  private def cluster(most: Int, nodes: Int*) =
    val rooms = nodes.zipWithIndex.map((slots, i) => NodeRoom(s"n$i", slots, 1L << 20)).toVector
    ClusterState.empty.up(InvokerId("a"), nodes.sum, Some(ClusterRoom(rooms, 64, most)))

  private def demand(
      cluster: ClusterState,
      couldHold: FlareRequest => Boolean = _ => true,
      limit: String => Int = _ => Int.MaxValue,
      unit: Option[Int] = None
  )(flares: FlareRequest*) =
    val queue = flares.foldLeft(FlareQueue.empty)((queue, request) => queue.enqueue(waiting(request)))
    Demand.of(cluster, queue, limit, unit, couldHold)

  test("the worked example"):
    val found = demand(cluster(100, 4, 2))(Samples.request(8), Samples.request(6, granularity = Some(3)))
    assertEquals(found, Vector(WantedPacks(4, 64, 1), WantedPacks(3, 64, 2)))

  test("what is free does for who comes first"):
    assertEquals(demand(cluster(100, 8))(Samples.request(4), Samples.request(4)), Vector.empty)
    val found = demand(cluster(100, 8))(Samples.request(4), Samples.request(6))
    assertEquals(found, Vector(WantedPacks(6, 64, 1)))

  test("nobody asks for more than there may be, nor for what a limit keeps from it"):
    assertEquals(demand(cluster(6, 4))(Samples.request(20)), Vector(WantedPacks(4, 64, 1)))
    assertEquals(demand(cluster(4, 4))(Samples.request(20)), Vector.empty)
    val found = demand(cluster(100, 4), limit = _ => 10)(Samples.request(12), Samples.request(8))
    assertEquals(found, Vector(WantedPacks(4, 64, 1)))

  test("packs that no machine could hold are missing as a whole, whatever is free"):
    val found = demand(cluster(100, 4, 4), couldHold = _ => false)(Samples.request(6, granularity = Some(6)))
    assertEquals(found, Vector(WantedPacks(6, 64, 1)))

  test("without a node packs are of the platform's size, or of one worker; and there is an end of them"):
    assertEquals(demand(cluster(100), unit = Some(3))(Samples.request(6)), Vector(WantedPacks(3, 64, 2)))
    assertEquals(demand(cluster(1000))(Samples.request(500)), Vector(WantedPacks(1, 64, 100)))

  test("machines that follow no cluster ask for nothing"):
    assertEquals(demand(ClusterState.empty.up(InvokerId("a"), 4))(Samples.request(20)), Vector.empty)
