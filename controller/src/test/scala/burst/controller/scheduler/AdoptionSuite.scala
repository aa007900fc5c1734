package burst.controller.scheduler

import burst.controller.store.{addResults, insert}
import burst.controller.flare.*
import burst.protocol.*
import scala.concurrent.duration.DurationInt
import scala.concurrent.{ExecutionContext, Promise}

/** A scheduler that takes over from another one in the cluster: placed flares continue. */
class AdoptionSuite extends AdoptionFixture:
  test("a running flare continues with its invokers' packs, and holds its slots throughout"):
    val flare = placed(FlareState.Running, "a", "b")
    val world = successor(flare)
    val end = world.await(flare.id)
    val a = world.invoker("a", 2)
    val b = world.invoker("b", 3)
    world.eventuallyFree("a" -> 0, "b" -> 1)
    holds(world, a, unbroken = true, PackKey(flare.id, 1, PackId(0)))
    holds(world, b, unbroken = true, PackKey(flare.id, 1, PackId(1)))
    val (first, second) = (adopt(a, flare), adopt(b, flare))
    first.tell(
      PackEvent.Ready(Some("a:1"), Timestamp.ofMicros(1)),
      PackEvent.WorkerStarted(0, Timestamp.ofMicros(1))
    )
    second.tell(PackEvent.Ready(Some("b:1"), Timestamp.ofMicros(1)))
    // it is not known whether the previous scheduler had started them
    assertEquals(Vector(a.started(), b.started()).map(_.pack), Vector(PackId(0), PackId(1)))
    first.succeed(0, 1)
    first.end()
    world.eventuallyFree("a" -> 2, "b" -> 1)
    second.succeed(2, 3)
    second.end()
    val ended = world.ended(end)
    assertEquals((ended.state, ended.attempt, ended.started), (FlareState.Succeeded, 1, flare.started))
    assertEquals(world.outputs(flare.id).map(_._2), Vector.tabulate(4)(worker => Some(s"\"$worker again\"")))

  test("a returning invoker is heard even if too many others ask before the store is read"):
    val flare = placed(FlareState.Running, "a")
    val store = MemoryFlareStore()
    store.insert(flare)
    val isThere = Promise[Unit]()
    val database = ExecutionContext.fromExecutor: job =>
      isThere.future.onComplete(_ => job.run())(using ExecutionContext.parasitic)
    val world = World(store, blocking = database, adoption = Some(Bound))
    val asking = kit.createTestProbe[GangScheduler.Awaited]()
    for _ <- 1 to 20_000 do world.scheduler ! GangScheduler.Await(FlareId.random(), asking.ref)
    val a = world.invoker("a", 2)
    holds(world, a, unbroken = true, PackKey(flare.id, 1, PackId(0)))
    isThere.success(())
    val pack = adopt(a, flare)
    pack.tell(PackEvent.Ready(Some("a:1"), Timestamp.ofMicros(1)))
    pack.succeed(0, 1)
    pack.end()
    world.eventuallyFree("a" -> 2)
    kit.createTestProbe[Any]().awaitAssert:
      assertEquals(store.find(flare.id).map(_.state), Some(FlareState.Succeeded))

  test("calls that share a container continue with one slot, and others join them"):
    val fields = ActivationFields("guest/hello", "0.0.1", "t", 10, 3, None, false, None, false, None)
    val plain = Samples.request(1)
    val call =
      plain.copy(definition = plain.definition.copy(concurrency = 3), activation = Some(fields))
    // The call that created it has ended.
    val container = SharedContainer(FlareId.random(), 1)
    val flares = Vector.fill(2):
      placed(FlareState.Running, "a").copy(
        request = call,
        packs = Vector(PackRecord(PackId(0), InvokerId("a"), Vector(0), None, shared = Some(container))),
        workers = Vector(WorkerRecord(0, Some(PackId(0)), WorkerState.Pending, None, None, None))
      )
    val world = successor(flares*)
    val a = world.invoker("a", 2)
    world.eventuallyFree("a" -> 1)
    holds(world, a, unbroken = true, flares.map(flare => PackKey(flare.id, 1, PackId(0)))*)
    val kept = Vector.fill(2)(a.adopted()).map: (adopt, replyTo) =>
      KeptPack(a, flares.find(_.id == adopt.flareId).get, PackId(0), replyTo)
    val ends = flares.map(flare => world.await(flare.id))
    world.submit(call)
    val sharer = a.prepared()
    assertEquals(sharer.assignment.shared, Some(container))
    kept.foreach: pack =>
      pack.succeed(0)
      pack.end()
    ends.foreach(end => assertEquals(world.ended(end).state, FlareState.Succeeded))
    world.eventuallyFree("a" -> 1)
    a.succeed(sharer)
    world.eventuallyFree("a" -> 2)

  test("invokers learn what is stored and, at the end, that they can forget it"):
    val flare = placed(FlareState.Running, "a")
    val world = successor(flare)
    val end = world.await(flare.id)
    val a = world.invoker("a", 2)
    holds(world, a, unbroken = true, PackKey(flare.id, 1, PackId(0)))
    val pack = adopt(a, flare)
    pack.succeed(0)
    kit.createTestProbe[Any]().awaitAssert:
      world.pass(Samples.settings.progressInterval)
      assertEquals(a.hears(), Some(PackStored(flare.id, 1, PackId(0), 1, over = false)))
    pack.succeed(1)
    pack.end()
    assertEquals(world.ended(end).state, FlareState.Succeeded)
    val told = Iterator.continually(a.stored()).find(_.over).get
    assertEquals((told.flareId, told.attempt, told.pack), (flare.id, 1, PackId(0)))

  test("stored results count, also when a pack reports them again without their outputs"):
    val flare = placed(FlareState.Running, "a")
    val store = MemoryFlareStore()
    store.insert(flare)
    store.addResults(flare.id, Vector(WorkerResult(0, Some(Samples.output("true")), None)))
    val world = World(store, adoption = Some(Bound))
    val end = world.await(flare.id)
    val a = world.invoker("a", 2)
    holds(world, a, unbroken = true, PackKey(flare.id, 1, PackId(0)))
    val pack = adopt(a, flare)
    pack.tell(PackEvent.WorkerSucceeded(0, "", Timestamp.ofMicros(1)))
    pack.succeed(1)
    pack.end()
    assertEquals(world.ended(end).state, FlareState.Succeeded)
    assertEquals(world.outputs(flare.id), Vector((0, Some("true")), (1, Some("\"1 again\""))))

  test("packs that come up under the next scheduler are started by it"):
    val flare = placed(FlareState.Starting, "a", "b")
    val world = successor(flare)
    val end = world.await(flare.id)
    val (a, b) = (world.invoker("a", 2), world.invoker("b", 2))
    holds(world, a, unbroken = true, PackKey(flare.id, 1, PackId(0)))
    holds(world, b, unbroken = true, PackKey(flare.id, 1, PackId(1)))
    val (first, second) = (adopt(a, flare), adopt(b, flare))
    first.tell(PackEvent.Ready(Some("a:1"), Timestamp.ofMicros(1)))
    second.tell(PackEvent.Ready(Some("b:1"), Timestamp.ofMicros(1)))
    assertEquals(a.started().endpoints, Vector(Some("a:1"), Some("b:1")))
    b.started()
    first.succeed(0, 1)
    first.end()
    second.succeed(2, 3)
    second.end()
    assertEquals(world.ended(end).state, FlareState.Succeeded)

  test("a flare whose packs had not all been requested is placed again, whatever its retries"):
    val flare = placed(FlareState.Starting, "a", "b")
    val world = successor(flare)
    val end = world.await(flare.id)
    val (a, b) = (world.invoker("a", 2), world.invoker("b", 2))
    holds(world, a, unbroken = true, PackKey(flare.id, 1, PackId(0)))
    val first = adopt(a, flare)
    first.tell(PackEvent.Ready(Some("a:1"), Timestamp.ofMicros(1)))
    holds(world, b, unbroken = true)
    assertEquals(a.aborted().pack, PackId(0))
    first.end()
    a.stored()
    val again = Vector(a, b).map(invoker =>
      invoker -> Iterator.continually(invoker.hears()).flatten.collectFirst {
        case PreparePack(assignment) => assignment
      }.get
    )
    assertEquals(again.map(_._2.attempt), Vector(2, 2))
    assertEquals(world.cancel(flare.id), CancelOutcome.Accepted)
    val _ = end

  test(
    "an invoker that has just joined disclaims flares that were placed since, and no others"
  ):
    for since <- Vector(900_000, 900_001).map(Timestamp.ofMicros(_)) do
      val flare = placed(FlareState.Starting, "a")
      val world = successor(flare)
      val end = world.await(flare.id)
      val a = world.invoker("a", 2)
      holdsSince(world, a, since)
      if since == Timestamp.ofMicros(900_000) then
        a.stored()
        assertEquals(a.prepared().assignment.attempt, 2)
        assertEquals(world.cancel(flare.id), CancelOutcome.Accepted)
      else assertEquals(world.ended(end).error.map(_.kind), Some(FailureKind.InvokerLost))

  test("packs that a restarted invoker no longer has are lost with it"):
    val flare = placed(FlareState.Running, "a", "b")
    val world = successor(flare)
    val end = world.await(flare.id)
    val (a, b) = (world.invoker("a", 2), world.invoker("b", 2))
    holds(world, a, unbroken = true, PackKey(flare.id, 1, PackId(0)))
    val first = adopt(a, flare)
    holds(world, b, unbroken = false)
    a.aborted()
    first.end()
    val error = world.ended(end).error.get
    assertEquals((error.kind, error.invoker), (FailureKind.InvokerLost, Some(b.id)))
    world.eventuallyFree("a" -> 2, "b" -> 2)

  test("an invoker that does not return in time is lost, and the other packs are ended"):
    val flare = placed(FlareState.Running, "a", "b")
    val world = successor(flare)
    val end = world.await(flare.id)
    val a = world.invoker("a", 2)
    holds(world, a, unbroken = true, PackKey(flare.id, 1, PackId(0)))
    val first = adopt(a, flare)
    world.pass(Bound)
    a.aborted()
    first.end()
    val error = world.ended(end).error.get
    assertEquals((error.kind, error.invoker), (FailureKind.InvokerLost, Some(InvokerId("b"))))

  test("a flare ends if its packs have ended while there was no scheduler"):
    val flare = placed(FlareState.Running, "a")
    val store = MemoryFlareStore()
    store.insert(flare)
    store.addResults(flare.id, Vector.tabulate(2)(WorkerResult(_, Some(Samples.output("1")), None)))
    val world = World(store, adoption = Some(Bound))
    val end = world.await(flare.id)
    val a = world.invoker("a", 2)
    holds(world, a, unbroken = false)
    assertEquals(world.ended(end).state, FlareState.Succeeded)
    world.eventuallyFree("a" -> 2)

  test("a flare that was being cancelled is cancelled"):
    val flare = placed(FlareState.Running, "a")
      .copy(error = Some(Failure(FailureKind.Cancelled, "the flare was cancelled")))
    val world = successor(flare)
    val end = world.await(flare.id)
    val a = world.invoker("a", 2)
    holds(world, a, unbroken = true, PackKey(flare.id, 1, PackId(0)))
    val pack = adopt(a, flare)
    assertEquals(a.aborted().failure.kind, FailureKind.Cancelled)
    pack.end()
    assertEquals(world.ended(end).state, FlareState.Cancelled)

  test("a flare has only the time that it had left"):
    val flare = placed(FlareState.Running, "a")
    val world = successor(flare)
    val end = world.await(flare.id)
    val a = world.invoker("a", 2)
    holds(world, a, unbroken = true, PackKey(flare.id, 1, PackId(0)))
    val pack = adopt(a, flare)
    world.pass(flare.request.timeout - 50.millis + 1.milli)
    assertEquals(a.aborted().failure.kind, FailureKind.Timeout)
    pack.end()
    assertEquals(world.ended(end).state, FlareState.TimedOut)

  test("an invoker that returns after its flare has given up must end its pack"):
    val flare = placed(FlareState.Running, "a")
      .copy(error = Some(Failure(FailureKind.Cancelled, "the flare was cancelled")))
    val world = successor(flare)
    val end = world.await(flare.id)
    val ended = kit.createTestProbe[Any]().awaitAssert:
      world.pass(Samples.settings.abortDeadline)
      end.receiveMessage(1.second)
    ended match
      case GangScheduler.Awaited.Ended(ended, _) => assertEquals(ended.state, FlareState.Cancelled)
      case other => fail(s"$other")
    val a = world.invoker("a", 2)
    holds(world, a, unbroken = true, PackKey(flare.id, 1, PackId(0)))
    val pack = adopt(a, flare)
    a.aborted()
    world.eventuallyFree("a" -> 0)
    pack.end()
    world.eventuallyFree("a" -> 2)

  test("an invoker that is up but has not reported its packs is not given up"):
    val flare = placed(FlareState.Running, "a")
    val world = successor(flare)
    val end = world.await(flare.id)
    val a = world.invoker("a", 2)
    world.pass(Bound)
    holds(world, a, unbroken = true, PackKey(flare.id, 1, PackId(0)))
    val pack = adopt(a, flare)
    pack.succeed(0, 1)
    pack.end()
    assertEquals(world.ended(end).state, FlareState.Succeeded)

  test("a cancellation is answered once stored, and stays in the record until the flare ends"):
    val flare = placed(FlareState.Running, "a")
    val world = successor(flare)
    val a = world.invoker("a", 2)
    holds(world, a, unbroken = true, PackKey(flare.id, 1, PackId(0)))
    val pack = adopt(a, flare)
    assertEquals(world.cancel(flare.id), CancelOutcome.Accepted)
    assertEquals(world.store.find(flare.id).flatMap(_.error).map(_.kind), Some(FailureKind.Cancelled))
    pack.tell(PackEvent.WorkerStarted(0, Timestamp.ofMicros(1)))
    kit.createTestProbe[Any]().awaitAssert:
      world.pass(Samples.settings.progressInterval)
      val record = world.store.find(flare.id).get
      assert(record.workers(0).started.isDefined && record.error.isDefined, record)

  test(
    "packs of ended flares are ended and forgotten; packs of other, ended attempts are forgotten"
  ):
    val flare = placed(FlareState.Running, "b")
    val world = successor(flare)
    val a = world.invoker("a", 2)
    val (ended, other) = (PackKey(FlareId.random(), 1, PackId(0)), PackKey(flare.id, 7, PackId(0)))
    holds(world, a, unbroken = true, ended, other)
    assertEquals(a.aborted().flareId, ended.flareId)
    for pack <- Vector(ended, other) do
      assertEquals(a.stored(), PackStored(pack.flareId, pack.attempt, pack.pack, 0, over = true))
    a.hearsNothing()

  test("a stored failure ends the flare even if it is not reported again"):
    val flare = placed(FlareState.Running, "a")
    val store = MemoryFlareStore()
    store.insert(flare)
    val boom = Failure(FailureKind.Error, "boom", Some(0))
    store.addResults(flare.id, Vector(WorkerResult(0, None, Some(boom))))
    val world = World(store, adoption = Some(Bound))
    val end = world.await(flare.id)
    val a = world.invoker("a", 2)
    holds(world, a, unbroken = true, PackKey(flare.id, 1, PackId(0)))
    val pack = adopt(a, flare)
    assertEquals(a.aborted().failure.message, "boom")
    pack.end()
    assertEquals(world.ended(end).error.map(_.message), Some("boom"))

  test("a scheduler that stops leaves its packs to the next one"):
    val world = successor()
    val a = world.invoker("a", 2)
    val flare = world.submit(Samples.request(2))
    a.prepared()
    world.ask[org.apache.pekko.Done](GangScheduler.Stop(_)).receiveMessage()
    a.hearsNothing()
    assertEquals(world.store.find(flare.id).map(_.state), Some(FlareState.Starting))
