package burst.controller.scheduler

import burst.controller.flare.{FlareState, WorkerState}
import burst.protocol.{FailureKind, FlareCleaned, FlareId, PackEvent, Timestamp}
import scala.concurrent.duration.DurationInt

/** How flares end: successfully, too late, cancelled, or by a failure of their own or of a machine; and
  * retries.
  */
class FlareEndSuite extends SchedulerFixture:
  test("a flare is cancelled in the queue, while starting, and while running"):
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

  test("a time-out stops every pack; one that never reports keeps its slots until its invoker is lost"):
    val world = World()
    val (a, b) = (world.invoker("a", 2), world.invoker("b", 2))
    val flare = world.submit(Samples.request(4, timeout = 20.seconds))
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
    world.scheduler ! GangScheduler.InvokerLost(b.id, InvokerLoss.ProcessEnded)
    world.scheduler ! GangScheduler.InvokerUp(b.status(2), b.ref)
    assertEquals(b.aborted().flareId, flare.id, "the pack may still run, so it ends first")
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

  test("a failure reaches all packs, and existing outputs are kept"):
    val world = World()
    val (a, b) = (world.invoker("a", 2), world.invoker("b", 2))
    val flare = world.submit(Samples.request(4))
    val end = world.await(flare.id)
    val (first, second) = (a.prepared(), b.prepared())
    a.report(first, PackEvent.Ready(None, Timestamp.Epoch))
    b.report(
      second,
      PackEvent.Ready(None, Timestamp.Epoch),
      PackEvent.WorkerSucceeded(2, "2", Timestamp.ofMicros(1))
    )
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

  test("when an invoker is lost, its packs are lost, the others are aborted and their slots are freed"):
    val world = World()
    val (a, b) = (world.invoker("a", 2), world.invoker("b", 2))
    val flare = world.submit(Samples.request(4))
    val end = world.await(flare.id)
    val (first, second) = (a.prepared(), b.prepared())
    a.ready(first)
    b.ready(second)
    a.started()
    world.scheduler ! GangScheduler.InvokerLost(b.id, InvokerLoss.ProcessEnded)
    assertEquals(a.aborted().failure.kind, FailureKind.InvokerLost)
    a.end(first)
    val error = world.ended(end).error.get
    assertEquals((error.kind, error.invoker), (FailureKind.InvokerLost, Some(b.id)))
    world.eventuallyFree("a" -> 2, "b" -> 0)

  test("a retry runs the whole flare again, and late reports of the first attempt change nothing"):
    val world = World()
    val a = world.invoker("a", 2)
    val flare = world.submit(Samples.request(2, retries = 1))
    val end = world.await(flare.id)
    val first = a.prepared()
    a.report(
      first,
      PackEvent.Ready(None, Timestamp.Epoch),
      PackEvent.WorkerSucceeded(0, "\"old\"", Timestamp.ofMicros(1))
    )
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

  test("a backend that stores data is cleaned before the end is announced"):
    val world = World()
    val a = world.invoker("a", 2)
    val end = world.await(world.submit(Samples.request(2, backend = "redis")).id)
    a.succeed(a.prepared())
    val (clean, replyTo) = a.cleaned()
    end.expectNoMessage(50.millis)
    replyTo ! FlareCleaned(clean.flareId, None)
    assertEquals(world.ended(end).state, FlareState.Succeeded)
    val late = world.await(world.submit(Samples.request(2, backend = "redis")).id)
    a.succeed(a.prepared())
    a.cleaned()
    world.pass(2.seconds)
    assertEquals(world.ended(late).state, FlareState.Succeeded)
