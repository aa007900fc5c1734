package burst.controller.scheduler

import burst.controller.flare.{ActivationFields, FlareState}
import burst.protocol.{FailureKind, FlareId, InvokerId, PackEvent, Timestamp}
import scala.concurrent.duration.DurationInt

class GangSchedulerSuite extends SchedulerFixture:
  import GangScheduler.{Awaited, Submitted}

  test("a single pack is inserted as starting, starts by itself, and takes two more writes"):
    val world = World()
    val a = world.invoker("a", 4)
    val flare = world.submit(Samples.request(3))
    val end = world.await(flare.id)
    val pack = a.prepared()
    assert(pack.assignment.autostart)
    assertEquals(pack.assignment.elsewhere, 0)
    assertEquals(world.store.writes, Vector("insert Starting"))
    a.succeed(pack)
    val ended = world.ended(end)
    assertEquals(ended.state, FlareState.Succeeded)
    assertEquals(world.store.writes, Vector("insert Starting", "results", "update Succeeded"))
    assertEquals(world.outputs(flare.id), Vector.tabulate(3)(i => (i, Some(i.toString))))
    assertEquals(ended.packs.map(p => (p.invoker, p.workers)), Vector((InvokerId("a"), Vector(0, 1, 2))))
    world.eventuallyFree("a" -> 4)
    // its end is announced before it is forgotten
    kit.createTestProbe[Any]().awaitAssert:
      assertEquals(world.await(flare.id).receiveMessage(), Awaited.NotActive)

  test("several packs start together, with all endpoints and one secret"):
    val world = World()
    val (a, b) = (world.invoker("a", 3), world.invoker("b", 2))
    val flare = world.submit(Samples.request(5))
    val end = world.await(flare.id)
    val (first, second) = (a.prepared(), b.prepared())
    assertEquals(first.assignment.secret, second.assignment.secret)
    assertEquals((first.assignment.elsewhere, second.assignment.elsewhere), (1, 1))
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

  test("a part of a sequence waits for invokers instead of being refused"):
    val world = World()
    val fields = ActivationFields("guest/hello", "0.0.1", "t", 10, 1, None, true, None, false, None)
    assertEquals(world.submitted(Samples.request(1)), Submitted.Refused(Refusal.NoInvokers))
    val flare = world.submit(Samples.request(1).copy(activation = Some(fields)))
    assertEquals(flare.state, FlareState.Queued)
    val end = world.await(flare.id)
    val a = world.invoker("a", 1)
    a.succeed(a.prepared())
    assertEquals(world.ended(end).state, FlareState.Succeeded)

  test("of two flares on a nearly full cluster one starts, and the other waits as a whole"):
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

  test("slots come back once as workers end, and another flare starts on them"):
    val world = World()
    val a = world.invoker("a", 4)
    val one = world.submit(Samples.request(4))
    val end = world.await(one.id)
    val two = world.submit(Samples.request(3))
    val uneven = a.prepared()
    a.report(uneven, PackEvent.Ready(None, Timestamp.Epoch))
    a.needs(uneven, 2)
    world.eventuallyFree("a" -> 2)
    a.needs(uneven, 1)
    val next = a.prepared()
    assertEquals(next.assignment.flareId, two.id)
    world.eventuallyFree("a" -> 0)
    a.needs(uneven, 2)
    a.succeed(uneven)
    assertEquals(world.ended(end).state, FlareState.Succeeded)
    assertEquals(world.free(), Map("a" -> 1), "the late report changed nothing")
    a.succeed(next)
    world.eventuallyFree("a" -> 4)

  test("a queued flare reports its position and its estimated start"):
    val world = World()
    val a = world.invoker("a", 4)
    def estimate(id: FlareId) =
      world.ask[GangScheduler.Located](GangScheduler.Locate(id, _)).receiveMessage().standing.map(
        _.copy(reason = None)
      )
    val one = world.submit(Samples.request(3, timeout = 20.seconds))
    val (two, three) = (world.submit(Samples.request(4)), world.submit(Samples.request(4)))
    val released = Timestamp.ofMicros(world.clock.get) + 20.seconds + Samples.settings.abortDeadline
    assertEquals(estimate(two.id), Some(QueueEstimate(1, Right(released))))
    assertEquals(estimate(three.id).map(_.position), Some(2))
    assertEquals(estimate(one.id), None)
    assertEquals(estimate(FlareId.random()), None)
    world.pass(3.seconds)
    a.succeed(a.prepared())
    a.prepared()
    assertEquals(
      estimate(three.id),
      Some(QueueEstimate(1, Right(Timestamp.ofMicros(world.clock.get) + 3.seconds))),
      "as long as the first one took"
    )

  test("an overloaded invoker gets nothing until its load drops"):
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

  test("many flares at once never oversubscribe the slots, and all run"):
    val world = World(settings = Samples.settings.copy(queueLimit = 1000, namespaceQueueLimit = 1000))
    val a = world.invoker("a", 8)
    val ends = (1 to 40).map(i => world.await(world.submit(Samples.request(i % 8 + 1, s"n${i % 3}")).id))
    var done = 0
    var open = Vector.empty[Prepared]
    while done < 40 do
      open :+= a.prepared()
      // a flare that holds the slots the next one needs must end first
      while open.nonEmpty && (open.map(_.assignment.size).sum + 8 > 8 || done + open.length == 40) do
        a.succeed(open.head)
        assert(open.map(_.assignment.size).sum <= 8)
        open = open.tail
        done += 1
    ends.foreach(end => assertEquals(world.ended(end).state, FlareState.Succeeded))
    world.eventuallyFree("a" -> 8)

  test("a namespace with a long queue does not delay another"):
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

  test("no invokers, an oversized flare, a bad granularity, a limit and a full queue refuse immediately"):
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
    assertEquals(world.store.writes.count(_.startsWith("insert")), 3, "refused flares change nothing")

  test("a namespace's running flares stay within its slots"):
    val world = World()
    val a = world.invoker("a", 8)
    world.submitted(Samples.request(3), slotLimit = 4)
    world.submitted(Samples.request(3), slotLimit = 4)
    val first = a.prepared()
    a.hearsNothing()
    a.succeed(first)
    a.prepared()

  test("large inputs are read from the store, and those of a second flare wait for memory"):
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

  test("a heartbeat introduces an unknown invoker to the scheduler, and reports its size"):
    val world = World()
    val a = world.invoker("a", 2)
    val b = ScriptedInvoker("b", kit.createTestProbe())
    world.scheduler ! GangScheduler.InvokerReported(b.status(3), b.ref)
    world.scheduler ! GangScheduler.InvokerReported(a.status(5), a.ref)
    world.eventuallyFree("a" -> 5, "b" -> 3)
    world.submit(Samples.request(3))
    b.prepared()

  test("stopping the scheduler ends the packs"):
    val world = World()
    val a = world.invoker("a", 2)
    world.submit(Samples.request(2))
    a.prepared()
    world.ask(GangScheduler.Stop(_)).receiveMessage()
    assertEquals(a.aborted().failure.kind, FailureKind.ControllerRestarted)
