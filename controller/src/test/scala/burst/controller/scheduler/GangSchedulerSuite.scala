package burst.controller.scheduler

import burst.controller.flare.{FlareState, Output, WorkerState}
import burst.controller.store.logTexts
import burst.protocol.{FailureKind, FlareId, InvokerId, PackEvent}
import scala.concurrent.duration.DurationInt

class GangSchedulerSuite extends SchedulerFixture:
  import GangScheduler.{Awaited, Submitted}

  test("one pack: inserted as starting, started by itself, two writes in all"):
    val world = World()
    val a = world.invoker("a", 4)
    val flare = world.submit(Samples.request(3))
    val end = world.await(flare.id)
    val pack = a.prepared()
    assert(pack.assignment.autostart)
    assertEquals(world.store.writes, Vector("insert Starting"))
    a.succeed(pack)
    val ended = world.ended(end)
    assertEquals(ended.state, FlareState.Succeeded)
    assertEquals(world.store.writes, Vector("insert Starting", "results", "update Succeeded"))
    assertEquals(world.outputs(flare.id), Vector.tabulate(3)(i => (i, Some(i.toString))))
    assertEquals(ended.packs.map(p => (p.invoker, p.workers)), Vector((InvokerId("a"), Vector(0, 1, 2))))
    world.eventuallyFree("a" -> 4)
    assertEquals(world.await(flare.id).receiveMessage(), Awaited.NotActive)

  test("several packs start together, with everybody's endpoint and one secret"):
    val world = World()
    val (a, b) = (world.invoker("a", 3), world.invoker("b", 2))
    val flare = world.submit(Samples.request(5))
    val end = world.await(flare.id)
    val (first, second) = (a.prepared(), b.prepared())
    assertEquals(first.assignment.secret, second.assignment.secret)
    assertEquals(
      second.assignment.inputs,
      burst.protocol.Inputs.Each(Vector(burst.protocol.JsonText("3"), burst.protocol.JsonText("4")))
    )
    a.ready(first)
    a.hearsNothing()
    b.ready(second)
    assertEquals(a.started().endpoints, Vector(Some("a:0"), Some("b:1")))
    b.started()
    a.succeed(first)
    b.succeed(second)
    assertEquals(world.ended(end).state, FlareState.Succeeded)

  test("two flares at once on a nearly full cluster: one starts, the other waits whole"):
    val world = World()
    val (a, b) = (world.invoker("a", 4), world.invoker("b", 4))
    val one = world.submit(Samples.request(6))
    val two = world.submit(Samples.request(6))
    assertEquals(two.state, FlareState.Queued)
    val packs = Vector(a -> a.prepared(), b -> b.prepared())
    assert(packs.forall(_._2.assignment.flareId == one.id))
    a.hearsNothing()
    assertEquals(world.free().values.sum, 2)
    val end = world.await(two.id)
    packs.foreach((invoker, pack) => invoker.ready(pack))
    packs.foreach(_._1.started())
    packs.foreach((invoker, pack) => invoker.succeed(pack))
    val next = Vector(a -> a.prepared(), b -> b.prepared())
    assert(next.forall(_._2.assignment.flareId == two.id))
    next.foreach((invoker, pack) => invoker.succeed(pack))
    assertEquals(world.ended(end).state, FlareState.Succeeded)
    world.eventuallyFree("a" -> 4, "b" -> 4)

  test("slots come back as workers end, once, and another flare starts on them"):
    val world = World()
    val a = world.invoker("a", 4)
    val one = world.submit(Samples.request(4))
    val end = world.await(one.id)
    val two = world.submit(Samples.request(3))
    val uneven = a.prepared()
    a.report(uneven, PackEvent.Ready(None, 0))
    a.needs(uneven, 2)
    world.eventuallyFree("a" -> 2)
    a.needs(uneven, 1)
    val next = a.prepared()
    assertEquals(next.assignment.flareId, two.id)
    world.eventuallyFree("a" -> 0)
    a.needs(uneven, 2)
    a.succeed(uneven)
    assertEquals(world.ended(end).state, FlareState.Succeeded)
    assertEquals(world.free(), Map("a" -> 1), "what was told late changed nothing")
    a.succeed(next)
    world.eventuallyFree("a" -> 4)

  test("a queued flare knows its place and when it may start"):
    val world = World()
    val a = world.invoker("a", 4)
    def standing(id: FlareId) =
      world.ask[GangScheduler.Located](GangScheduler.Locate(id, _)).receiveMessage().standing
    val one = world.submit(Samples.request(3, timeout = 20000))
    val (two, three) = (world.submit(Samples.request(4)), world.submit(Samples.request(4)))
    val released = world.clock.get + 20.seconds.toMicros + Samples.settings.abortDeadline.toMicros
    assertEquals(standing(two.id), Some(Standing(1, Right(released))))
    assertEquals(standing(three.id).map(_.position), Some(2))
    assertEquals(standing(one.id), None)
    assertEquals(standing(FlareId.random()), None)
    world.pass(3.seconds)
    a.succeed(a.prepared())
    a.prepared()
    assertEquals(
      standing(three.id),
      Some(Standing(1, Right(world.clock.get + 3.seconds.toMicros))),
      "as the first took"
    )

  test("an overloaded invoker gets nothing until it is better"):
    val world = World()
    val a = world.invoker("a", 4)
    def load(cpu: Double) =
      world.scheduler ! GangScheduler.InvokerReported(a.status(4).copy(cpuLoad = cpu), a.ref)
    load(0.95)
    val flare = world.submit(Samples.request(2))
    assertEquals(flare.state, FlareState.Queued)
    a.hearsNothing()
    load(0.5)
    a.succeed(a.prepared())

  test("many flares at once never oversubscribe, and all run"):
    val world = World(settings = Samples.settings.copy(queueLimit = 1000, namespaceQueueLimit = 1000))
    val a = world.invoker("a", 8)
    val ends = (1 to 40).map(i => world.await(world.submit(Samples.request(i % 8 + 1, s"n${i % 3}")).id))
    var done = 0
    var open = Vector.empty[burst.protocol.InvokerProtocol.PreparePack]
    while done < 40 do
      open :+= a.prepared()
      // one that holds the slots the next needs must end first
      while open.nonEmpty && (open.map(_.assignment.size).sum + 8 > 8 || done + open.length == 40) do
        a.succeed(open.head)
        assert(open.map(_.assignment.size).sum <= 8)
        open = open.tail
        done += 1
    ends.foreach(end => assertEquals(world.ended(end).state, FlareState.Succeeded))
    world.eventuallyFree("a" -> 8)

  test("a namespace with a long queue does not hold up another"):
    val world = World()
    val a = world.invoker("a", 4)
    val running = world.submit(Samples.request(4, "A"))
    val queued = Vector.fill(4)(world.submit(Samples.request(4, "A")))
    val other = world.submit(Samples.request(4, "B"))
    val order = Iterator.continually {
      val pack = a.prepared()
      a.succeed(pack)
      pack.assignment.flareId
    }.take(6).toVector
    assertEquals(order.take(3), Vector(running.id, other.id, queued.head.id), "A has had its turn")

  test("refused at once: no invokers, too large, over the limit, an impossible granularity, a full queue"):
    val world = World(settings = Samples.settings.copy(queueLimit = 2, namespaceQueueLimit = 1))
    def refusal(request: burst.controller.flare.FlareRequest, limit: Int = 100) =
      world.submitted(request, limit) match
        case Submitted.Refused(refusal) => refusal
        case other => fail(s"accepted: $other")
    assertEquals(refusal(Samples.request(1)), Refusal.NoInvokers)
    world.invoker("a", 4)
    world.invoker("b", 4)
    assertEquals(refusal(Samples.request(9)), Refusal.TooLarge(9, 8))
    assertEquals(refusal(Samples.request(6), 5), Refusal.OverLimit("concurrent slots", 6, 5))
    assertEquals(refusal(Samples.request(8, granularity = Some(6))), Refusal.UnitTooLarge(6, 4))
    world.submit(Samples.request(8))
    world.submit(Samples.request(1, "x"))
    assertEquals(refusal(Samples.request(1, "x")), Refusal.QueueFull(1))
    world.submit(Samples.request(1, "y"))
    assertEquals(refusal(Samples.request(1, "z")), Refusal.QueueFull(2))
    assertEquals(world.store.writes.count(_.startsWith("insert")), 3, "what is refused changes nothing")

  test("a namespace's running flares stay within its slots"):
    val world = World()
    val a = world.invoker("a", 8)
    world.submitted(Samples.request(3), slotLimit = 4)
    world.submitted(Samples.request(3), slotLimit = 4)
    val first = a.prepared()
    a.hearsNothing()
    a.succeed(first)
    a.prepared()

  test("cancelled in the queue, while starting, while running"):
    val world = World()
    val a = world.invoker("a", 2)
    val b = world.invoker("b", 2)
    val running = world.submit(Samples.request(4))
    val queued = world.submit(Samples.request(1))
    val end = world.await(queued.id)
    assertEquals(world.cancel(queued.id), CancelOutcome.Accepted)
    assertEquals(world.store.find(queued.id).map(_.state), Some(FlareState.Cancelled))
    assertEquals(world.ended(end).state, FlareState.Cancelled)
    val packs = Vector(a -> a.prepared(), b -> b.prepared())
    a.ready(packs(0)._2)
    b.ready(packs(1)._2)
    packs.foreach(_._1.started())
    val ending = world.await(running.id)
    assertEquals(world.cancel(running.id), CancelOutcome.Accepted)
    packs.foreach((invoker, pack) =>
      assertEquals(invoker.aborted().failure.kind, FailureKind.Cancelled)
      invoker.end(pack)
    )
    assertEquals(world.ended(ending).workers.map(_.state).distinct, Vector(WorkerState.Cancelled))
    world.eventuallyFree("a" -> 2, "b" -> 2)
    // its end is announced before it is forgotten
    kit.createTestProbe[Any]().awaitAssert(assertEquals(world.cancel(running.id), CancelOutcome.NotFound))
    assertEquals(world.cancel(FlareId.random()), CancelOutcome.NotFound)
    val starting = world.submit(Samples.request(1))
    assertEquals(world.cancel(starting.id), CancelOutcome.Accepted)

  test("a time-out stops every pack; one that never reports holds its slots until its invoker is lost"):
    val world = World()
    val (a, b) = (world.invoker("a", 2), world.invoker("b", 2))
    val flare = world.submit(Samples.request(4, timeout = 20000))
    val end = world.await(flare.id)
    val (first, second) = (a.prepared(), b.prepared())
    a.ready(first)
    b.ready(second)
    a.started()
    b.started()
    world.pass(20.seconds)
    assertEquals(a.aborted().failure.kind, FailureKind.Timeout)
    b.aborted()
    a.end(first)
    world.eventuallyFree("a" -> 2, "b" -> 0)
    world.pass(10.seconds)
    assertEquals(world.ended(end).state, FlareState.TimedOut)
    world.eventuallyFree("a" -> 2, "b" -> 0)
    assertEquals(world.ended(world.await(flare.id)).state, FlareState.TimedOut)
    world.scheduler ! GangScheduler.InvokerLost(b.id, "silent")
    world.scheduler ! GangScheduler.InvokerUp(b.status(2), b.ref)
    assertEquals(b.aborted().flareId, flare.id, "it may still be running: ended before anything new")
    world.eventuallyFree("a" -> 2, "b" -> 2)

  test("packs that do not get ready in time fail the flare"):
    val world = World()
    val a = world.invoker("a", 2)
    val end = world.await(world.submit(Samples.request(2)).id)
    val pack = a.prepared()
    world.pass(30.seconds)
    assertEquals(a.aborted().failure.kind, FailureKind.StartFailed)
    a.end(pack)
    assertEquals(world.ended(end).error.map(_.kind), Some(FailureKind.StartFailed))

  test("a failure reaches all packs, and the outputs there are stay"):
    val world = World()
    val (a, b) = (world.invoker("a", 2), world.invoker("b", 2))
    val flare = world.submit(Samples.request(4))
    val end = world.await(flare.id)
    val (first, second) = (a.prepared(), b.prepared())
    a.report(first, PackEvent.Ready(None, 0))
    b.report(second, PackEvent.Ready(None, 0), PackEvent.WorkerSucceeded(2, "2", 1))
    a.started()
    b.started()
    a.fail(first, 0, FailureKind.Panic)
    assertEquals(b.aborted().failure.worker, Some(0))
    a.aborted()
    a.end(first)
    b.end(second)
    assertEquals(world.ended(end).error.map(_.kind), Some(FailureKind.Panic))
    assertEquals(
      world.errors(flare.id),
      Vector(
        (0, Some(FailureKind.Panic)),
        (1, Some(FailureKind.PeerFailed)),
        (2, None),
        (3, Some(FailureKind.PeerFailed))
      )
    )

  test("an invoker lost in mid-run: its packs are lost, the others aborted, the slots free"):
    val world = World()
    val (a, b) = (world.invoker("a", 2), world.invoker("b", 2))
    val flare = world.submit(Samples.request(4))
    val end = world.await(flare.id)
    val (first, second) = (a.prepared(), b.prepared())
    a.ready(first)
    b.ready(second)
    a.started()
    world.scheduler ! GangScheduler.InvokerLost(b.id, "silent")
    assertEquals(a.aborted().failure.kind, FailureKind.InvokerLost)
    a.end(first)
    val error = world.ended(end).error.get
    assertEquals((error.kind, error.invoker), (FailureKind.InvokerLost, Some(b.id)))
    world.eventuallyFree("a" -> 2, "b" -> 0)

  test("a retry runs the whole flare again; late reports of the first attempt change nothing"):
    val world = World()
    val a = world.invoker("a", 2)
    val flare = world.submit(Samples.request(2, retries = 1))
    val end = world.await(flare.id)
    val first = a.prepared()
    a.report(first, PackEvent.Ready(None, 0), PackEvent.WorkerSucceeded(0, "\"old\"", 1))
    a.fail(first, 1, FailureKind.Error)
    a.aborted()
    a.end(first)
    val second = a.prepared()
    assertEquals(second.assignment.attempt, 2)
    assertNotEquals(second.assignment.secret, first.assignment.secret)
    a.fail(first, 0, FailureKind.Panic)
    a.succeed(second)
    val ended = world.ended(end)
    assertEquals((ended.state, ended.attempt), (FlareState.Succeeded, 2))
    assertEquals(world.outputs(flare.id), Vector((0, Some("0")), (1, Some("1"))))

  private def kept(id: burst.protocol.FlareId, worker: Int): String =
    val bytes =
      Samples.outputStore.read(id, worker).runFold(org.apache.pekko.util.ByteString.empty)(_ ++ _)(using
        org.apache.pekko.stream.Materializer(kit.system)
      )
    scala.concurrent.Await.result(bytes, 10.seconds).utf8String

  test("an output in pieces is put together, kept beside the store, and the pack told to send more"):
    val world = World()
    val a = world.invoker("a", 2)
    val flare = world.submit(Samples.request(2))
    val end = world.await(flare.id)
    val pack = a.prepared()
    a.report(
      pack,
      PackEvent.Ready(None, 0),
      PackEvent.Output(0, "\"" + "x" * 5000),
      PackEvent.Output(1, "[1")
    )
    assertEquals((a.outputStored().flareId, pack.assignment.pack), (flare.id, 0))
    a.report(pack, PackEvent.Output(0, "yé"), PackEvent.WorkerSucceeded(0, "z\"", 1))
    a.report(pack, PackEvent.WorkerSucceeded(1, ",2]", 1), PackEvent.PackEnded(true, None, 3))
    assertEquals(world.ended(end).state, FlareState.Succeeded)
    assertEquals(
      world.store.results(flare.id, 0, 2).map(_.output),
      Vector(Some(Output.Kept(5000 + 6)), Some(Output.Kept(5)))
    )
    assertEquals((kept(flare.id, 0), kept(flare.id, 1)), ("\"" + "x" * 5000 + "yéz\"", "[1,2]"))

  test("pieces of an attempt that failed are in no output of the next"):
    val world = World()
    val a = world.invoker("a", 2)
    val flare = world.submit(Samples.request(2, retries = 1))
    val end = world.await(flare.id)
    val first = a.prepared()
    a.report(first, PackEvent.Ready(None, 0), PackEvent.Output(0, "\"old"), PackEvent.Output(1, "\"older"))
    a.fail(first, 1, FailureKind.Error)
    a.aborted()
    a.end(first)
    val second = a.prepared()
    a.report(
      second,
      PackEvent.Ready(None, 0),
      PackEvent.Output(0, "\"n"),
      PackEvent.WorkerSucceeded(0, "ew\"", 1)
    )
    a.report(second, PackEvent.WorkerSucceeded(1, "1", 1), PackEvent.PackEnded(true, None, 3))
    assertEquals(world.ended(end).state, FlareState.Succeeded)
    assertEquals(kept(flare.id, 0), "\"new\"")
    assertEquals(world.outputs(flare.id), Vector((0, None), (1, Some("1"))))

  test("outputs that are too large together fail the flare, and nobody waits"):
    val world = World(settings = Samples.settings.copy(outputLimit = 8000))
    val a = world.invoker("a", 2)
    val flare = world.submit(Samples.request(2))
    val end = world.await(flare.id)
    val pack = a.prepared()
    a.report(pack, PackEvent.Ready(None, 0), PackEvent.Output(0, "x" * 5000))
    a.outputStored()
    a.report(pack, PackEvent.Output(1, "x" * 5000))
    assert(a.aborted().failure.message.contains("8000 bytes"))
    a.outputStored()
    a.end(pack)
    val error = world.ended(end).error.get
    assertEquals((error.kind, error.worker), (FailureKind.Error, Some(1)))

  test("large inputs are read from the store for the packs, and those of a second flare wait for the memory"):
    val world = World()
    val a = world.invoker("a", 4)
    val large = burst.protocol.JsonText("\"" + "x" * (700 << 10) + "\"")
    val request = Samples.request(2).copy(inputs = burst.protocol.Inputs.Shared(large))
    world.submit(request)
    val first = a.prepared()
    assertEquals(first.assignment.inputs, request.inputs)
    world.submit(request)
    a.hearsNothing()
    a.ready(first)
    assertEquals(a.prepared().assignment.inputs, request.inputs)

  test("inputs that cannot be read fail the flare and free its slots"):
    val store = MemoryFlareStore()
    val world = World(store)
    val _ = world.invoker("a", 2)
    store.fails = _ == "inputs"
    val large = burst.protocol.JsonText("\"" + "x" * (70 << 10) + "\"")
    // It may have ended before anybody could ask for its end.
    val flare = world.submit(Samples.request(2).copy(inputs = burst.protocol.Inputs.Shared(large)))
    kit.createTestProbe[Any]().awaitAssert {
      val error = store.find(flare.id).flatMap(_.error)
      assert(error.exists(_.message.contains("inputs")), error)
    }
    world.eventuallyFree("a" -> 2)

  test("a backend that keeps things is cleaned before the end is announced"):
    val world = World()
    val a = world.invoker("a", 2)
    val end = world.await(world.submit(Samples.request(2, backend = "redis")).id)
    a.succeed(a.prepared())
    val clean = a.cleaned()
    end.expectNoMessage(50.millis)
    clean.replyTo ! burst.protocol.InvokerProtocol.FlareCleaned(clean.flareId, None)
    assertEquals(world.ended(end).state, FlareState.Succeeded)
    val late = world.await(world.submit(Samples.request(2, backend = "redis")).id)
    a.succeed(a.prepared())
    a.cleaned()
    world.pass(2.seconds)
    assertEquals(world.ended(late).state, FlareState.Succeeded)

  test("progress is stored while a flare runs"):
    val world = World()
    val a = world.invoker("a", 3)
    val flare = world.submit(Samples.request(3))
    val pack = a.prepared()
    a.report(
      pack,
      PackEvent.Ready(None, 0),
      PackEvent.WorkerStarted(0, 1),
      PackEvent.Phase(0, "read", 1),
      PackEvent.Log(Some(0), burst.protocol.LogStream.Stdout, "hello", 1)
    )
    world.Steps(a, pack).settle()
    world.pass(100.millis)
    val probe = kit.createTestProbe[Unit]()
    probe.awaitAssert(assertEquals(world.store.find(flare.id).map(_.state), Some(FlareState.Running)))
    assertEquals(world.store.logTexts(flare.id).map(_.text), Vector("hello"))
    assertEquals(world.store.phases(flare.id).map(_.name), Vector("read"))

  test("a store that cannot take a flare: it is refused, and its slots come back"):
    val world = World()
    val a = world.invoker("a", 2)
    world.store.fails = _ == "insert"
    world.submitted(Samples.request(2)) match
      case Submitted.NotStored(operation, _) => assertEquals(operation, "insert")
      case other => fail(s"$other")
    a.hearsNothing()
    world.eventuallyFree("a" -> 2)
    world.store.fails = _ => false
    world.submit(Samples.request(2))
    a.prepared()

  test("a flare whose package is gone is refused, and its slots come back"):
    val world = World()
    val a = world.invoker("a", 2)
    world.store.withoutPackage = true
    assertEquals(world.submitted(Samples.request(2)), Submitted.Refused(Refusal.PackageGone))
    a.hearsNothing()
    world.eventuallyFree("a" -> 2)

  test("a store that fails later fails the flare, and it never hangs"):
    val world = World()
    val a = world.invoker("a", 8)
    val flare = world.submit(Samples.request(8))
    val end = world.await(flare.id)
    val pack = a.prepared()
    val steps = world.Steps(a, pack)
    world.store.fails = _ => true
    a.report(pack, PackEvent.Ready(None, 0), PackEvent.WorkerSucceeded(0, "null", 1))
    steps.settle()
    world.pass(100.millis)
    // each pause is twice as long as the one before
    for pause <- Vector(200.millis, 400.millis) do
      steps.settle()
      a.hearsNothing()
      world.pass(pause)
    assertEquals(a.aborted().failure.kind, FailureKind.Internal)
    a.end(pack)
    val announced = kit.createTestProbe[Any]().awaitAssert {
      world.pass(400.millis)
      end.receiveMessage(50.millis)
    }
    announced match
      case Awaited.Ended(ended) => assertEquals(ended.state, FlareState.Failed)
      case other => fail(s"$other")
    world.eventuallyFree("a" -> 8)
    // However long it takes, the record comes to say what was told.
    for _ <- 1 to 3 do world.pass(5.seconds)
    assertEquals(world.store.find(flare.id).map(_.state), Some(FlareState.Starting))
    world.store.fails = _ => false
    kit.createTestProbe[Any]().awaitAssert {
      world.pass(5.seconds)
      assertEquals(world.store.find(flare.id).map(_.state), Some(FlareState.Failed))
    }
    assertEquals(world.outputs(flare.id).length, 8)

  test("a hiccup of the store costs nothing"):
    val world = World()
    val a = world.invoker("a", 2)
    val flare = world.submit(Samples.request(2))
    val end = world.await(flare.id)
    val pack = a.prepared()
    world.store.fails = _ == "update"
    a.succeed(pack)
    // its slots come back when it closes, and then its end is to be stored
    world.eventuallyFree("a" -> 2)
    a.hearsNothing()
    world.store.fails = _ => false
    val announced = kit.createTestProbe[Any]().awaitAssert {
      world.pass(200.millis)
      end.receiveMessage(50.millis)
    }
    val stored = world.store.find(flare.id).get
    assertEquals(announced, Awaited.Ended(stored.copy(request = stored.request.withoutInputs)))
    assertEquals(stored.state, FlareState.Succeeded)
    assertEquals(world.outputs(flare.id).length, 2, "results were stored once")

  test("a flare that another controller has taken over is let go: its packs end, its end is not told"):
    val world = World()
    val a = world.invoker("a", 3)
    val flare = world.submit(Samples.request(3))
    val end = world.await(flare.id)
    val pack = a.prepared()
    world.store.taken = true
    a.report(pack, PackEvent.Ready(None, 0), PackEvent.WorkerSucceeded(0, "null", 1))
    world.Steps(a, pack).settle()
    world.pass(100.millis)
    assertEquals(a.aborted().failure.kind, FailureKind.Internal)
    a.end(pack)
    assertEquals(end.receiveMessage(), Awaited.NotActive)
    world.eventuallyFree("a" -> 3)
    assertEquals(world.store.find(flare.id).map(_.state), Some(FlareState.Starting))

  test("a heartbeat introduces an invoker to a scheduler that does not know it, and tells its size"):
    val world = World()
    val a = world.invoker("a", 2)
    val b = ScriptedInvoker("b", kit.createTestProbe())
    world.scheduler ! GangScheduler.InvokerReported(b.status(3), b.ref)
    world.scheduler ! GangScheduler.InvokerReported(a.status(5), a.ref)
    world.eventuallyFree("a" -> 5, "b" -> 3)
    world.submit(Samples.request(3))
    b.prepared()

  test("stopping ends the packs"):
    val world = World()
    val a = world.invoker("a", 2)
    world.submit(Samples.request(2))
    a.prepared()
    world.ask(GangScheduler.Stop(_)).receiveMessage()
    assertEquals(a.aborted().failure.kind, FailureKind.ControllerRestarted)
