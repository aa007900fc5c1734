package burst.controller.scheduler

import burst.controller.flare.{Flare, FlareState}
import burst.protocol.*
import scala.concurrent.duration.DurationInt

/** Groups that another scheduler opened continue, with the flares that run on them or wait for them. */
class AdoptedGroupsSuite extends AdoptionFixture:
  /** A group with one pack of two workers on each of these machines. */
  private def group(state: FlareState, invokers: String*): Flare =
    val flare = placed(state, invokers*)
    flare.copy(request = flare.request.copy(group = Some(GroupRole.Holder(1.minute))))

  private def member(group: Flare, state: FlareState, created: Timestamp): Flare =
    val flare = state match
      case FlareState.Queued => AdmissionControl.accept(Samples.request(group.request.size), created)
      case _ => placed(state, group.packs.map(_.invoker.value)*)
    flare.copy(request = flare.request.copy(group = Some(GroupRole.Member(group.id))), created = created)

  private def held(flare: Flare, pack: Int = 0) = PackKey(flare.id, flare.attempt, PackId(pack))

  private def told(invoker: ScriptedInvoker): Iterator[InvokerCommand] =
    Iterator.continually(invoker.hears()).flatten

  /** The next pack that the invoker is asked to run. */
  private def asked(invoker: ScriptedInvoker): PackAssignment =
    told(invoker).collectFirst { case PreparePack(assignment) => assignment }.get

  /** The adopted packs by flare: the requests arrive in any order. */
  private def adoptAll(invoker: ScriptedInvoker, flares: Flare*): Map[FlareId, KeptPack] =
    flares
      .map: _ =>
        val (adopted, replyTo) = invoker.adopted()
        val flare = flares.find(_.id == adopted.flareId).get
        flare.id -> KeptPack(invoker, flare, adopted.pack, replyTo)
      .toMap

  test("a flare on a group continues, followed by the waiting ones in their order"):
    val open = group(FlareState.Running, "a")
    val running = member(open, FlareState.Running, Timestamp.ofMicros(1))
    val (second, third) = (
      member(open, FlareState.Queued, Timestamp.ofMicros(2)),
      member(open, FlareState.Queued, Timestamp.ofMicros(3))
    )
    val world = successor(third, running, second, open)
    val ends = Vector(running, second, third).map(flare => world.await(flare.id))
    val a = world.invoker("a", 4)
    world.eventuallyFree("a" -> 2)
    holds(world, a, unbroken = true, held(open), held(running))
    val packs = adoptAll(a, open, running)
    packs(running.id).tell(PackEvent.Ready(None, Timestamp.ofMicros(1)))
    packs(running.id).succeed(0, 1)
    packs(running.id).end()
    assertEquals(world.ended(ends(0)).state, FlareState.Succeeded)
    // The group itself reports only later that it is ready.
    assertEquals(asked(a).flareId, second.id)
    packs(open.id).tell(PackEvent.Ready(None, Timestamp.ofMicros(1)))
    assertEquals(world.cancel(second.id), CancelOutcome.Accepted)
    assert(told(a).collectFirst { case abort: AbortPack => abort.flareId }.contains(second.id))
    world.eventuallyFree("a" -> 2)
    assertEquals(world.cancel(open.id), CancelOutcome.Accepted)

  test("an idle group is open again once its packs have reported, and runs new flares"):
    val open = group(FlareState.Running, "a")
    val waiting = member(open, FlareState.Queued, Timestamp.ofMicros(2))
    val world = successor(waiting, open)
    val end = world.await(waiting.id)
    val a = world.invoker("a", 2)
    holds(world, a, unbroken = true, held(open))
    val pack = adopt(a, open)
    pack.tell(PackEvent.Ready(None, Timestamp.ofMicros(1)))
    val first = a.prepared()
    assertEquals(first.assignment.flareId, waiting.id)
    assertEquals(first.assignment.group, Some(GroupRole.Member(open.id)))
    a.succeed(first)
    assertEquals(world.ended(end).state, FlareState.Succeeded)
    val next = world.submit(member(open, FlareState.Queued, Timestamp.ofMicros(3)).request)
    assertEquals(asked(a).flareId, next.id)

  test("a group that waits for its slots continues to wait, and so do the flares that wait for it"):
    val queued = Samples.request(2).copy(group = Some(GroupRole.Holder(1.minute)))
    val group = AdmissionControl.accept(queued, Timestamp.ofMicros(1))
    val waiting = member(group, FlareState.Queued, Timestamp.ofMicros(2))
    val world = successor(waiting, group)
    val end = world.await(waiting.id)
    val a = world.invoker("a", 2)
    val pack = a.prepared()
    assertEquals(pack.assignment.flareId, group.id)
    a.ready(pack)
    a.succeed(a.prepared())
    assertEquals(world.ended(end).state, FlareState.Succeeded)

  test("a group whose machine does not return is lost, with its running and waiting flares"):
    val open = group(FlareState.Running, "a", "b")
    val running = member(open, FlareState.Running, Timestamp.ofMicros(1))
    val waiting = member(open, FlareState.Queued, Timestamp.ofMicros(2))
    val world = successor(waiting, running, open)
    val ends = Vector(open, running, waiting).map(flare => world.await(flare.id))
    val a = world.invoker("a", 2)
    holds(world, a, unbroken = true, held(open), held(running))
    val packs = adoptAll(a, open, running)
    world.pass(Bound)
    val aborted = told(a).collect { case abort: AbortPack => abort.flareId }.take(2).toSet
    assertEquals(aborted, Set(open.id, running.id))
    packs(open.id).end()
    val lost = world.ended(ends(0))
    packs(running.id).end()
    val errors = (lost +: ends.tail.map(world.ended)).map(_.error.get)
    assertEquals(errors.map(_.kind).take(2), Vector.fill(2)(FailureKind.InvokerLost))
    assertEquals(errors.flatMap(_.invoker).toSet, Set(InvokerId("b")))
    assert(errors(2).message.contains("the group ended before the flare began"), errors(2))
    world.eventuallyFree("a" -> 2)

  test("a flare whose packs were not all requested is run by its group after all"):
    val open = group(FlareState.Running, "a")
    val begun = member(open, FlareState.Starting, Timestamp.ofMicros(1))
    val world = successor(begun, open)
    val end = world.await(begun.id)
    val a = world.invoker("a", 2)
    holds(world, a, unbroken = true, held(open))
    val (adopted, stored) = a.adoptedAndStored()
    assert(stored.over)
    kept(a, open, adopted).tell(PackEvent.Ready(None, Timestamp.ofMicros(1)))
    val again = a.prepared()
    assertEquals((again.assignment.flareId, again.assignment.attempt), (begun.id, 2))
    a.succeed(again)
    assertEquals(world.ended(end).state, FlareState.Succeeded)

  test("flares of a group that has ended are not adopted"):
    val gone = group(FlareState.Running, "a")
    val (running, waiting) = (
      member(gone, FlareState.Running, Timestamp.ofMicros(1)),
      member(gone, FlareState.Queued, Timestamp.ofMicros(2))
    )
    val world = successor(running, waiting)
    val a = world.invoker("a", 2)
    for flare <- Vector(running, waiting) do
      assertEquals(world.await(flare.id).receiveMessage(), GangScheduler.Awaited.NotActive)
      val found = world.store.find(flare.id).get
      assertEquals(found.error.map(_.kind), Some(FailureKind.ControllerRestarted))
    assertEquals(a.aborted().flareId, running.id)
