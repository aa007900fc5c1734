package burst.controller.scheduler

import burst.controller.flare.{ActivationFields, FlareRequest, FlareState, Output, Submission}
import burst.protocol.{PackEvent, Timestamp, WarmPack}
import scala.concurrent.duration.DurationInt

/** Calls whose clients wait for them, and which therefore need not be stored before they begin. */
class DeferredStoringSuite extends SchedulerFixture:
  import GangScheduler.{Awaited, InvokerReported, Submitted}

  private val fields = ActivationFields("guest/hello", "0.0.1", "t", 10, 1, None, false, None, false, None)
  private val stored = Samples.request(1).copy(activation = Some(fields))
  private val call = stored.copy(isWaitedFor = Some(true))

  /** An invoker that has reported an idle pack of the call's program. */
  private def warm(world: World, slots: Int): ScriptedInvoker =
    val invoker = world.invoker("a", slots)
    val pack = WarmPack(call.definition, call.memory)
    world.scheduler ! InvokerReported(invoker.status(slots).copy(warm = Set(pack)), invoker.ref)
    invoker

  private def writesOf(world: World)(run: => Unit): Vector[String] =
    val before = world.store.writes.length
    run
    world.store.writes.drop(before)

  test("a short call on a warm pack is stored once, with its end, which carries its result"):
    val world = World()
    val a = warm(world, 1)
    val flare = world.submit(call)
    val end = world.await(flare.id)
    val pack = a.prepared()
    assertEquals(world.store.writes, Vector.empty)
    a.succeed(pack)
    end.receiveMessage() match
      case Awaited.Ended(ended, result) =>
        assertEquals(ended.state, FlareState.Succeeded)
        assertEquals(result.map(_.output), Vector(Some(Samples.output("0"))))
      case other => fail(s"$other")
    assertEquals(world.store.find(flare.id).map(_.state), Some(FlareState.Succeeded))
    assertEquals(world.store.writes.count(_.startsWith("insert")), 1)
    assertEquals(world.store.writes.count(_.startsWith("update")), 0)
    assertEquals(world.outputs(flare.id), Vector(0 -> Some("0")))

  test("results come with the end for a few workers, but not for many or for a burst's packs"):
    def told(request: FlareRequest): Vector[Option[Output]] =
      val world = World()
      val a = world.invoker("a", 16)
      val end = world.await(world.submit(request).id)
      a.succeed(a.prepared())
      end.receiveMessage() match
        case Awaited.Ended(_, results) => results.map(_.output)
        case other => fail(s"$other")
    assertEquals(told(Samples.request(1)), Vector(Some(Samples.output("0"))))
    assertEquals(told(Samples.request(3)), Vector.tabulate(3)(worker => Some(Samples.output(s"$worker"))))
    assertEquals(told(Samples.request(9)), Vector.empty)
    assertEquals(told(stored.copy(activation = Some(fields.copy(burst = true)))), Vector.empty)

  test("a long call is stored while it runs, and a waiting one while it waits"):
    val world = World()
    val a = warm(world, 1)
    val first = world.submit(call)
    val second = world.submit(call)
    val pack = a.prepared()
    a.report(pack, PackEvent.Ready(None, Timestamp.Epoch), PackEvent.WorkerStarted(0, Timestamp.ofMicros(1)))
    val probe = kit.createTestProbe[Unit]()
    probe.awaitAssert:
      world.pass(100.millis)
      val states = Vector(first, second).map(flare => world.store.find(flare.id).map(_.state))
      assertEquals(states, Vector(Some(FlareState.Running), Some(FlareState.Queued)))
    // The next scheduler would run the second call, so its start is stored first.
    val end = world.await(second.id)
    val writes = writesOf(world):
      a.succeed(pack)
      a.succeed(a.prepared())
      assertEquals(world.ended(end).state, FlareState.Succeeded)
    assert(writes.contains("update Starting"), writes)

  test("a call that waited briefly is not stored before it begins"):
    val world = World()
    val a = warm(world, 1)
    val flares = Vector.fill(3)(world.submit(call))
    val ends = flares.map(flare => world.await(flare.id))
    flares.foreach(_ => a.succeed(a.prepared()))
    ends.foreach(end => assertEquals(world.ended(end).state, FlareState.Succeeded))
    assertEquals(world.store.writes.count(_.startsWith("update")), 0)

  test("a call that nobody waits for, or with a key, or without a warm pack is stored before it begins"):
    val keyed = call.copy(submission = Some(Submission("key", "digest")))
    for (request, isWarm) <- Vector(stored -> true, keyed -> true, call -> false) do
      val world = World()
      val a = if isWarm then warm(world, 1) else world.invoker("a", 1)
      world.submit(request)
      a.prepared()
      assertEquals(world.store.writes, Vector("insert Starting"))

  test("if another scheduler may take over or own the database, calls are stored before they begin"):
    for world <- Vector(World(adoption = Some(10.seconds)), World(ownsStore = false)) do
      val a = warm(world, 1)
      world.submit(call)
      a.prepared()
      assertEquals(world.store.writes, Vector("insert Starting"))

  test("once the store has failed, only stored calls run until it recovers"):
    val world = World()
    val a = warm(world, 1)
    val flare = world.submit(call)
    val end = world.await(flare.id)
    world.store.fails = _ => true
    a.succeed(a.prepared())
    world.eventuallyFree("a" -> 1)
    // The slot may be free before the store has refused the end.
    kit.createTestProbe[Any]().awaitAssert(assert(!world.health.isWell))
    end.expectNoMessage(50.millis)
    world.submitted(call) match
      case Submitted.NotStored(_, _) => ()
      case other => fail(s"$other")
    a.hearsNothing()
    world.store.fails = _ => false
    val ended = kit.createTestProbe[Any]().awaitAssert:
      world.pass(200.millis)
      end.receiveMessage(50.millis)
    ended match
      case Awaited.Ended(ended, _) => assertEquals(ended.state, FlareState.Succeeded)
      case other => fail(s"$other")
    assertEquals(world.store.find(flare.id).map(_.state), Some(FlareState.Succeeded))
    val before = world.store.writes.length
    world.submit(call)
    a.prepared()
    assertEquals(world.store.writes.length, before)

  test("a call that waits when the store fails is stored later, and runs once the store recovers"):
    for beforeItsTurn <- Vector(true, false) do
      val world = World()
      val a = warm(world, 1)
      val first = world.await(world.submit(call).id)
      val waits = world.submit(call)
      val end = world.await(waits.id)
      world.store.fails = _ => true
      // The store fails while the call waits, or is found failing when its turn comes, as the call before it
      // could not be stored.
      if beforeItsTurn then world.pass(100.millis)
      a.succeed(a.prepared())
      end.expectNoMessage(50.millis)
      world.store.fails = _ => false
      val probe = kit.createTestProbe[Unit]()
      probe.awaitAssert:
        world.pass(200.millis)
        assertEquals(world.store.find(waits.id).map(_.state), Some(FlareState.Starting))
      a.succeed(a.prepared())
      for one <- Vector(first, end) do assertEquals(world.ended(one).state, FlareState.Succeeded)

  test("a call that waits through a long store failure fails, which is stored once possible"):
    val world = World()
    val a = warm(world, 1)
    world.submit(call)
    a.prepared()
    val waits = world.submit(call)
    val end = world.await(waits.id)
    world.store.fails = _ => true
    val ended = kit.createTestProbe[Any]().awaitAssert:
      world.pass(1.minute)
      end.receiveMessage(50.millis)
    ended match
      case Awaited.Ended(ended, _) => assertEquals(ended.state, FlareState.Failed)
      case other => fail(s"$other")
    assertEquals(world.store.find(waits.id), None)
    world.store.fails = _ => false
    kit.createTestProbe[Unit]().awaitAssert:
      world.pass(10.seconds)
      assertEquals(world.store.find(waits.id).map(_.state), Some(FlareState.Failed))

  test("a call whose package is removed while it waits ends, and is stored as ended"):
    val world = World()
    val a = warm(world, 1)
    world.submit(call)
    a.prepared()
    val waits = world.submit(call)
    val end = world.await(waits.id)
    world.store.withoutPackage = true
    kit.createTestProbe[Unit]().awaitAssert:
      world.pass(100.millis)
      assert(world.store.refused(waits.id))
    world.store.withoutPackage = false
    val ended = kit.createTestProbe[Any]().awaitAssert:
      world.pass(200.millis)
      end.receiveMessage(50.millis)
    ended match
      case Awaited.Ended(ended, _) => assertEquals(ended.state, FlareState.Failed)
      case other => fail(s"$other")
    // Its end is announced before it is stored.
    kit.createTestProbe[Unit]().awaitAssert:
      world.pass(200.millis)
      assertEquals(world.store.find(waits.id).map(_.state), Some(FlareState.Failed))
