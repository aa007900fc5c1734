package burst.controller.scheduler

import burst.controller.flare.{Flare, FlareRequest, FlareState}
import burst.protocol.*
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future}

/** Groups as seen by the scheduler and by scripted invokers. */
class GroupSchedulingSuite extends SchedulerFixture:
  import GangScheduler.Submitted

  private def holder(size: Int, idle: FiniteDuration = 1.minute) =
    Samples.request(size).copy(group = Some(GroupRole.Holder(idle)))
  private def accepted(submitted: Submitted) = submitted match
    case Submitted.Accepted(flare, _) => flare
    case other => fail(s"not accepted: $other")
  private def member(of: Flare) = of.request.copy(group = Some(GroupRole.Member(of.id)))

  /** A group of one pack, with that pack. */
  private final class Open(val world: World, idle: FiniteDuration = 1.minute):
    val a: ScriptedInvoker = world.invoker("a", 4)
    val group: Flare = world.submit(holder(3, idle))
    val end = world.await(group.id)
    val pack: Prepared = a.prepared()
    a.ready(pack)
    def flare(): Flare = world.submit(member(group))
    def loses(kind: FailureKind): Unit =
      a.report(
        pack,
        PackEvent.PackEnded(
          reusable = false,
          Some(Failure(kind, "it is gone", pack = Some(PackId(0)))),
          Timestamp.ofMicros(4)
        )
      )

  test("flares run one after another on the group's pack and slots"):
    val open = Open(World())
    import open.*
    assertEquals(pack.assignment.group, Some(GroupRole.Holder(1.minute)))
    val one = flare()
    val two = flare()
    val ends = Vector(one, two).map(flare => world.await(flare.id))
    val first = a.prepared()
    assertEquals(first.assignment.flareId, one.id)
    assertEquals(first.assignment.group, Some(GroupRole.Member(group.id)))
    a.hearsNothing()
    a.succeed(first)
    assertEquals(world.ended(ends(0)).state, FlareState.Succeeded)
    val second = a.prepared()
    assertEquals(second.assignment.flareId, two.id)
    assertEquals(world.free(), Map("a" -> 1))
    a.succeed(second)
    assertEquals(world.ended(ends(1)).state, FlareState.Succeeded)
    assertEquals(world.free(), Map("a" -> 1))
    assertEquals(world.cancel(group.id), CancelOutcome.Accepted)
    assertEquals(a.aborted().flareId, group.id)
    loses(FailureKind.Cancelled)
    assertEquals(world.ended(end).state, FlareState.Cancelled)
    world.eventuallyFree("a" -> 4)
    assertEquals(world.store.results(group.id, 0, Int.MaxValue), Vector.empty)

  test("flares that arrive before the group is open wait for it"):
    val world = World()
    val a = world.invoker("a", 4)
    val flare = world.submit(Samples.request(4))
    val before = a.prepared()
    val group = world.submit(holder(2))
    val one = world.submit(member(group))
    val estimate = world.ask[GangScheduler.Located](GangScheduler.Locate(one.id, _)).receiveMessage().standing
    assertEquals(estimate, Some(QueueEstimate(1, Left(WaitsFor.Turn))))
    val end = world.await(one.id)
    a.succeed(before)
    val pack = a.prepared()
    assertEquals(pack.assignment.flareId, group.id)
    a.hearsNothing()
    a.ready(pack)
    a.succeed(a.prepared())
    assertEquals(world.ended(end).state, FlareState.Succeeded)
    assert(flare.id != one.id)

  test("a failed flare ends its pack, and with it the group and the waiting flares"):
    val open = Open(World())
    import open.*
    val (one, two) = (flare(), flare())
    val ends = Vector(one, two).map(flare => world.await(flare.id))
    val running = a.prepared()
    a.report(running, PackEvent.Ready(None, Timestamp.Epoch))
    a.fail(running, 1, FailureKind.Panic)
    assertEquals(a.aborted().flareId, one.id)
    a.end(running)
    loses(FailureKind.Panic)
    assertEquals(world.ended(ends(0)).state, FlareState.Failed)
    val ended = world.ended(end)
    assertEquals((ended.state, ended.error.map(_.kind)), (FlareState.Failed, Some(FailureKind.Panic)))
    // the second flare may just have had its turn: then the invoker reports that the pack is gone
    val waited = ends(1)
    world.eventuallyFree("a" -> 4)
    Future(a.prepared())(using ExecutionContext.global).foreach(a.end)(using ExecutionContext.global)
    assertEquals(world.ended(waited).state, FlareState.Failed)

  test("a group that is idle for too long after its last flare times out"):
    val open = Open(World(), idle = 5.seconds)
    import open.*
    val one = flare()
    val oneEnd = world.await(one.id)
    a.succeed(a.prepared())
    world.ended(oneEnd)
    val aborted = kit.createTestProbe[Any]().awaitAssert {
      world.pass(5.seconds)
      a.hears().getOrElse(fail("not yet"))
    }
    aborted match
      case AbortPack(id, pack, failure) =>
        assertEquals((id, pack, failure.kind), (group.id, PackId(0), FailureKind.Timeout))
      case other => fail(s"not aborted: $other")
    loses(FailureKind.Timeout)
    assertEquals(world.ended(end).state, FlareState.TimedOut)
    world.eventuallyFree("a" -> 4)

  test("closing a group while a flare runs cancels first the flare, then the group"):
    val open = Open(World())
    import open.*
    val one = flare()
    val oneEnd = world.await(one.id)
    val running = a.prepared()
    assertEquals(world.cancel(group.id), CancelOutcome.Accepted)
    assertEquals(world.submitted(member(group)), Submitted.Refused(Refusal.GroupEnded(group.id)))
    assertEquals(Set(a.aborted().flareId, a.aborted().flareId), Set(one.id, group.id))
    kit.createTestProbe[Any]().awaitAssert:
      val known = world.store.find(group.id).map(kept => (kept.state, kept.error.map(_.kind)))
      assertEquals(known, Some((FlareState.Running, Some(FailureKind.Cancelled))))
    a.end(running)
    loses(FailureKind.Cancelled)
    assertEquals(world.ended(oneEnd).state, FlareState.Cancelled)
    assertEquals(world.ended(end).state, FlareState.Cancelled)
    world.eventuallyFree("a" -> 4)

  test("an open group's slots count against its namespace's limit; those of its flares do not count again"):
    val world = World()
    val a = world.invoker("a", 8)
    def ask(request: FlareRequest) = world.submitted(request, slotLimit = 4)
    assertEquals(ask(holder(5)), Submitted.Refused(Refusal.OverLimit("concurrent slots", 5, 4)))
    val group = accepted(ask(holder(3)))
    val pack = a.prepared()
    a.ready(pack)
    accepted(ask(Samples.request(2)))
    accepted(ask(holder(2)))
    a.hearsNothing()
    val others = accepted(world.submitted(Samples.request(2, "other")))
    assertEquals(a.prepared().assignment.flareId, others.id)
    val one = accepted(ask(member(group)))
    val first = a.prepared()
    assertEquals(first.assignment.flareId, one.id)
    a.succeed(first)
    a.hearsNothing()
    assertEquals(world.cancel(group.id), CancelOutcome.Accepted)
    a.aborted()
    a.report(pack, PackEvent.PackEnded(reusable = false, None, Timestamp.ofMicros(4)))
    assertEquals(Set(a.prepared().assignment.size, a.prepared().assignment.size), Set(2))

  test("losing an invoker ends the group and the flare that runs on it"):
    val open = Open(World())
    import open.*
    val one = flare()
    val oneEnd = world.await(one.id)
    a.prepared()
    world.scheduler ! GangScheduler.InvokerLost(a.id, InvokerLoss.ProcessEnded)
    assertEquals(world.ended(oneEnd).error.map(_.kind), Some(FailureKind.InvokerLost))
    assertEquals(world.ended(end).error.map(_.kind), Some(FailureKind.InvokerLost))
    kit.createTestProbe[Any]().awaitAssert {
      assertEquals(world.submitted(member(group)), Submitted.Refused(Refusal.GroupEnded(group.id)))
    }

  test("a restart closes groups and ends flares that waited for them, with the reason"):
    val store = MemoryFlareStore()
    val open = Open(World(store))
    val (one, two) = (open.flare(), open.flare())
    World(store)
    val probe = kit.createTestProbe[Any]()
    probe.awaitAssert {
      Vector(open.group, one, two).foreach { flare =>
        val error = store.find(flare.id).flatMap(_.error).map(_.kind)
        assertEquals(error, Some(FailureKind.ControllerRestarted))
      }
    }
