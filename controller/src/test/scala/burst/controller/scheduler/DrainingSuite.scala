package burst.controller.scheduler

import burst.controller.flare.FlareState
import burst.controller.store.MemoryDrainedInvokers
import burst.protocol.{InvokerId, NothingMore}

/** Machines that get no more flares. */
class DrainingSuite extends SchedulerFixture:
  import GangScheduler.Submitted

  private val (a, b) = (InvokerId("a"), InvokerId("b"))

  private def drain(world: World, id: InvokerId, on: Boolean = true): Option[InvokerView] =
    world.ask[GangScheduler.Drained](GangScheduler.Drain(id, on, _)).receiveMessage().invoker

  test("running flares continue, new ones go elsewhere, and what fits nowhere else is refused"):
    val world = World()
    val (first, second) = (world.invoker("a", 4), world.invoker("b", 2))
    val running = world.submit(Samples.request(4))
    val end = world.await(running.id)
    val pack = first.prepared()
    assertEquals(drain(world, a).map(v => (v.drained, v.usedSlots, v.freeSlots)), Some((true, 4, 0)))
    val _ = world.submit(Samples.request(2))
    val elsewhere = second.prepared()
    world.submitted(Samples.request(3)) match
      case Submitted.Refused(Refusal.TooLarge(3, 2)) => ()
      case other => fail(s"the scheduler counts on a drained machine: $other")
    first.succeed(pack)
    assertEquals(world.ended(end).state, FlareState.Succeeded)
    second.succeed(elsewhere)
    world.eventuallyFree("a" -> 0, "b" -> 2)
    first.hearsNothing()

  test("a waiting flare starts as soon as a machine is resumed"):
    val world = World()
    val first = world.invoker("a", 4)
    val second = world.invoker("b", 4)
    val _ = world.submit(Samples.request(4))
    val _ = drain(world, b)
    val waiting = world.submit(Samples.request(2))
    assertEquals(waiting.state, FlareState.Queued)
    second.hearsNothing()
    assertEquals(drain(world, b, on = false).map(_.drained), Some(false))
    val prepared = Vector(first.prepared(), second.prepared())
    assert(prepared.exists(_.assignment.flareId == waiting.id))

  test("a machine that reports that it is leaving gets no flares until it is back"):
    val world = World()
    val first = world.invoker("a", 4)
    world.scheduler ! GangScheduler.InvokerReported(first.status(4).copy(leaving = Some(true)), first.ref)
    world.eventuallyFree("a" -> 0)
    // an administrator's resume does not change that
    assertEquals(drain(world, a, on = false).map(_.drained), Some(true))
    world.scheduler ! GangScheduler.InvokerUp(first.status(4), first.ref)
    world.eventuallyFree("a" -> 4)

  test("a leaving invoker is notified that nothing more comes once no flare has slots there"):
    val world = World()
    val first = world.invoker("a", 4)
    def leaving() =
      world.scheduler ! GangScheduler.InvokerReported(first.status(4).copy(leaving = Some(true)), first.ref)
    val _ = world.submit(Samples.request(2))
    val pack = first.prepared()
    leaving()
    world.eventuallyFree("a" -> 0)
    first.hearsNothing()
    first.succeed(pack)
    kit.createTestProbe[Any]().awaitAssert:
      leaving()
      assert(first.hears().contains(NothingMore))

  test("a drained machine stays drained when it comes back, and under the next scheduler"):
    val drained = MemoryDrainedInvokers()
    drained.add(a)
    val world = World(drained = drained)
    val _ = world.invoker("a", 4)
    val _ = world.invoker("b", 1)
    world.eventuallyFree("a" -> 0, "b" -> 1)
    world.scheduler ! GangScheduler.InvokerLost(a, InvokerLoss.Restarted)
    val _ = world.invoker("a", 4)
    world.eventuallyFree("a" -> 0, "b" -> 1)
    assertEquals(drain(world, InvokerId("nobody")), None)
    assertEquals(drain(world, a, on = false).map(_.freeSlots), Some(4))
