package burst.controller.scheduler

import burst.controller.flare.{Flare, FlareState}
import burst.protocol.Operation
import scala.concurrent.duration.DurationInt

/** How the scheduler treats machines on which starts fail. */
class QuarantineSchedulingSuite extends SchedulerFixture:
  private def views(world: World) =
    world.ask[GangScheduler.InvokerList](GangScheduler.ListInvokers(_)).receiveMessage().invokers

  private def avoided(world: World): Vector[(String, Option[String])] =
    views(world).filter(_.quarantine.isDefined).map(v => (v.status.id.value, v.quarantine.map(_.reason)))

  /** Runs a flare that fails to start on this invoker. */
  private def failedOn(world: World, invoker: ScriptedInvoker, size: Int = 2): Flare =
    val flare = world.submit(Samples.request(size))
    val end = world.await(flare.id)
    invoker.notUp(invoker.prepared())
    world.ended(end)

  private def runsOn(world: World, invoker: ScriptedInvoker): Unit =
    val end = world.await(world.submit(Samples.request(2)).id)
    val pack = invoker.prepared()
    invoker.comesUp(pack)
    invoker.succeed(pack)
    assertEquals(world.ended(end).state, FlareState.Succeeded)

  test("an invoker on which every start fails does not attract all the flares"):
    val world = World()
    val (bad, good) = (world.invoker("a", 6), world.invoker("b", 8))
    assertEquals(failedOn(world, bad).state, FlareState.Failed)
    assertEquals(avoided(world), Vector("a" -> Some("no room on the disk")))
    for _ <- 1 to 11 do runsOn(world, good)
    bad.hearsNothing()

  test("after a while one flare is its trial; it is then avoided twice as long, or trusted again"):
    val world = World()
    val (bad, good) = (world.invoker("a", 6), world.invoker("b", 8))
    failedOn(world, bad)
    world.pass(1.second)
    world.free()
    val tried = world.await(world.submit(Samples.request(2)).id)
    val trial = bad.prepared()
    runsOn(world, good)
    bad.hearsNothing()
    bad.notUp(trial)
    assertEquals(world.ended(tried).state, FlareState.Failed)
    world.pass(1.second)
    runsOn(world, good)
    world.pass(1.second)
    world.free()
    runsOn(world, bad)
    assertEquals(avoided(world), Vector.empty)
    runsOn(world, bad)

  test("a trial that shows nothing is over with its flare"):
    val world = World()
    val (bad, good) = (world.invoker("a", 6), world.invoker("b", 8))
    failedOn(world, bad)
    world.pass(1.second)
    world.free()
    val flare = world.submit(Samples.request(2))
    val trial = bad.prepared()
    world.cancel(flare.id)
    bad.aborted()
    runsOn(world, good)
    bad.end(trial)
    world.eventuallyFree("a" -> 6, "b" -> 8)
    runsOn(world, bad)

  test("what fits nowhere else is placed on an avoided invoker, and what can wait elsewhere waits"):
    val world = World()
    val (bad, good) = (world.invoker("a", 8), world.invoker("b", 4))
    failedOn(world, bad, size = 8)
    val holding = world.submit(Samples.request(3))
    val held = good.prepared()
    val waits = world.submit(Samples.request(2))
    assertEquals(waits.state, FlareState.Queued)
    val large = world.submit(Samples.request(8))
    assertEquals(large.state, FlareState.Starting)
    bad.prepared()
    good.succeed(held)
    assertEquals(good.prepared().assignment.flareId, waits.id)
    assertEquals(holding.state, FlareState.Starting)

  test("the only invoker is tried again and again"):
    val world = World()
    val only = world.invoker("a", 4)
    for _ <- 1 to 3 do failedOn(world, only)
    runsOn(world, only)
    assertEquals(avoided(world), Vector.empty)

  test("a bad package fails on any invoker, and none is avoided for it"):
    val world = World()
    val (a, b) = (world.invoker("a", 8), world.invoker("b", 8))
    for _ <- 1 to 3 do
      val end = world.await(world.submit(Samples.request(16)).id)
      a.notUp(a.prepared(), Operation.Init)
      b.end(b.prepared())
      assertEquals(world.ended(end).state, FlareState.Failed)
      a.hears()
      b.hears()
    assertEquals(avoided(world), Vector.empty)

  test("a retry runs on another invoker, and shows which one was at fault"):
    val world = World()
    val (bad, good) = (world.invoker("a", 6), world.invoker("b", 8))
    val end = world.await(world.submit(Samples.request(2, retries = 1)).id)
    bad.notUp(bad.prepared(), Operation.Init)
    assertEquals(avoided(world), Vector.empty)
    val again = good.prepared()
    good.comesUp(again)
    good.succeed(again)
    assertEquals(world.ended(end).state, FlareState.Succeeded)
    assertEquals(avoided(world).map(_(0)), Vector("a"))

  test("an invoker that was restarted is trusted"):
    val world = World()
    val bad = world.invoker("a", 6)
    world.invoker("b", 8)
    failedOn(world, bad)
    world.scheduler ! GangScheduler.InvokerLost(bad.id, InvokerLoss.Restarted)
    world.scheduler ! GangScheduler.InvokerUp(bad.status(6), bad.ref)
    assertEquals(avoided(world), Vector.empty)
    runsOn(world, bad)
