package burst.controller.scheduler

import burst.controller.flare.FlareState
import burst.controller.placement.Packing
import burst.protocol.{
  ClusterRoom,
  FailureKind,
  FlareId,
  InvokerRequest,
  NodeRoom,
  Operation,
  PackEvent,
  Timestamp,
  WantRoom,
  WantedPacks
}
import java.util.concurrent.atomic.AtomicReference
import org.apache.pekko.actor.typed.scaladsl.Behaviors
import scala.concurrent.duration.DurationInt

/** Flares on an invoker whose slots are those that a cluster has at the moment. */
class ClusterSlotsSuite extends SchedulerFixture:
  import GangScheduler.{InvokerReported, InvokerUp}

  extension (world: World)
    private def cluster(nodes: (String, Int)*): ScriptedInvoker =
      val probe = kit.createTestProbe[InvokerRequest]()
      val wanted = kit.createTestProbe[Vector[WantedPacks]]()
      wants.set(wanted)
      val hearing = kit.spawn(Behaviors.receiveMessage[InvokerRequest]:
        case InvokerRequest(WantRoom(packs), _) =>
          wanted.ref ! packs
          Behaviors.same
        case other =>
          probe.ref ! other
          Behaviors.same)
      val invoker = ScriptedInvoker("a", probe, Some(hearing))
      world.scheduler ! InvokerUp(status(invoker, nodes*), invoker.ref)
      invoker
    private def becomes(invoker: ScriptedInvoker, nodes: (String, Int)*): Unit =
      world.scheduler ! InvokerReported(status(invoker, nodes*), invoker.ref)
    private def standing(id: FlareId): Option[QueueEstimate[Timestamp]] =
      world.ask[GangScheduler.Located](GangScheduler.Locate(id, _)).receiveMessage().standing

  private def status(invoker: ScriptedInvoker, nodes: (String, Int)*) =
    val room =
      ClusterRoom(nodes.map((node, slots) => NodeRoom(node, slots, 1L << 20)).toVector, 64, most = 64)
    invoker.status(nodes.map(_._2).sum).copy(room = Some(room))

  /** Receives the demand that the latest `cluster` invoker is sent. */
  private lazy val wants = AtomicReference(kit.createTestProbe[Vector[WantedPacks]]())

  private def on(pack: Prepared) = (pack.assignment.node, pack.assignment.size)

  test("each pack receives its node, which is recorded"):
    val world = World()
    val a = world.cluster("x" -> 4, "y" -> 2)
    val flare = world.submit(Samples.request(6))
    val end = world.await(flare.id)
    val packs = Vector(a.prepared(), a.prepared())
    assertEquals(packs.map(on), Vector(Some("x") -> 4, Some("y") -> 2))
    packs.foreach(a.ready)
    packs.foreach(_ => a.started())
    packs.foreach(a.succeed)
    assertEquals(world.ended(end).packs.map(_.node), Vector(Some("x"), Some("y")))
    world.eventuallyFree("a" -> 6)

  test("a flare larger than the cluster waits with the reason, and runs once there is room"):
    val world = World()
    val a = world.cluster("x" -> 4, "y" -> 2)
    val flare = world.submit(Samples.request(8))
    assertEquals(flare.state, FlareState.Queued)
    val reason = Some("the cluster can give 6 slots now, and the flare needs 8")
    assertEquals(world.standing(flare.id), Some(QueueEstimate(1, Left(WaitsFor.Invokers), reason)))
    world.becomes(a)
    assertEquals(world.standing(flare.id).flatMap(_.reason), reason.map(_.replace("6", "0")))
    a.hearsNothing()
    world.becomes(a, "x" -> 4, "y" -> 4)
    assertEquals(Vector(a.prepared(), a.prepared()).map(on), Vector(Some("x") -> 4, Some("y") -> 4))

  test("a flare whose packs fit on no node reports that, and does not hold up others"):
    val world = World()
    val a = world.cluster("x" -> 4, "y" -> 4)
    val large = world.submit(Samples.request(6, granularity = Some(6)))
    val estimate = world.standing(large.id).get
    assertEquals(estimate.start, Left(WaitsFor.Invokers))
    assertEquals(
      estimate.reason,
      Some(
        "the cluster can give 8 slots now, but not on machines large enough: the flare needs 6 of 64 MiB, " +
          "in packs of 6"
      )
    )
    world.submit(Samples.request(2))
    a.succeed(a.prepared())
    world.becomes(a, "x" -> 4, "y" -> 6)
    assertEquals(on(a.prepared()), Some("y") -> 6)

  test("a cluster that shrinks below what is in use gives nothing more, and running flares continue"):
    val world = World()
    val a = world.cluster("x" -> 4)
    val one = world.submit(Samples.request(3))
    val end = world.await(one.id)
    val pack = a.prepared()
    world.becomes(a, "x" -> 2)
    val two = world.submit(Samples.request(2))
    assertEquals(two.state, FlareState.Queued)
    a.hearsNothing()
    a.succeed(pack)
    assertEquals(world.ended(end).state, FlareState.Succeeded)
    assertEquals(on(a.prepared()), Some("x") -> 2)

  test(
    "a gang that cannot get all its pods gives them back and waits with the reason, using up no retries"
  ):
    val world = World()
    val a = world.cluster("x" -> 4, "y" -> 4)
    val flare = world.submit(Samples.request(8))
    val end = world.await(flare.id)
    val (up, crowded) = (a.prepared(), a.prepared())
    a.comesUp(up)
    world.becomes(a, "x" -> 4)
    a.notUp(crowded, Operation.Schedule)
    assertEquals(a.aborted().pack, up.assignment.pack)
    a.end(up)
    kit.createTestProbe[Any]().awaitAssert:
      assertEquals(
        world.standing(flare.id).flatMap(_.reason),
        Some("no room on the disk; the cluster can give 4 slots now, and the flare needs 8")
      )
    world.eventuallyFree("a" -> 4)
    world.becomes(a, "x" -> 4, "y" -> 4)
    val again = Vector(a.prepared(), a.prepared())
    assertEquals(again.map(_.assignment.attempt), Vector(2, 2))
    again.foreach(a.ready)
    again.foreach(_ => a.started())
    again.foreach(a.succeed)
    assertEquals(world.ended(end).state, FlareState.Succeeded)

  test(
    "of two gangs that each lose half their pods both let go, one goes first, and both run"
  ):
    val world = World()
    val a = world.cluster("x" -> 4, "y" -> 4)
    val flares =
      Vector.fill(2)(world.submit(Samples.request(4, granularity = Some(2), packing = Packing.Homogeneous)))
    val ends = flares.map(flare => world.await(flare.id))
    val asked = Vector.fill(4)(a.prepared())
    assertEquals(asked.map(on).groupMapReduce(_._1)(_._2)(_ + _), Map(Some("x") -> 4, Some("y") -> 4))
    // half of the room was taken by others: of each gang one pod has room and one has none
    world.becomes(a, "x" -> 2, "y" -> 2)
    val gangs = asked.groupBy(_.assignment.flareId).values.toVector
    for gang <- gangs do
      a.comesUp(gang(0))
      a.notUp(gang(1), Operation.Schedule)
    for _ <- gangs do
      val told = a.aborted()
      a.end(asked.find(p => p.assignment.flareId == told.flareId && p.assignment.pack == told.pack).get)
    // four slots are left: one gang gets all of them, the other none
    val first = Vector.fill(2)(a.prepared())
    assertEquals(first.map(_.assignment.flareId).distinct.size, 1)
    assertEquals(first.map(on).toSet, Set((Some("x"), 2), (Some("y"), 2)))
    a.hearsNothing()
    assertEquals(world.free(), Map("a" -> 0))
    def run(packs: Vector[Prepared]): Unit =
      packs.foreach(a.ready)
      packs.foreach(_ => a.started())
      packs.foreach(a.succeed)
    run(first)
    val second = Vector.fill(2)(a.prepared())
    assert(second.forall(_.assignment.flareId != first.head.assignment.flareId))
    run(second)
    assertEquals(ends.map(world.ended(_).state), Vector.fill(2)(FlareState.Succeeded))
    world.eventuallyFree("a" -> 4)

  test("a gang that finds no room keeps its turn and goes before those that still wait"):
    val world = World()
    val a = world.cluster("x" -> 4, "y" -> 4)
    val flares = Vector.fill(3)(world.submit(Samples.request(8)))
    val ends = flares.map(flare => world.await(flare.id))
    val (up, crowded) = (a.prepared(), a.prepared())
    a.comesUp(up)
    a.notUp(crowded, Operation.Schedule)
    assertEquals(a.aborted().pack, up.assignment.pack)
    a.end(up)
    val order = flares.map: _ =>
      val packs = Vector(a.prepared(), a.prepared())
      packs.foreach(a.ready)
      packs.foreach(_ => a.started())
      packs.foreach(a.succeed)
      packs.map(p => (p.assignment.flareId, p.assignment.attempt)).distinct
    // the second flare may get the slots before the first is back in the queue
    assertEquals(order.take(2).flatten.toSet, Set(flares(0).id -> 2, flares(1).id -> 1))
    assertEquals(order(2), Vector(flares(2).id -> 1))
    assertEquals(ends.map(world.ended(_).state), Vector.fill(3)(FlareState.Succeeded))

  test("a cluster that never has the room it reports fails the flare in the end, with the reason"):
    val world = World()
    val a = world.cluster("x" -> 4)
    val flare = world.submit(Samples.request(2))
    val end = world.await(flare.id)
    for _ <- 1 to FlareAttempts.MostPlacings do a.notUp(a.prepared(), Operation.Schedule)
    val ended = world.ended(end)
    assertEquals((ended.state, ended.attempt), (FlareState.Failed, FlareAttempts.MostPlacings))
    assertEquals(ended.error.map(_.kind), Some(FailureKind.StartFailed))
    assertEquals(world.free(), Map("a" -> 4), "no machine is avoided for it")

  test("a flare whose workers have begun is not run again for lack of room"):
    val world = World()
    val a = world.cluster("x" -> 4)
    val flare = world.submit(Samples.request(2))
    val end = world.await(flare.id)
    val pack = a.prepared()
    a.report(pack, PackEvent.Ready(None, Timestamp.Epoch), PackEvent.WorkerStarted(0, Timestamp.ofMicros(1)))
    world.pass(1.second)
    a.notUp(pack, Operation.Schedule)
    assertEquals(world.ended(end).attempt, 1)

  test("demand is sent with the invoker's reports, once, until the room is there"):
    val world = World()
    val a = world.cluster("x" -> 4)
    world.submit(Samples.request(10, granularity = Some(2), packing = Packing.Homogeneous))
    val wanted = wants.get
    world.becomes(a, "x" -> 4)
    world.becomes(a, "x" -> 4)
    assertEquals(wanted.receiveMessage(), Vector(WantedPacks(2, 64, 3)))
    world.becomes(a, "x" -> 4, "y" -> 6)
    assertEquals(wanted.receiveMessage(), Vector.empty)
    assertEquals(Vector.fill(5)(a.prepared()).map(_.assignment.size), Vector.fill(5)(2))
