package burst.controller.scheduler

import burst.controller.flare.{Flare, FlareRequest, FlareState, Submission}
import burst.controller.store.insert
import burst.protocol.{FailureKind, FlareId}
import scala.concurrent.duration.DurationInt

class UnclearInsertsSuite extends SchedulerFixture:
  import GangScheduler.{Submit, Submitted}

  private val keyless = Samples.request(1)
  private val keyed = keyless.copy(submission = Some(Submission("key", "digest")))

  /** A world whose store has a flare of which nobody knows that. */
  private def unclear(request: FlareRequest): (World, ScriptedInvoker, FlareId) =
    val world = World()
    val a = world.invoker("a", 1)
    val id = FlareId.random()
    world.store.breaksAfterInsert = true
    notTaken(world, id, request)
    world.store.breaksAfterInsert = false
    assertEquals(world.store.find(id).map(_.state), Some(FlareState.Starting))
    world.eventuallyFree("a" -> 1)
    (world, a, id)

  private def notTaken(world: World, id: FlareId, request: FlareRequest = keyless): Unit =
    world.ask[Submitted](Submit(request, 100, _, Some(id))).receiveMessage() match
      case Submitted.NotStored(_, _) | Submitted.Refused(Refusal.PackageGone) => ()
      case other => fail(s"$other")

  private def passes(world: World)(check: => Unit): Unit =
    kit.createTestProbe[Any]().awaitAssert:
      world.pass(5.seconds)
      check

  test("a flare that is stored though its insert failed runs where its submitter has a key"):
    val (world, a, id) = unclear(keyed)
    a.hearsNothing()
    passes(world)(assertEquals(world.free(), Map("a" -> 0)))
    val end = world.await(id)
    val pack = a.prepared()
    assertEquals((pack.assignment.flareId, pack.assignment.attempt), (id, 2))
    a.succeed(pack)
    assertEquals(world.ended(end).state, FlareState.Succeeded)

  test("one that nobody can ask for is cancelled"):
    val (world, a, id) = unclear(keyless)
    def now: Flare = world.store.find(id).get
    passes(world)(assertEquals(now.state, FlareState.Cancelled))
    assertEquals(now.error.map(_.kind), Some(FailureKind.Cancelled))
    a.hearsNothing()
    world.eventuallyFree("a" -> 1)

  test("so is one whose namespace was revoked meanwhile"):
    val (world, a, id) = unclear(keyed)
    world.ask(GangScheduler.EndNamespace(keyed.definition.namespace, _)).receiveMessage()
    passes(world)(assertEquals(world.store.find(id).map(_.state), Some(FlareState.Cancelled)))
    a.hearsNothing()

  test("one that is submitted again meanwhile is its submitter's"):
    val (world, _, id) = unclear(keyless)
    world.store.fails = _ == "insert"
    for _ <- 1 to 3 do
      world.pass(5.seconds)
      notTaken(world, id)
    assertEquals(world.store.find(id).map(_.state), Some(FlareState.Starting))

  test("the database is asked until it answers, and once more when all it was at has ended"):
    val world = World()
    world.invoker("a", 1)
    val late = AdmissionControl.accept(keyless, 5)
    world.store.fails = _ => true
    notTaken(world, late.id)
    for _ <- 1 to 6 do world.pass(5.seconds)
    world.store.fails = _ => false
    // It arrives as the server comes to it.
    for _ <- 1 to 2 do world.pass(5.seconds)
    world.store.insert(late)
    passes(world)(assertEquals(world.store.find(late.id).map(_.state), Some(FlareState.Cancelled)))

  test("what the database has answered is not looked for"):
    for refuse <- Vector[MemoryFlareStore => Unit](_.withoutPackage = true, _.superseded = true) do
      val world = World()
      world.invoker("a", 1)
      refuse(world.store)
      notTaken(world, FlareId.random())
      var looked = false
      world.store.beforeFind = () => looked = true
      for _ <- 1 to 4 do world.pass(5.seconds)
      assert(!looked)
