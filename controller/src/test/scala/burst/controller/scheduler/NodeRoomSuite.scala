package burst.controller.scheduler

import burst.controller.placement.{NoPlacement, Packing, Plan, Share, Taken}
import burst.protocol.{ClusterRoom, FlareId, InvokerId, NodeRoom, PackId}
import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll
import scala.concurrent.duration.Duration

/** Bookkeeping for an invoker whose slots belong to several nodes. */
class NodeRoomSuite extends ScalaCheckSuite:
  private val a = InvokerId("a")
  private val round =
    SchedulingRound(Packing.policies(Samples.settings.defaultGranularity), Duration.Zero, depth = 100)

  private def room(nodes: (String, Int)*): ClusterRoom = roomOf(1L << 20, nodes*)
  private def roomOf(memory: Long, nodes: (String, Int)*): ClusterRoom =
    ClusterRoom(
      nodes.map((node, slots) => NodeRoom(node, slots, memory)).toVector,
      packMemory = 64,
      most = 1000
    )
  private def up(room: ClusterRoom, of: ClusterState = ClusterState.empty): ClusterState =
    of.up(a, room.nodes.map(_.slots).sum, Some(room))
  private def nodes(plan: Plan) = plan.packs.map(pack => (pack.node.getOrElse("none"), pack.size))

  private def place(cluster: ClusterState, size: Int, memory: Int = 64): Option[(ClusterState, Plan)] =
    val request = Samples.request(size)
    for
      plan <- round.place(cluster.view, request.copy(terms = request.terms.copy(memory = memory))).toOption
      after <- cluster.reserve(AttemptId(FlareId.random(), 1), "t", plan, Samples.walltime, memory)
    yield (after, plan)

  test("a pack lies whole on a node: eight workers on two nodes of four are two packs, never one"):
    val cluster = up(room("x" -> 4, "y" -> 4))
    val (after, plan) = place(cluster, 8).get
    assertEquals(nodes(plan), Vector("x" -> 4, "y" -> 4))
    assertEquals(after.machines(a).free, 0)
    val whole = Samples.request(8, granularity = Some(8), packing = Packing.Homogeneous)
    assertEquals(round.place(cluster.view, whole), Left(NoPlacement.Never(8, 0, 4, 8)))

  test("slots held on one node are not free on another"):
    val (after, plan) = place(up(room("x" -> 4, "y" -> 4)), 3).get
    assertEquals(after.machines(a).free, 5)
    assertEquals(place(after, 5).map((_, plan) => nodes(plan)), Some(Vector("y" -> 4, "x" -> 1)))
    val back = after.releaseAll(after.holdings.keys.head)
    assertEquals(back.machines(a), up(room("x" -> 4, "y" -> 4)).machines(a))
    assertEquals(plan.packs.length, 1)

  test("a cluster that shrinks below what is held offers nothing there, and running packs continue"):
    val (held, _) = place(up(room("x" -> 4, "y" -> 4)), 8).get
    val shrunk = up(room("x" -> 1, "y" -> 6), held)
    assertEquals(shrunk.machines(a).free, 2, "those of y, despite the deficit on x")
    assertEquals(up(room("y" -> 4), held).machines(a).free, 0)
    val over = shrunk.releaseAll(held.holdings.keys.head)
    assertEquals(over.machines(a).free, 7)
    assertEquals(over.machines(a).lent, Map.empty[String, Taken])

  test("fewer workers fit if each needs more memory than a slot provides"):
    val cluster = up(roomOf(1000, "x" -> 8, "y" -> 8))
    assertEquals(place(cluster, 5, memory = 936), None)
    val (after, plan) = place(cluster, 2, memory = 936).get
    assertEquals(nodes(plan), Vector("x" -> 1, "y" -> 1))
    assertEquals(place(after, 1), None, "their memory is used up")
    assertEquals(after.view.machines.map(_.free), Vector(7, 7))

  test("a pack keeps its memory until it ends, even when its workers have returned their slots"):
    val (after, plan) = place(up(roomOf(1000, "x" -> 8)), 3, memory = 250).get
    val held = after.holdings.keys.head
    val partly = after.shrink(held, Vector(PackId(0) -> 1))
    assertEquals(partly.machines(a).held("x"), Taken(1, 750, 1))
    assertEquals(place(partly, 1, memory = 250), None)
    assertEquals(partly.shrink(held, Vector(PackId(0) -> 0)).machines(a).lent, Map.empty[String, Taken])
    assertEquals(plan.packs.length, 1)

  test(
    "packs of an earlier scheduler are booked on their nodes, even before the invoker reports its room"
  ):
    val plan = Plan.ofShares(Vector(Share(a, 3, 0, Some("x"))), 3)
    val adopted = ClusterState.empty.adopt(AttemptId(FlareId.random(), 1), "t", plan, Samples.walltime, 64)
    assertEquals(up(room("x" -> 4, "y" -> 1), adopted).view.machines.map(_.free), Vector(1, 1))

  property("no node ever has more packs than it has slots and memory for, however the cluster changes"):
    val step = Gen.oneOf(
      Gen.zip(Gen.choose(1, 12), Gen.oneOf(64, 300, 900)).map(Left(_)),
      Gen.listOfN(3, Gen.choose(0, 6)).map(Right(_))
    )
    forAll(Gen.listOf(step)): steps =>
      steps.foldLeft(up(roomOf(2000, "x" -> 4, "y" -> 4, "z" -> 4))): (cluster, step) =>
        step match
          case Right(slots) =>
            up(roomOf(2000, Vector("x", "y", "z").zip(slots)*), cluster)
          case Left((size, memory)) =>
            place(
              cluster,
              size,
              memory
            ).fold(cluster.holdings.keys.headOption.fold(cluster)(cluster.releaseAll)): (after, plan) =>
              for node <- after.machines(a).room.get.nodes if plan.packs.exists(_.node.contains(node.node)) do
                val held = after.machines(a).held(node.node)
                assert(held.slots <= node.slots, s"$held on $node")
                assert(held.all(64) <= node.memory, s"$held on $node")
              after
      true
