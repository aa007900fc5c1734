package burst.controller.scheduler

import burst.controller.flare.{Flare, FlareRequest, FlareState, Submission}
import burst.controller.store.insert
import burst.protocol.{FailureKind, FlareId, Timestamp}
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicBoolean
import scala.concurrent.ExecutionContext
import scala.concurrent.duration.DurationInt

class InDoubtInsertsSuite extends SchedulerFixture:
  import GangScheduler.{Submit, Submitted}

  private val keyless = Samples.request(1)
  private val keyed = keyless.copy(submission = Some(Submission("key", "digest")))

  /** Runs its work immediately, or keeps it until the test runs it. */
  private final class Held extends ExecutionContext:
    @volatile var holds = false
    val waiting = ConcurrentLinkedQueue[Runnable]()
    def execute(work: Runnable): Unit = if holds then waiting.add(work) else work.run()
    def reportFailure(cause: Throwable): Unit = ()

  /** A world whose store has a flare that nobody knows to be stored. */
  private def inDoubt(
      request: FlareRequest,
      blocking: ExecutionContext = ExecutionContext.parasitic
  ): (World, ScriptedInvoker, FlareId) =
    val world = World(blocking = blocking)
    val a = world.invoker("a", 1)
    val id = FlareId.random()
    world.store.breaksAfterInsert = true
    notTaken(world, id, request)
    world.store.breaksAfterInsert = false
    assertEquals(world.store.find(id).map(_.state), Some(FlareState.Starting))
    world.eventuallyFree("a" -> 1)
    (world, a, id)

  /** A world in which a flare's insert is held. */
  private def beingStored(request: FlareRequest): (Held, World, ScriptedInvoker, FlareId) =
    val held = Held()
    val world = World(blocking = held)
    val a = world.invoker("a", 1)
    world.free()
    held.holds = true
    val id = FlareId.random()
    world.ask[Submitted](Submit(request, 100, _, Some(id)))
    kit.createTestProbe[Any]().awaitAssert(assertEquals(held.waiting.size, 1))
    (held, world, a, id)

  private def notTaken(world: World, id: FlareId, request: FlareRequest = keyless): Unit =
    world.ask[Submitted](Submit(request, 100, _, Some(id))).receiveMessage() match
      case Submitted.NotStored(_, _) | Submitted.Refused(Refusal.PackageGone) => ()
      case other => fail(s"$other")

  private def passes(world: World)(check: => Unit): Unit =
    kit.createTestProbe[Any]().awaitAssert:
      world.pass(20.seconds)
      check

  test("a flare that is stored although its insert failed runs if its submitter has a key"):
    val (world, a, id) = inDoubt(keyed)
    a.hearsNothing()
    passes(world)(assertEquals(world.free(), Map("a" -> 0)))
    val end = world.await(id)
    val pack = a.prepared()
    assertEquals((pack.assignment.flareId, pack.assignment.attempt), (id, 1))
    a.succeed(pack)
    assertEquals(world.ended(end).state, FlareState.Succeeded)

  test("a flare that nobody can ask for is cancelled"):
    val (world, a, id) = inDoubt(keyless)
    def now: Flare = world.store.find(id).get
    passes(world)(assertEquals(now.state, FlareState.Cancelled))
    assertEquals(now.error.map(_.kind), Some(FailureKind.Cancelled))
    a.hearsNothing()
    world.eventuallyFree("a" -> 1)

  test("a flare whose namespace has since been revoked is cancelled"):
    val (world, a, id) = inDoubt(keyed)
    world.ask(GangScheduler.EndNamespace(keyed.definition.namespace, _)).receiveMessage()
    passes(world)(assertEquals(world.store.find(id).map(_.state), Some(FlareState.Cancelled)))
    a.hearsNothing()

  test("a flare that has to wait is stored as waiting"):
    val (world, a, id) = inDoubt(keyed)
    val other = world.submit(keyless)
    val pack = a.prepared()
    a.comesUp(pack)
    passes(world)(assertEquals(world.store.find(id).map(_.state), Some(FlareState.Queued)))
    assertEquals(world.store.find(id).map(_.packs), Some(Vector.empty))
    assertEquals(pack.assignment.flareId, other.id)
    a.succeed(pack)
    val end = world.await(id)
    a.succeed(a.prepared())
    assertEquals(world.ended(end).state, FlareState.Succeeded)

  test("a flare that is cancelled while in doubt does not run"):
    val (world, a, id) = inDoubt(keyed)
    assertEquals(world.cancel(id), CancelOutcome.Accepted)
    passes(world)(assertEquals(world.store.find(id).map(_.state), Some(FlareState.Cancelled)))
    assertEquals(world.cancel(id), CancelOutcome.NotFound)
    a.hearsNothing()

  test("a flare can be cancelled as soon as its submitter has received the failure"):
    val world = World()
    world.invoker("a", 1)
    world.store.breaksAfterInsert = true
    for key <- 1 to 50 do
      val id = FlareId.random()
      notTaken(world, id, keyless.copy(submission = Some(Submission(s"$key", "digest"))))
      assertEquals(world.cancel(id), CancelOutcome.Accepted)

  test("a flare that is cancelled while its insert fails does not run, even with a key"):
    val (held, world, a, id) = beingStored(keyed)
    world.store.breaksAfterInsert = true
    val outcome = world.ask[CancelOutcome](GangScheduler.Cancel(id, CancelledBy.User, _))
    world.free()
    held.holds = false
    held.waiting.poll().run()
    assertEquals(outcome.receiveMessage(), CancelOutcome.Accepted)
    world.store.breaksAfterInsert = false
    passes(world)(assertEquals(world.store.find(id).map(_.state), Some(FlareState.Cancelled)))
    a.hearsNothing()

  test("a flare that is cancelled before it is stored does not run"):
    val (held, world, a, id) = beingStored(keyless)
    world.ask[CancelOutcome](GangScheduler.Cancel(id, CancelledBy.StoreFailure, _))
    world.free()
    held.holds = false
    held.waiting.poll().run()
    passes(world)(assertEquals(world.store.find(id).map(_.state), Some(FlareState.Cancelled)))
    a.hearsNothing()

  test("a flare that is submitted again while in doubt belongs to its submitter"):
    val (world, a, id) = inDoubt(keyless)
    world.store.fails = _ == "insert"
    for _ <- 1 to 3 do
      world.pass(2.minutes)
      notTaken(world, id)
    world.pass(2.minutes)
    assertEquals(world.store.find(id).map(_.state), Some(FlareState.Starting))
    // The record that is already stored does not get in the way.
    world.store.fails = _ => false
    val again = world.ask[Submitted](Submit(keyless, 100, _, Some(id)))
    val pack = a.prepared()
    assert(again.receiveMessage().isInstanceOf[Submitted.Accepted])
    val end = world.await(id)
    a.succeed(pack)
    assertEquals(world.ended(end).state, FlareState.Succeeded)

  test("an answer from before another try is ignored"):
    val held = Held()
    val (world, _, id) = inDoubt(keyless, held)
    world.pass(179.seconds)
    held.holds = true
    world.pass(5.seconds)
    kit.createTestProbe[Any]().awaitAssert(assertEquals(held.waiting.size, 1))
    held.holds = false
    world.store.fails = _ == "insert"
    world.pass(1.second)
    notTaken(world, id)
    held.waiting.poll().run()
    world.pass(5.seconds)
    world.free()
    assertEquals(world.store.find(id).map(_.state), Some(FlareState.Starting))
    passes(world)(assertEquals(world.store.find(id).map(_.state), Some(FlareState.Cancelled)))

  test("the database is asked until it answers, and once more when all its work has ended"):
    val world = World()
    world.invoker("a", 1)
    val late = AdmissionControl.accept(keyless, Timestamp.ofMicros(5))
    world.store.fails = _ => true
    notTaken(world, late.id)
    for _ <- 1 to 20 do world.pass(10.seconds)
    // No check runs between these two.
    world.free()
    world.store.fails = _ => false
    // The insert arrives once the server gets to it.
    world.store.insert(late)
    passes(world)(assertEquals(world.store.find(late.id).map(_.state), Some(FlareState.Cancelled)))

  test("an insert that the database has answered is not looked up"):
    for refuse <- Vector[MemoryFlareStore => Unit](_.withoutPackage = true, _.superseded = true) do
      val world = World()
      world.invoker("a", 1)
      refuse(world.store)
      notTaken(world, FlareId.random())
      val looked = AtomicBoolean()
      world.store.beforeFind = () => looked.set(true)
      for _ <- 1 to 20 do world.pass(20.seconds)
      world.free()
      assert(!looked.get)
