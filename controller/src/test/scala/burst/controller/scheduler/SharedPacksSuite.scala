package burst.controller.scheduler

import burst.controller.flare.{ActivationFields, Flare, FlareRequest, FlareState}
import burst.protocol.{
  Failure,
  FailureKind,
  FlareId,
  PackAssignment,
  PackEvent,
  PackReport,
  SharedContainer,
  Timestamp
}
import scala.concurrent.duration.DurationInt

class SharedPacksSuite extends SchedulerFixture:
  import GangScheduler.Awaited

  private val fields = ActivationFields("guest/hello", "0.0.1", "t", 10, 3, None, false, None, false, None)

  /** A call of an action whose containers run three calls at once. */
  private val call: FlareRequest =
    val plain = Samples.request(1)
    plain.copy(definition = plain.definition.copy(concurrency = 3), activation = Some(fields))

  /** Whether the pack is to run in a container that another call created. */
  private def isSharer(pack: PackAssignment): Boolean =
    pack.shared.exists(_ != SharedContainer(pack.flareId, pack.attempt))

  private def containerOf(flare: Flare) = Some(SharedContainer(flare.id, 1))

  test("calls join a running container up to its limit, and share its one slot"):
    val world = World()
    val a = world.invoker("a", 1)
    val flares = Vector.fill(5)(world.submit(call))
    val ends = flares.map(flare => world.await(flare.id))
    val first = a.prepared()
    assertEquals(first.assignment.shared, containerOf(flares.head))
    assert(!isSharer(first.assignment))
    a.hearsNothing()
    a.ready(first)
    val sharers = Vector(a.prepared(), a.prepared())
    // each is sent by its own flare's actor
    assertEquals(sharers.map(_.assignment.flareId).toSet, flares.slice(1, 3).map(_.id).toSet)
    assert(sharers.forall(_.assignment.shared == containerOf(flares.head)))
    assert(sharers.forall(sharer => isSharer(sharer.assignment)))
    a.hearsNothing()
    assertEquals(world.free(), Map("a" -> 0))
    // the call that created it ends first: the others keep its slot
    a.succeed(first)
    assertEquals(world.ended(ends.head).state, FlareState.Succeeded)
    val fourth = a.prepared()
    assertEquals(fourth.assignment.shared, containerOf(flares.head))
    assertEquals(world.free(), Map("a" -> 0))
    sharers.foreach(a.succeed)
    val fifth = a.prepared()
    assertEquals(fifth.assignment.shared, containerOf(flares.head))
    a.succeed(fourth)
    assertEquals(world.ended(ends(3)).state, FlareState.Succeeded)
    assertEquals(world.free(), Map("a" -> 0))
    a.succeed(fifth)
    ends.drop(4).foreach(end => assertEquals(world.ended(end).state, FlareState.Succeeded))
    world.eventuallyFree("a" -> 1)
    // the container is gone: the next call has one of its own
    val next = world.submit(call)
    assertEquals(a.prepared().assignment.shared, containerOf(next))

  test("an invoker of a release without sharing is sent no call for another's container"):
    val world = World()
    val a = world.invoker("a", 1)
    world.scheduler ! GangScheduler.InvokerReported(a.status(1).copy(shares = None), a.ref)
    val flares = Vector.fill(2)(world.submit(call))
    val first = a.prepared()
    a.ready(first)
    a.hearsNothing()
    a.succeed(first)
    val second = a.prepared()
    assertEquals(second.assignment.flareId, flares.last.id)
    assert(!isSharer(second.assignment))

  test("calls take free slots while no program runs yet"):
    val world = World(settings = Samples.settings.copy(startInterval = 0.millis))
    val a = world.invoker("a", 8)
    val flares = Vector.fill(2)(world.submit(call))
    val containers = Vector(a.prepared(), a.prepared()).map(_.assignment.shared)
    assertEquals(containers.toSet, flares.map(containerOf).toSet)
    world.eventuallyFree("a" -> 6)

  test("a call of another program does not join"):
    val world = World()
    val a = world.invoker("a", 1)
    val first = world.submit(call)
    a.ready(a.prepared())
    val others = Vector(
      call.copy(definition = call.definition.copy(version = "0.0.2")),
      call.copy(definition = call.definition.copy(namespace = "other")),
      call.copy(egress = true),
      call.copy(activation = Some(fields.copy(burst = true))),
      call.copy(activation = None),
      call.copy(definition = call.definition.copy(concurrency = 1))
    )
    others.foreach(world.submit)
    a.hearsNothing()
    world.submit(call)
    assertEquals(a.prepared().assignment.shared, containerOf(first))

  test("a container gives up its slot to a flare that can no longer be overtaken"):
    val world = World()
    val a = world.invoker("a", 1)
    val first = world.submit(call)
    val running = a.prepared()
    a.ready(running)
    val waits = world.submit(Samples.request(1, namespace = "other"))
    world.submit(call)
    val sharer = a.prepared()
    assertEquals(sharer.assignment.shared, containerOf(first))
    world.pass(Samples.settings.overtaking)
    val late = world.submit(call)
    assertEquals(late.state, FlareState.Queued)
    a.succeed(running)
    a.hearsNothing()
    a.succeed(sharer)
    val next = a.prepared()
    assertEquals(next.assignment.flareId, waits.id)
    a.succeed(next)
    assertEquals(a.prepared().assignment.shared, containerOf(late))

  test("a flare that waits at its own namespace's limit does not keep calls from joining"):
    val world = World()
    val a = world.invoker("a", 2)
    val other = world.submit(Samples.request(1, namespace = "other"))
    a.prepared()
    val limited = world.submitted(Samples.request(1, namespace = "other"), slotLimit = 1)
    val first = world.submit(call)
    a.ready(a.prepared())
    world.pass(Samples.settings.overtaking)
    world.submit(call)
    assertEquals(a.prepared().assignment.shared, containerOf(first))
    assert(other.id != first.id && limited.isInstanceOf[GangScheduler.Submitted.Accepted])

  test("two programs whose calls have waited long do not keep each other's calls from joining"):
    val world = World(settings = Samples.settings.copy(startInterval = 0.millis))
    val a = world.invoker("a", 2)
    val others = call.copy(definition = call.definition.copy(namespace = "other"))
    val firsts = Vector(call, others).map(world.submit)
    firsts.foreach(_ => a.ready(a.prepared()))
    world.eventuallyFree("a" -> 0)
    val idle = a.status(2)
    world.scheduler ! GangScheduler.InvokerReported(idle.copy(cpuLoad = 0.95), a.ref)
    val more = Vector(call, others).map(world.submit)
    a.hearsNothing()
    world.pass(Samples.settings.overtaking)
    world.scheduler ! GangScheduler.InvokerReported(idle, a.ref)
    val joined = Vector(a.prepared(), a.prepared()).map(_.assignment)
    assertEquals(joined.map(_.flareId).toSet, more.map(_.id).toSet)
    assertEquals(joined.flatMap(_.shared).toSet, firsts.flatMap(containerOf).toSet)

  test("a flare at its namespace's limit gets the slot that calls of that namespace would keep holding"):
    val world = World()
    val a = world.invoker("a", 2)
    val first = world.submitted(call, slotLimit = 1)
    val pack = a.prepared()
    a.ready(pack)
    val waits = world.submitted(Samples.request(1), slotLimit = 1)
    world.pass(Samples.settings.overtaking)
    world.submitted(call, slotLimit = 1)
    a.hearsNothing()
    a.succeed(pack)
    val GangScheduler.Submitted.Accepted(next, _) = waits: @unchecked
    assertEquals(a.prepared().assignment.flareId, next.id)
    assert(first.isInstanceOf[GangScheduler.Submitted.Accepted])

  test(
    "a container that a call left spent is not joined; one whose call was cancelled before it began is"
  ):
    val world = World()
    val a = world.invoker("a", 1)
    val first = world.submit(call)
    val pack = a.prepared()
    a.ready(pack)
    val gone = world.submit(call)
    val end = world.await(gone.id)
    val unbegun = a.prepared()
    assertEquals(world.cancel(gone.id), CancelOutcome.Accepted)
    a.aborted()
    a.end(unbegun)
    assertEquals(world.ended(end).state, FlareState.Cancelled)
    val failing = world.await(world.submit(call).id)
    val sharer = a.prepared()
    assertEquals(sharer.assignment.shared, containerOf(first))
    a.report(sharer, PackEvent.WorkerStarted(0, Timestamp.ofMicros(1)))
    a.fail(sharer, 0, FailureKind.Error)
    a.aborted()
    a.end(sharer)
    assertEquals(world.ended(failing).state, FlareState.Failed)
    val late = world.submit(call)
    a.hearsNothing()
    a.succeed(pack)
    assertEquals(a.prepared().assignment.shared, containerOf(late))

  test("a call that its container turns away joins another, as often as that happens"):
    val world = World(settings = Samples.settings.copy(startInterval = 0.millis))
    val times = FlareAttempts.MostPlacings + FlareAttempts.MostStarts
    val a = world.invoker("a", times + 1)
    val many = call.copy(definition = call.definition.copy(concurrency = times + 1))
    val firsts = Vector.fill(times + 1)(world.submit(many)).map(_ => a.prepared())
    val sharer = world.submit(many)
    val end = world.await(sharer.id)
    for (first, attempt) <- firsts.init.zip(1 to times) do
      a.ready(first)
      val refused = a.prepared()
      assertEquals((refused.assignment.flareId, refused.assignment.attempt), (sharer.id, attempt))
      assertEquals(refused.assignment.shared, first.assignment.shared)
      turnAway(a, refused)
      // neither it nor another call is placed in that container again
      a.hearsNothing()
    a.ready(firsts.last)
    val taken = a.prepared()
    assertEquals(taken.assignment.shared, firsts.last.assignment.shared)
    a.succeed(taken)
    assertEquals(world.ended(end).state, FlareState.Succeeded)

  test("a call that its container turns away joins the next one before later calls"):
    val world = World(settings = Samples.settings.copy(startInterval = 0.millis))
    val a = world.invoker("a", 2)
    val pair = call.copy(definition = call.definition.copy(concurrency = 2))
    val firsts = Vector.fill(2)(world.submit(pair)).map(_ => a.prepared())
    val sharer = world.submit(pair)
    a.ready(firsts(0))
    val refused = a.prepared()
    assertEquals(refused.assignment.flareId, sharer.id)
    val later = world.submit(pair)
    turnAway(a, refused)
    def standing = world.ask[GangScheduler.Located](GangScheduler.Locate(sharer.id, _)).receiveMessage()
    kit.createTestProbe[Any]().awaitAssert(assert(standing.standing.isDefined))
    a.ready(firsts(1))
    assertEquals(a.prepared().assignment.flareId, sharer.id)
    a.hearsNothing()
    assertEquals(later.state, FlareState.Queued)

  /** Reports a pack as an invoker does whose runtime did not take it in beside others. */
  private def turnAway(invoker: ScriptedInvoker, pack: Prepared): Unit =
    val a = pack.assignment
    def report(begins: Option[Boolean], events: PackEvent*): Unit = pack.replyTo !
      PackReport(a.flareId, a.attempt, a.pack, invoker.id, None, events.toVector, begins = begins)
    val why = Failure(FailureKind.PackLost, "it takes no more", operation = Some("start"))
    report(Some(true))
    report(Some(false))
    report(None, PackEvent.PackEnded(false, Some(why), Timestamp.ofMicros(4)))

  test("calls join the fullest container, so that the others become empty"):
    val world = World(settings = Samples.settings.copy(startInterval = 0.millis))
    val a = world.invoker("a", 2)
    for _ <- 1 to 2 do world.submit(call)
    Vector.fill(2)(a.prepared()).foreach(a.ready)
    val joined = Vector.fill(3):
      world.submit(call)
      a.prepared().assignment.shared
    assertEquals(joined(1), joined(0))
    assertNotEquals(joined(2), joined(0))

  test("calls in a container end with its machine, and no call joins them"):
    val world = World()
    val a = world.invoker("a", 1)
    val flares = Vector.fill(2)(world.submit(call))
    val ends = flares.map(flare => world.await(flare.id))
    val (first, sharer) =
      val first = a.prepared()
      a.ready(first)
      (first, a.prepared())
    a.ready(sharer)
    world.scheduler ! GangScheduler.InvokerLost(a.id, InvokerLoss.ProcessEnded)
    ends.foreach(end => assertEquals(world.ended(end).state, FlareState.Failed))
    val b = world.invoker("b", 1)
    val next = world.submit(call)
    assertEquals(b.prepared().assignment.shared, containerOf(next))
    assert(first.assignment.flareId == flares.head.id)

  test("a call that waits is cancelled like any other flare, and takes no room"):
    val world = World()
    val a = world.invoker("a", 1)
    world.submit(call)
    val first = a.prepared()
    val gone = world.submit(call)
    val end = world.await(gone.id)
    assertEquals(world.cancel(gone.id), CancelOutcome.Accepted)
    assertEquals(world.ended(end).state, FlareState.Cancelled)
    val stays = world.submit(call)
    a.ready(first)
    assertEquals(a.prepared().assignment.flareId, stays.id)
    assertEquals(world.await(FlareId.random()).receiveMessage(), Awaited.NotActive)
