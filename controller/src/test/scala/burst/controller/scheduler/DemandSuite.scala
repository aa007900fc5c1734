package burst.controller.scheduler

import burst.controller.flare.FlareRequest
import burst.node.MonotonicTime
import burst.protocol.{ClusterRoom, FlareId, InvokerId, NodeRoom, WantedPacks}

/** How much room a cluster lacks for the waiting flares. */
class DemandSuite extends munit.FunSuite:
  private def waiting(request: FlareRequest) = Waiting(FlareId.random(), 1, request, MonotonicTime.Zero)

  private def cluster(most: Int, nodes: Int*) =
    val rooms = nodes.zipWithIndex.map((slots, i) => NodeRoom(s"n$i", slots, 1L << 20)).toVector
    ClusterState.empty.up(InvokerId("a"), nodes.sum, Some(ClusterRoom(rooms, 64, most)))

  private def demand(
      cluster: ClusterState,
      limit: String => Int = _ => Int.MaxValue,
      unit: Option[Int] = None
  )(flares: FlareRequest*) =
    val queue = flares.foldLeft(FlareQueue.empty)((queue, request) => queue.enqueue(waiting(request)))
    Demand.of(cluster, queue, limit, unit)

  test("the worked example"):
    val found = demand(cluster(100, 4, 2))(Samples.request(8), Samples.request(6, granularity = Some(3)))
    assertEquals(found, Vector(WantedPacks(4, 64, 1), WantedPacks(3, 64, 2)))

  test("free slots serve the first flares in the queue"):
    assertEquals(demand(cluster(100, 8))(Samples.request(4), Samples.request(4)), Vector.empty)
    val found = demand(cluster(100, 8))(Samples.request(4), Samples.request(6))
    assertEquals(found, Vector(WantedPacks(6, 64, 1)))

  test("demand stays within the cluster's maximum and the namespaces' limits"):
    assertEquals(demand(cluster(6, 4))(Samples.request(20)), Vector(WantedPacks(4, 64, 1)))
    assertEquals(demand(cluster(4, 4))(Samples.request(20)), Vector.empty)
    val found = demand(
      cluster(100, 4),
      limit = _ => 10
    )(Samples.request(12), Samples.request(8), Samples.request(8, "other"))
    assertEquals(found, Vector(WantedPacks(4, 64, 1)))

  test("packs too large for any machine are wanted as a whole, after all others"):
    val large = Samples.request(20, granularity = Some(8))
    assertEquals(demand(cluster(100, 4, 4))(large), Vector(WantedPacks(8, 64, 3)))
    val found = demand(cluster(18, 4, 4))(large, Samples.request(14))
    assertEquals(found, Vector(WantedPacks(4, 64, 2), WantedPacks(8, 64, 1)))

  test("free slots in pieces too small for a flare's packs do not count for it"):
    val held = cluster(100, 3, 3)
    assertEquals(demand(held)(Samples.request(4, granularity = Some(2))), Vector.empty)
    assertEquals(demand(held)(Samples.request(6, granularity = Some(3))), Vector.empty)
    assertEquals(demand(held)(Samples.request(6, granularity = Some(2))), Vector(WantedPacks(2, 64, 1)))

  test("packs are no larger than a node's memory allows"):
    val rooms = Vector(NodeRoom("n", 16, 64L << 10))
    val one = ClusterState.empty.up(InvokerId("a"), 16, Some(ClusterRoom(rooms, 64, 512)))
    val request = Samples.request(32)
    val large = request.copy(terms = request.terms.copy(memory = 8 << 10))
    assertEquals(demand(one)(large), Vector(WantedPacks(7, 8 << 10, 4)))

  test("a namespace gets no more than its share of the flares that are considered"):
    val crowd = (1 to 200).map(_ => Samples.request(1, namespace = "crowd"))
    val found =
      demand(cluster(1000, 4))(crowd :+ Samples.request(8, namespace = "other", granularity = Some(8))*)
    assertEquals(found.map(_.workers).toSet, Set(1, 8))

  test("without a node packs have the configured size, or one worker; their number is limited"):
    assertEquals(demand(cluster(100), unit = Some(3))(Samples.request(6)), Vector(WantedPacks(3, 64, 2)))
    assertEquals(demand(cluster(1000))(Samples.request(500)), Vector(WantedPacks(1, 64, 100)))

  test("machines that do not follow a cluster want nothing"):
    assertEquals(demand(ClusterState.empty.up(InvokerId("a"), 4))(Samples.request(20)), Vector.empty)
